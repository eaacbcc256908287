import { DrizzleQueryError } from 'drizzle-orm'
import { DatabaseError } from 'pg'
import { expect, test } from 'vitest'
import { adviceOf, faultText, isOutOfReach, withoutStatement } from '../../src/db/refusals.ts'

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
  ...['57014', '57P01', '57P02', '57P03', '57P04', '57P05', '58030'],
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
