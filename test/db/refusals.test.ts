import { DrizzleQueryError } from 'drizzle-orm'
import { DatabaseError } from 'pg'
import { expect, test } from 'vitest'
import { adviceOf, faultText, hasState, isOutOfReach, withoutStatement } from '../../src/db/refusals.ts'
import { unavailable } from '../../src/lib/errors.ts'

const answered = (code: string, severity = 'ERROR'): DatabaseError =>
  Object.assign(new DatabaseError('words of the server', 1, 'error'), { code, severity })

const failed = (code: string, message = code): Error => Object.assign(new Error(message), { code })

test.each([
  ...[
    '08006',
    '08P01',
    '25006',
    '25P03',
    '25P04',
    '28000',
    '28P01',
    '3D000',
    '42501',
    '53100',
    '53300',
    '53400',
    '55000',
  ],
  ...['57014', '57P01', '57P02', '57P03', '57P04', '57P05', '58030', 'MV001'],
])('SQLSTATE %s means that the database is out of reach', (code) => {
  expect(isOutOfReach(answered(code))).toBe(true)
  expect(isOutOfReach(new DrizzleQueryError('SELECT', [], answered(code)))).toBe(true)
})

test('an error that ends the session is an outage, whatever its code', () => {
  expect(isOutOfReach(answered('42704', 'FATAL'))).toBe(true)
})

test.each(['22P02', '23505', '25001', '40001', '40P01', '42P01', '42601', '55P03'])(
  'SQLSTATE %s is about one statement',
  (code) => {
    expect(isOutOfReach(answered(code))).toBe(false)
  },
)

test.each([
  failed('ECONNREFUSED'),
  failed('EAI_AGAIN'),
  failed('ERR_TLS_CERT_ALTNAME_INVALID'),
  failed('CERT_HAS_EXPIRED'),
  failed('UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
  new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'),
  new Error('The server does not support SSL connections'),
  new Error('timeout exceeded when trying to connect'),
])('a connection that fails with "%s" means that the database is out of reach', (fault) => {
  expect(isOutOfReach(fault)).toBe(true)
})

test('a programming error is not taken for an outage', () => {
  expect(isOutOfReach(failed('ERR_INVALID_ARG_TYPE'))).toBe(false)
  expect(isOutOfReach(new TypeError('Do not know how to serialize a BigInt'))).toBe(false)
})

test('logs and errors of a rejected statement contain its SQLSTATE, but not the statement or its values', () => {
  const wrapped = new DrizzleQueryError('SELECT $1', ['secret value'], answered('42P01'))
  expect(faultText(wrapped)).toBe('42P01 words of the server')
  const thrown = withoutStatement(wrapped)
  expect(thrown).toMatchObject({ message: '42P01 words of the server' })
  expect(JSON.stringify(thrown, Object.getOwnPropertyNames(thrown))).not.toMatch(/secret value|SELECT/)
})

test('the advice is found in the causes of an error', () => {
  expect(adviceOf(new Error('outer', { cause: answered('28P01') }))).toContain('the password is wrong')
  expect(adviceOf(undefined)).toContain('check that PostgreSQL runs')
})

test.each([
  ['08006', 'check that PostgreSQL runs'],
  ['25006', 'set DATABASE_URL to the primary'],
  ['25P03', 'idle inside a transaction'],
  ['25P04', 'transaction_timeout'],
  ['28P01', 'the password is wrong'],
  ['28000', 'pg_hba.conf'],
  ['3D000', 'check its name'],
  ['42501', 'GRANT'],
  ['53300', 'raise max_connections'],
  ['53100', 'lacks memory or disk'],
  ['55000', 'ALLOW_CONNECTIONS'],
  ['57P04', 'the database was dropped'],
  ['57P01', 'PostgreSQL is stopping'],
  ['58030', 'cannot read or write its files'],
  ['42704', 'check that PostgreSQL runs'],
])('the advice for SQLSTATE %s is "%s"', (code, advice) => {
  expect(adviceOf(answered(code))).toContain(advice)
  expect(adviceOf(new DrizzleQueryError('SELECT', [], answered(code)))).toContain(advice)
})

test.each(['FATAL', 'PANIC'])('severity %s ends a session, and ERROR does not', (severity) => {
  expect([isOutOfReach(answered('XX000', severity)), isOutOfReach(answered('XX000'))]).toEqual([true, false])
})

test.each([
  'Connection terminated unexpectedly',
  'Query read timeout',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
  'There was an error establishing an SSL connection',
])('the driver reports with "%s" that the database is out of reach', (message) => {
  expect(isOutOfReach(new Error(message))).toBe(true)
  expect(isOutOfReach(new Error(`not at the start: ${message}`))).toBe(false)
})

test('an outage is found in the causes of an error, but not behind an error for a client', () => {
  expect(isOutOfReach(new Error('outer', { cause: failed('ECONNRESET') }))).toBe(true)
  expect(isOutOfReach(new Error('outer', { cause: new Error('inner') }))).toBe(false)
  expect(isOutOfReach(unavailable('the database is out of reach', failed('ECONNRESET')))).toBe(false)
  for (const fault of [undefined, null, 'ECONNRESET', { code: 'ECONNRESET' }]) expect(isOutOfReach(fault)).toBe(false)
  expect(isOutOfReach(Object.assign(new Error('no'), { code: 5 }))).toBe(false)
})

test('a state is that of the server, in the error or its causes', () => {
  const state = answered('55P03')
  expect(hasState(state, '55P03')).toBe(true)
  expect(hasState(new DrizzleQueryError('SELECT', [], state), '55P03')).toBe(true)
  expect(hasState(new Error('outer', { cause: new Error('inner', { cause: state }) }), '55P03')).toBe(true)
  expect([hasState(state, '55P04'), hasState(failed('55P03'), '55P03'), hasState(undefined, '55P03')]).toEqual([
    ...[false, false, false],
  ])
})

test('an error without a statement is returned unchanged, and another keeps its cause', () => {
  const fault = new Error('no')
  expect(withoutStatement(fault)).toBe(fault)
  const state = answered('42P01')
  expect(withoutStatement(new DrizzleQueryError('SELECT', [], state))).toMatchObject({
    name: 'QueryError',
    cause: state,
  })
  expect(faultText(fault)).toContain('no')
})
