import { DrizzleQueryError } from 'drizzle-orm'
import { DatabaseError } from 'pg'
import { errorText, ServiceError } from '../lib/errors.ts'

/**
 * What PostgreSQL answers when a session cannot be opened or used whatever is asked of it, by the beginning of its SQLSTATE, and what the
 * operator should do. The first row that fits counts. Codes of other classes are about one statement.
 */
const refusals: readonly (readonly [prefix: string, advice: string])[] = [
  ['08', 'see that PostgreSQL runs and that DATABASE_URL leads to it'],
  ['25006', 'this server takes no writes: set DATABASE_URL to the primary'],
  ['25P03', 'see what keeps this process from going on with its transaction'],
  ['25P04', "the transaction took too long: see PostgreSQL's transaction_timeout"],
  ['28P01', 'the password is wrong or was changed: put the new one into DATABASE_URL and restart this process'],
  ['28', 'the role may not log in: see ALTER ROLE … LOGIN, pg_hba.conf and the role in DATABASE_URL'],
  ['3D000', 'the database does not exist: see its name in DATABASE_URL'],
  ['42501', 'the role lacks a privilege: GRANT it, or set DATABASE_URL to the role that owns the tables'],
  ['53300', 'PostgreSQL has no connection left: raise max_connections, or lower API_POOL_SIZE and WORKER_POOL_SIZE'],
  ['53', "PostgreSQL lacks memory or disk: see the server's log"],
  ['55000', 'the database takes no connections: ALTER DATABASE … ALLOW_CONNECTIONS true'],
  ['57P04', 'the database was dropped: restore it, or run migrate on a new one'],
  ['57', 'PostgreSQL is stopping, starting, or ended the statement: see its log'],
  ['58', "PostgreSQL cannot read or write its files: see the server's log"],
]

/** Any other way in which the database is out of reach. */
const UNREACHED = 'see that PostgreSQL runs and that DATABASE_URL leads to it'

/** PostgreSQL ends the session with such an error, whatever its code. The words are English unless `lc_messages` says otherwise. */
const ENDS_SESSION = ['FATAL', 'PANIC']

/** Codes with which Node names faults of sockets, of DNS and of TLS. `ERR_…` names mistakes of a program, except those of TLS. */
const WAY_THERE = /^E(?!RR_)[A-Z_]+$|^ERR_(TLS|SSL)_|CERT|^UNABLE_TO_/

/** How the driver words such faults where it gives no code. */
const NO_SESSION =
  /^(Connection terminated|timeout exceeded|Query read timeout|Client (has encountered|was closed)|SASL|The server does not support SSL|There was an error establishing an SSL)/

const rowOf = ({ code = '' }: DatabaseError) => refusals.find(([prefix]) => code.startsWith(prefix))

/** What a query builder wrapped, whose message holds the statement and its values. */
const causeOf = (error: unknown): unknown => (error instanceof DrizzleQueryError ? error.cause : error)

/** Whether the database could not be asked at all, rather than refuse one statement. */
export const isOutOfReach = (error: unknown): boolean => {
  const fault = causeOf(error)
  if (fault instanceof ServiceError || !(fault instanceof Error)) return false
  if (fault instanceof DatabaseError) return ENDS_SESSION.includes(fault.severity ?? '') || rowOf(fault) !== undefined
  if ('code' in fault && typeof fault.code === 'string' && WAY_THERE.test(fault.code)) return true
  return NO_SESSION.test(fault.message) || isOutOfReach(fault.cause)
}

/** A fault's SQLSTATE and message, for logs: never the statement or its values. */
export const faultText = (error: unknown): string => {
  const fault = causeOf(error)
  return fault instanceof DatabaseError ? `${fault.code} ${fault.message}` : errorText(fault)
}

/** What the operator should do about a database that is out of reach. Takes the fault, or an error that has it as its cause. */
export const adviceOf = (error: unknown): string => {
  const fault = causeOf(error)
  if (fault instanceof DatabaseError) return rowOf(fault)?.[1] ?? UNREACHED
  return fault instanceof Error && fault.cause !== undefined ? adviceOf(fault.cause) : UNREACHED
}

/** A statement that the database refused. The message holds its SQLSTATE and words, and not the statement or its values. */
class QueryError extends Error {
  override readonly name = 'QueryError'
}

/** The error to throw for what a query threw: without the statement and its values, and the same one where they are not in it. */
export const withoutStatement = (error: unknown): unknown =>
  error instanceof DrizzleQueryError ? new QueryError(faultText(error), { cause: error.cause }) : error
