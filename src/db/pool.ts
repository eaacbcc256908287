import { pipeline } from 'node:stream/promises'
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { PgTransactionConfig } from 'drizzle-orm/pg-core'
import { Pool, type PoolClient, type QueryArrayConfig } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { unavailable } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { createOutageLog } from '../lib/outage-log.ts'
import { waited } from '../lib/timing.ts'
import { adviceOf, faultText, isOutOfReach, withoutStatement } from './refusals.ts'
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

/** Runs a `COPY … FROM STDIN` on a transaction's connection with the bytes given. */
export type Copy = (statement: string, bytes: Uint8Array) => Promise<void>

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

  const outages = createOutageLog({
    log: options.log,
    down: 'the database is out of reach',
    up: 'the database is in reach again',
    describe: (fault) => ({ pool: name, fault: faultText(fault), advice: adviceOf(fault) }),
  })

  const guarded = <T>(asked: Asked, work: () => Promise<T>): Promise<T> =>
    databaseReports.tell(asked, async () => {
      try {
        const result = await waited('db', work)
        outages.worked()
        return result
      } catch (error) {
        if (!isOutOfReach(error)) throw withoutStatement(error)
        // Transactions that are given up end their connections themselves.
        if (!options.signal?.aborted) outages.failed(error)
        throw unavailable('the database is out of reach', withoutStatement(error))
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
  (statement, bytes) =>
    pipeline([bytes], client.query(copyFrom(statement)))
