import { sql } from 'drizzle-orm'
import { storeObservations } from '../../src/db/index/observations.ts'
import { type Lease, takeLease } from '../../src/db/index/work/lease.ts'
import type { Database, Handle } from '../../src/db/pool.ts'
import type { StoredBlock } from '../../src/db/stored.ts'
import { type Commits, createCommits } from '../../src/indexer/commit.ts'
import type { Hint } from '../../src/protocol/abi/logs.ts'
import { createTestDatabase } from './database.ts'
import { openDatabase } from './open-database.ts'
import { eventually } from './process.ts'
import type { SeededEvent } from './seed-index.ts'

/* Writes of the index without a chain: each is given its facts and hints. */

export const CHAIN = 8453

const tables = [
  ...['events', 'deposits', 'positions', 'event_observations', 'deposit_observations', 'position_observations'],
  ...[
    'chain_observations',
    'fee_rates',
    'ledger',
    'ledger_reversals',
    'tokens',
    'upgrades',
    'refresh_queue',
    'cursors',
    'anchors',
    'rollbacks',
    'log_gaps',
    'changes',
  ],
  ...['settlements', 'settlement_logs', 'feed', 'feed_floors', 'feed_epochs', 'leases', 'heartbeats', 'audits'],
]

/** A database for the tests of one file. `empty` deletes all rows of the index. */
export const openIndexDatabase = async (maxConnections = 4) => {
  const store = await createTestDatabase()
  const database = openDatabase(store.url, { maxConnections })
  return {
    database,
    url: store.url,
    // Faster than TRUNCATE for a few rows.
    empty: () => rowsOf(database, `DO $$ BEGIN ${tables.map((table) => `DELETE FROM ${table};`).join(' ')} END $$`),
    async close(): Promise<void> {
      await database.close()
      await store.close()
    },
  }
}

type Written = Parameters<Commits['write']>[1]

/** A write at a block near the head, of which everything is known, without content unless it is given. */
export const writtenAt = (block: StoredBlock, content: Partial<Written> = {}): Written => ({
  ...{
    block,
    facts: [],
    hints: [],
    unknown: [],
    fees: [],
    ledger: [],
    gap: null,
    complete: true,
    protocol: false,
    isBehind: false,
    uncovers: false,
  },
  ...content,
})

/** The transaction of the log of a hint. */
export const txOf = (block: StoredBlock, at = 0) =>
  `0x${(BigInt(block.hash) * 16n + BigInt(at)).toString(16).padStart(64, '0')}` as const

type Subject<H = Hint> = H extends unknown ? Omit<H, 'kind' | keyof ReturnType<typeof originOf>> : never

const originOf = (block: StoredBlock) => ({
  ...{ blockNumber: block.number, blockHash: block.hash, blockTimestamp: block.timestamp },
  ...{ txHash: txOf(block), logIndex: 0 },
})

/** The hint of a log in a block. */
export const hintAt = (block: StoredBlock, subject: Subject): Hint =>
  ({ kind: 'hint', ...subject, ...originOf(block) }) as Hint

export const leaseOf = async (database: Database, ttlMs = 60_000): Promise<Lease> => {
  const lease = await takeLease(database, CHAIN, 'test', ttlMs)
  if (lease === null) throw new Error('another worker has the lease')
  return lease
}

/** Writes and rollbacks of a chain, with the options of `createCommits`. */
export const openWrites = async (
  database: Database,
  options: { readonly backfillFacts?: number; readonly deleteBatch?: number } = {},
) => {
  const lease = await leaseOf(database)
  const commits = createCommits({ chainId: CHAIN, database, leaseTtlMs: 60_000, ...options })
  return {
    lease,
    write: (block: StoredBlock, content: Partial<Written> = {}) => commits.write(lease, writtenAt(block, content)),
    backTo: (ancestor: StoredBlock | null) => commits.backTo(lease, ancestor),
    /** Stores an event as it is observed at a block. */
    observe: (block: StoredBlock, { seen }: SeededEvent, stats: Partial<SeededEvent['seen']['stats']> = {}) =>
      database.transaction((handle) =>
        storeObservations(...[handle, CHAIN, block], {
          ...{ deposits: [], positions: [], protocol: null },
          events: [{ ...seen, stats: { ...seen.stats, ...stats } }],
        }),
      ),
  }
}

export const rowsOf = async (database: Database, statement: string) =>
  (await database.run((handle) => handle.execute(sql.raw(statement)))).rows

/** Has another transaction lock the refresh queue of the chain while `work` runs, and then do `last` before it ends. */
export const whileQueueIsLocked = (
  database: Database,
  work: () => Promise<unknown>,
  last = async (_: Handle) => {},
) => {
  let working = Promise.resolve<unknown>(undefined)
  return database
    .transaction(async (handle) => {
      await handle.execute(sql`SELECT pg_advisory_xact_lock(7201, ${CHAIN})`)
      working = work()
      working.catch(() => {})
      let written: string[] = []
      await eventually('it waits for the queue', async () => {
        const { rows } = await handle.execute<{ tables: string[] | null }>(sql`SELECT
            (SELECT array_agg(relation::regclass::text) FROM pg_locks held WHERE held.pid = waiting.pid
              AND mode = 'RowExclusiveLock' AND relation::regclass::text NOT LIKE '%pkey') AS tables
          FROM pg_locks waiting WHERE locktype = 'advisory' AND NOT granted
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
        written = rows[0]?.tables ?? []
        return rows.length > 0
      })
      await last(handle)
      return written
    })
    .then(async (written) => {
      await working
      return written
    })
}
