import { pipeline } from 'node:stream/promises'
import { DrizzleQueryError } from 'drizzle-orm'
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { PgTransactionConfig } from 'drizzle-orm/pg-core'
import { DatabaseError, Pool, type PoolClient, type QueryArrayConfig } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { errorText, ServiceError, unavailable } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { waited } from '../lib/timing.ts'
import { type Asked, databaseReports } from './reports.ts'

export type DatabaseOptions = {
  readonly url: string
  /** What its figures are told under; `database` unless given. */
  readonly name?: string
  readonly maxConnections: number
  readonly statementTimeoutMs: number
  /** Longest to wait for a connection, a second unless given. */
  readonly connectTimeoutMs?: number
  /** Longest that a transaction may do nothing, two seconds unless given. */
  readonly idleInTransactionMs?: number
  /** When it aborts, the transactions that run are given up and no more begin. */
  readonly signal?: AbortSignal
  readonly log: Logger
}

/** What queries run on: the pool, or one transaction. */
export type Handle = Omit<NodePgDatabase, '$client' | 'transaction'>

/** Runs a `COPY … FROM STDIN` on a transaction's connection with the text given. */
export type Copy = (statement: string, text: string) => Promise<void>

/** A statement with its values. One with a name is prepared once a connection, so names must be few and each stand for one text. */
export type Statement = { readonly name?: string; readonly text: string; readonly values: readonly unknown[] }

/** Connections of a pool: all, those of them that are idle, and how many wait for one. */
export type Connections = { readonly total: number; readonly idle: number; readonly waiting: number }

export type Database = {
  /** The pool, to prepare statements on; they are executed inside `run`. */
  readonly handle: Handle
  /** Runs queries. Throws `service_unavailable` when the database is out of reach. */
  run<T>(query: (handle: Handle) => Promise<T>): Promise<T>
  /** Runs one statement as it is and gives its rows, each an array of its columns as text. Throws as `run` does. */
  rows(statement: Statement): Promise<(string | null)[][]>
  /** Runs queries, and copies rows in, in one transaction; what `work` throws rolls it back. Throws as `run` does. */
  transaction<T>(work: (handle: Handle, copy: Copy) => Promise<T>): Promise<T>
  /** Runs reads that all see the database as it is at the first of them. Throws as `run` does. */
  snapshot<T>(work: (handle: Handle) => Promise<T>): Promise<T>
  connections(): Connections
  close(): Promise<void>
}

/** A database that does not take a connection in this time is out of reach, unless told otherwise. */
const CONNECT_TIMEOUT_MS = 1_000

/**
 * A process that stopped inside a transaction holds its locks, a lease's among them; after this time the server takes them back.
 * Shorter than a lease lives.
 */
const IDLE_IN_TRANSACTION_MS = 2_000

/** A server that works for nobody any more, a process that was killed say, notices within this and rolls back. */
const CHECK_CLIENT_MS = 500

/** How often it is logged what a database is out of reach for, in milliseconds. */
const TELL_EVERY_MS = 10_000

const readOnly = { isolationLevel: 'repeatable read', accessMode: 'read only' } as const

/**
 * Opens a pool; nothing connects until something is asked.
 *
 * @example
 * const database = createDatabase({ url, maxConnections: 10, statementTimeoutMs: 5_000, log })
 * await database.run((handle) => handle.select().from(events))
 */
export const createDatabase = (options: DatabaseOptions): Database => {
  const { name = 'database', connectTimeoutMs = CONNECT_TIMEOUT_MS } = options
  const { idleInTransactionMs = IDLE_IN_TRANSACTION_MS } = options
  const pool = new Pool({
    connectionString: options.url,
    max: options.maxConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: options.statementTimeoutMs,
    // A server that vanished without a word must not hold a query for ever.
    query_timeout: options.statementTimeoutMs + CONNECT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    keepAlive: true,
    options: `-c client_connection_check_interval=${CHECK_CLIENT_MS}`,
    application_name: 'fx-protection',
  })
  // A connection may break while nothing is asked of it, in the pool or between two statements of a transaction. The next query
  // meets the fault or takes another connection; without a listener the process would end.
  const lost = (error: Error): void => options.log.warn({ fault: error.message }, 'database connection lost')
  pool.on('error', lost)
  pool.on('connect', (client) => client.on('error', lost))
  const handle = drizzle(pool)

  let toldAt = Number.NEGATIVE_INFINITY
  const logOutOfReach = (error: unknown): void => {
    // Transactions that are given up end their connections themselves.
    if (options.signal?.aborted || performance.now() - toldAt < TELL_EVERY_MS) return
    toldAt = performance.now()
    const fault = errorText(error instanceof DrizzleQueryError ? error.cause : error)
    options.log.warn({ pool: name, fault }, 'the database is out of reach')
  }

  const guarded = <T>(asked: Asked, work: () => Promise<T>): Promise<T> =>
    databaseReports.tell(asked, async () => {
      try {
        return await waited('db', work)
      } catch (error) {
        if (!isOutOfReach(error)) throw error
        logOutOfReach(error)
        throw unavailable('the database is out of reach', error)
      }
    })

  const transaction = <T>(work: (handle: Handle, copy: Copy) => Promise<T>, config?: PgTransactionConfig): Promise<T> =>
    guarded({ pool: name, kind: 'transaction', name: undefined }, async () => {
      options.signal?.throwIfAborted()
      const client = await pool.connect()
      // Ends its connection, whatever it waits for; the server then rolls back.
      const giveUp = (): void => void client.end()
      options.signal?.addEventListener('abort', giveUp, { once: true })
      let fault: unknown
      try {
        // It may have come while there was no connection yet.
        options.signal?.throwIfAborted()
        return await drizzle(client).transaction((transaction) => work(transaction, copyOn(client)), config)
      } catch (error) {
        fault = error
        throw error
      } finally {
        options.signal?.removeEventListener('abort', giveUp)
        // A connection that may still be stuck in what failed is not for the next one.
        client.release(isOutOfReach(fault))
      }
    })

  return {
    handle,
    run: (query) => guarded({ pool: name, kind: 'query', name: undefined }, () => query(handle)),
    rows: ({ name: statement, text, values }) =>
      guarded({ pool: name, kind: 'query', name: statement }, async () => {
        const query: QueryArrayConfig = {
          text,
          values: [...values],
          rowMode: 'array',
          types: asText,
          ...(statement && { name: statement }),
        }
        return (await pool.query<(string | null)[]>(query)).rows
      }),
    transaction,
    snapshot: (work) => transaction(work, readOnly),
    connections: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => pool.end(),
  }
}

/** Leaves every value as the server wrote it. */
const asText = { getTypeParser: () => (value: string | Buffer) => value.toString() }

const copyOn =
  (client: PoolClient): Copy =>
  (statement, text) =>
    pipeline([text], client.query(copyFrom(statement)))

/** Classes of SQLSTATE in which the server says that it cannot serve now: connection, resources, operator intervention. */
const cannotServe = ['08', '53', '57']

/** An answer of the server is about the query, except in those classes; anything else that fails here is the way to it. */
const isOutOfReach = (error: unknown): boolean => {
  if (error instanceof ServiceError) return false
  if (error instanceof DatabaseError) return cannotServe.some((kind) => error.code?.startsWith(kind))
  if (!(error instanceof Error)) return false
  if ('code' in error && typeof error.code === 'string' && /^E[A-Z]+$/.test(error.code)) return true
  if (
    /^(Connection terminated|timeout exceeded|Query read timeout|Client (has encountered|was closed))/.test(
      error.message,
    )
  )
    return true
  return error.cause !== undefined && isOutOfReach(error.cause)
}
