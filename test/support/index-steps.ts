import { pino } from 'pino'
import { expect } from 'vitest'
import { type Chain, createChain } from '../../src/chain/chain.ts'
import { takeLease } from '../../src/db/index/work/lease.ts'
import { refreshLag } from '../../src/db/index/work/refresh-queue.ts'
import type { Database } from '../../src/db/pool.ts'
import { createQueries } from '../../src/db/queries/entities.ts'
import { createObserver } from '../../src/indexer/observer.ts'
import { readViews } from '../../src/indexer/reading/read-views.ts'
import { createStep } from '../../src/indexer/step.ts'
import { createTestDatabase } from './database.ts'
import type { World } from './indexing.ts'
import { openDatabase } from './open-database.ts'
import { eventually } from './process.ts'
import { readFacts } from './read-facts.ts'

const log = pino({ level: 'silent' })
const TTL_MS = 60_000
/** How long it steps at most, and the pause between two steps, in milliseconds. */
const [PATIENCE_MS, POLL_MS] = [60_000, 5]

/** An index that a test moves step by step: the chain is indexed and observed only when the test asks for it. */
export const indexSteps = ({ chain, database }: { readonly chain: Chain; readonly database: Database }) => {
  const { chainId } = chain

  const readIndex = async () => {
    const facts = await readFacts(database, chainId)
    if (facts === null) throw new Error('nothing is indexed')
    return facts
  }

  return {
    /** Every fact of the index. */
    readIndex,

    /** Steps until index and chain agree, and observes nothing. */
    async index(): Promise<void> {
      const lease = await takeLease(database, chainId, 'test', TTL_MS)
      if (lease === null) throw new Error('another worker leads')
      const step = createStep({ chain, database, leaseTtlMs: TTL_MS, log, proveEveryMs: 0 })
      await eventually(
        'index and chain agree',
        async () => {
          const { isQuiet, head } = await step(lease)
          return isQuiet && (await createQueries(database).indexed(chainId))?.hash === head.hash
        },
        PATIENCE_MS,
        POLL_MS,
      )
    },

    observeAll: (): Promise<void> => createObserver({ chain, database, log }).observeAll(new AbortController().signal),

    /**
     * Expects that nothing waits, and that every observation equals the state of the chain at the block of the index.
     */
    async expectObserved(): Promise<void> {
      expect(await refreshLag(database, chainId)).toEqual({ waiting: 0, oldestSeconds: null })
      const { cursor, events, deposits, positions } = await readIndex()
      const seen = await readViews({ chain, log }, cursor, [
        { subject: 'chain', id: 0n },
        ...events.map(({ id }) => ({ subject: 'event', id }) as const),
        ...deposits.map(({ id }) => ({ subject: 'deposit', id }) as const),
        ...positions.map(({ id }) => ({ subject: 'position', id }) as const),
      ])
      const queries = createQueries(database)
      expect([seen.events.length, seen.deposits.length, seen.positions.length]).toEqual([
        events.length,
        deposits.length,
        positions.length,
      ])
      expect(await queries.singleton(chainId)).toMatchObject({ ...seen.protocol })
      for (const event of seen.events) expect(await queries.event(chainId, event.core.id)).toMatchObject(event)
      for (const deposit of seen.deposits)
        expect(await queries.deposit(chainId, deposit.deposit.id)).toMatchObject(deposit)
      for (const position of seen.positions)
        expect(await queries.position(chainId, position.position.id)).toMatchObject(position)
    },
  }
}

/**
 * The same over a database of its own, and everything that it needs; `rpcUrl` may be a proxy before the world's node.
 */
export const openIndexSteps = async ({ deployment }: Pick<World, 'deployment'>, rpcUrl: string) => {
  const chain = createChain({ deployment, rpcUrls: [rpcUrl], timeoutMs: 15_000, headMaxAgeMs: 1, log })
  const store = await createTestDatabase()
  const database = openDatabase(store.url, { maxConnections: 8 })
  return {
    chain,
    database,
    url: store.url,
    ...indexSteps({ chain, database }),
    async close(): Promise<void> {
      await Promise.all([database.close(), chain.close()])
      await store.close()
    },
  }
}
