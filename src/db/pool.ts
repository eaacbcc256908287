import { pipeline } from 'node:stream/promises'
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { PgTransactionConfig } from 'drizzle-orm/pg-core'
import { Client, Pool, type PoolClient, type QueryArrayConfig } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { unavailable } from '../lib/errors.ts'
import { createChannel } from '../lib/observe/channel.ts'
import type { Logger } from '../lib/observe/log.ts'
import { createOutageLog } from '../lib/observe/outage-log.ts'
import { waited } from '../lib/observe/timing.ts'
import { adviceOf, faultText, isOutOfReach, withoutStatement } from './refusals.ts'
import { haveOneSession, noticesLoss } from './sessions.ts'

/** A unit of work of the database: a statement, or a transaction of several statements. */
type Work = {
  /** The pool's name. */
  readonly pool: string
  readonly kind: 'query' | 'transaction'
  /** The name of a prepared statement. */
  readonly name: string | undefined
}

/** Publishes each query and transaction. */
export const databaseStatements = createChannel<Work, unknown>('fx-protection:database')

export type DatabaseOptions = {
  readonly url: string
  /** The pool's name in metrics and logs; `database` by default. */
  readonly name?: string
  readonly maxConnections: number
  readonly statementTimeoutMs: number
  /** Longest wait for a connection; then the database is out of reach. One second by default. */
  readonly connectTimeoutMs?: number
  /** Longest time that a transaction may be idle; two seconds by default. */
  readonly idleInTransactionMs?: number
  /** When it aborts, running transactions are given up and no new ones begin. */
  readonly signal?: AbortSignal
  readonly log: Logger
}

/** Runs queries: on the pool, or inside one transaction. */
export type Handle = Omit<NodePgDatabase, '$client' | 'transaction'>

/** Runs a `COPY … FROM STDIN` with these bytes on the connection of a transaction. */
export type Copy = (statement: string, bytes: readonly Uint8Array[]) => Promise<void>

/** A named statement is prepared once per connection, so names must be few and each must mean one text. */
export type Statement = { readonly name?: string; readonly text: string; readonly values: readonly unknown[] }

export type Database = {
  /** The pool, for preparing statements. Execute them inside `run`. */
  readonly handle: Handle
  /** Runs queries. Throws `service_unavailable` when the database is out of reach. */
  run<T>(query: (handle: Handle) => Promise<T>): Promise<T>
  /** Runs one statement and returns its rows, each an array of columns as text. Throws as `run` does. */
  rows(statement: Statement): Promise<(string | null)[][]>
  /** Runs queries and COPY in one transaction. An error that `work` throws rolls it back. Throws as `run` does. */
  transaction<T>(work: (handle: Handle, copy: Copy) => Promise<T>): Promise<T>
  /** Runs reads that all see the database as of the first one. Throws as `run` does. */
  snapshot<T>(work: (handle: Handle, rows: Database['rows']) => Promise<T>): Promise<T>
  /**
   * Whether two connections have one session of the server: behind a pooler in transaction mode, prepared statements,
   * notifications and locks of sessions are lost. Throws as `run` does.
   */
  sharesSessions(): Promise<boolean>
  /** Connections of the pool, idle connections, and callers that wait for a connection. */
  connections(): { readonly total: number; readonly idle: number; readonly waiting: number }
  close(): Promise<void>
}

/** The part of a database that reads need. */
export type Reader = Pick<Database, 'run' | 'rows'>

const CONNECT_TIMEOUT_MS = 1_000

/**
 * A process that hangs inside a transaction holds its locks, also that of a lease. After this time the server ends the
 * transaction. Shorter than the lifetime of a lease.
 */
const IDLE_IN_TRANSACTION_MS = 2_000

const readOnly = { isolationLevel: 'repeatable read', accessMode: 'read only' } as const

/**
 * Opens a pool. It connects at the first query.
 *
 * @example
 * const database = createDatabase({ url, maxConnections: 10, statementTimeoutMs: 5_000, log })
 * await database.run((handle) => handle.select().from(events))
 */
export const createDatabase = (options: DatabaseOptions): Database => {
  const { name = 'database', connectTimeoutMs = CONNECT_TIMEOUT_MS } = options
  const { idleInTransactionMs = IDLE_IN_TRANSACTION_MS } = options
  const settings = {
    connectionString: options.url,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: options.statementTimeoutMs,
    // A server that vanished without closing the connection must not block a query for ever.
    query_timeout: options.statementTimeoutMs + CONNECT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    ...noticesLoss,
    options: `${noticesLoss.options} -c bytea_output=hex`,
    application_name: 'fx-protection',
  }
  // Connections stay open: a busy machine makes new ones too slowly, just when many are needed.
  const pool = new Pool({ ...settings, max: options.maxConnections, idleTimeoutMillis: 0 })
  // A connection may break while it is idle, in the pool or between two statements of a transaction. The next query
  // fails or takes another connection. Without a listener the event would end the process.
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

  const guarded = <T>(description: Work, work: () => Promise<T>): Promise<T> =>
    databaseStatements.trace(description, async () => {
      try {
        const result = await waited('db', work)
        outages.worked()
        return result
      } catch (error) {
        if (!isOutOfReach(error)) throw withoutStatement(error)
        // An aborted transaction ends its own connection, which is no outage.
        if (!options.signal?.aborted) outages.failed(error)
        throw unavailable('the database is out of reach', withoutStatement(error))
      }
    })

  const transaction = <T>(
    work: (handle: Handle, client: PoolClient) => Promise<T>,
    config?: PgTransactionConfig,
  ): Promise<T> =>
    guarded({ pool: name, kind: 'transaction', name: undefined }, async () => {
      options.signal?.throwIfAborted()
      const client = await pool.connect()
      // Ends the connection in any state; the server then rolls back.
      const giveUp = (): void => void client.end()
      options.signal?.addEventListener('abort', giveUp, { once: true })
      let fault: unknown
      try {
        // The signal may have aborted during the wait for a connection.
        options.signal?.throwIfAborted()
        return await drizzle(client).transaction((transaction) => work(transaction, client), config)
      } catch (error) {
        fault = error
        throw error
      } finally {
        options.signal?.removeEventListener('abort', giveUp)
        // A connection on which the database became unreachable may still hang, so it does not return to the pool.
        client.release(isOutOfReach(fault))
      }
    })

  return {
    handle,
    run: (query) => guarded({ pool: name, kind: 'query', name: undefined }, () => query(handle)),
    rows: (statement) => guarded({ pool: name, kind: 'query', name: statement.name }, () => rowsOn(pool, statement)),
    transaction: (work) =>
      transaction((handle, client) =>
        work(handle, (statement, bytes) => pipeline(bytes, client.query(copyFrom(statement)))),
      ),
    snapshot: (work) =>
      transaction((handle, client) => work(handle, (statement) => rowsOn(client, statement)), readOnly),
    sharesSessions: () =>
      guarded({ pool: name, kind: 'query', name: undefined }, async () => {
        // Not of the pool, which may have one connection.
        const [idle, busy] = [new Client(settings), new Client(settings)]
        try {
          for (const client of [idle, busy]) await client.on('error', lost).connect()
          return await haveOneSession(idle, busy)
        } finally {
          // A server that vanished does not end them.
          for (const client of [idle, busy]) void client.end()
        }
      }),
    connections: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => pool.end(),
  }
}

/** Runs a statement on the pool or on one of its connections. Returns each column as text. */
const rowsOn = async (
  on: Pick<PoolClient, 'query'>,
  { name, text, values }: Statement,
): Promise<(string | null)[][]> => {
  const query: QueryArrayConfig = {
    text,
    values: [...values],
    rowMode: 'array',
    types: asText,
    ...(name && { name }),
  }
  return (await on.query<(string | null)[]>(query)).rows
}

/** Leaves every value as the server's text. */
const asText = { getTypeParser: () => (value: string | Buffer) => value.toString() }
