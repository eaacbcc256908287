import { DrizzleQueryError } from 'drizzle-orm'
import { DatabaseError } from 'pg'
import { errorText, ServiceError } from '../lib/errors.ts'

/** Advice for a fault of the connection. */
const UNREACHED = 'check that PostgreSQL runs and that DATABASE_URL points to it'

/** The SQLSTATE of a change of what `carry` has copied to another database. */
export const CARRIED = 'MV001'

/**
 * SQLSTATE prefixes with which PostgreSQL rejects a session, not one statement, and advice for the operator. The first
 * matching row applies. Codes of other classes concern one statement.
 */
const refusals: readonly (readonly [prefix: string, advice: string])[] = [
  ['08', UNREACHED],
  ['25006', 'this server accepts no writes: set DATABASE_URL to the primary'],
  ['25P03', 'find out why this process was idle inside a transaction'],
  ['25P04', "the transaction took too long: check PostgreSQL's transaction_timeout"],
  ['28P01', 'the password is wrong or was changed: put the new one into DATABASE_URL and restart this process'],
  ['28', 'the role may not log in: check ALTER ROLE … LOGIN, pg_hba.conf and the role in DATABASE_URL'],
  ['3D000', 'the database does not exist: check its name in DATABASE_URL'],
  ['42501', 'the role lacks a privilege: GRANT it, or set DATABASE_URL to the role that owns the tables'],
  ['53300', 'PostgreSQL has no connection left: raise max_connections, or lower API_POOL_SIZE and WORKER_POOL_SIZE'],
  ['53', "PostgreSQL lacks memory or disk: check the server's log"],
  ['55000', 'the database accepts no connections: ALTER DATABASE … ALLOW_CONNECTIONS true'],
  ['57P04', 'the database was dropped: restore it, or run migrate on a new one'],
  ['57014', 'PostgreSQL ended the statement: it took longer than statement_timeout, or an operator cancelled it'],
  ['57', 'PostgreSQL is stopping, starting, or ended the statement: check its log'],
  [CARRIED, 'webhooks and keys are in the database that `carry` copied them to: set DATABASE_URL to that one'],
  ['58', "PostgreSQL cannot read or write its files: check the server's log"],
]

/** Severities that end the session, whatever the code; English unless `lc_messages` names another language. */
const ENDS_SESSION = ['FATAL', 'PANIC']

/** Node's codes for faults of sockets, DNS and TLS. Other `ERR_…` codes are programming errors. */
const NETWORK_CODE = /^E(?!RR_)[A-Z_]+$|^ERR_(TLS|SSL)_|CERT|^UNABLE_TO_/

/** Messages of the driver for connection faults without a code. */
const NO_SESSION =
  /^(Connection terminated|timeout exceeded|Query read timeout|Client (has encountered|was closed)|SASL|The server does not support SSL|There was an error establishing an SSL)/

const rowOf = ({ code = '' }: DatabaseError) => refusals.find(([prefix]) => code.startsWith(prefix))

/** The cause of a query builder's error, whose own message contains the statement and its values. */
const causeOf = (error: unknown): unknown => (error instanceof DrizzleQueryError ? error.cause : error)

/** Whether a fault, or its cause, is a server error with this SQLSTATE. */
export const hasState = (fault: unknown, state: string): boolean =>
  fault instanceof DatabaseError ? fault.code === state : fault instanceof Error && hasState(fault.cause, state)

/** Whether the database is out of reach, as opposed to a rejected statement. */
export const isOutOfReach = (error: unknown): boolean => {
  const fault = causeOf(error)
  if (fault instanceof ServiceError || !(fault instanceof Error)) return false
  if (fault instanceof DatabaseError) return ENDS_SESSION.includes(fault.severity ?? '') || rowOf(fault) !== undefined
  if ('code' in fault && typeof fault.code === 'string' && NETWORK_CODE.test(fault.code)) return true
  return NO_SESSION.test(fault.message) || isOutOfReach(fault.cause)
}

/** A fault's SQLSTATE and message for logs, without the statement and its values. */
export const faultText = (error: unknown): string => {
  const fault = causeOf(error)
  return fault instanceof DatabaseError ? `${fault.code} ${fault.message}` : errorText(fault)
}

/** Advice for the operator about a database that is out of reach, from the fault or an error with it as its cause. */
export const adviceOf = (error: unknown): string => {
  const fault = causeOf(error)
  if (fault instanceof DatabaseError) return rowOf(fault)?.[1] ?? UNREACHED
  return fault instanceof Error && fault.cause !== undefined ? adviceOf(fault.cause) : UNREACHED
}

/** A rejected statement. Its message has the SQLSTATE and the server's message, not the statement or its values. */
class QueryError extends Error {
  override readonly name = 'QueryError'
}

/** Replaces an error that contains the statement and its values by one without them. Returns other errors unchanged. */
export const withoutStatement = (error: unknown): unknown =>
  error instanceof DrizzleQueryError ? new QueryError(faultText(error), { cause: error.cause }) : error
