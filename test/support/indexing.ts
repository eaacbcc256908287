import { pino } from 'pino'
import { type Chain, createChain } from '../../src/chain/chain.ts'
import { newestChange } from '../../src/db/changes/changes.ts'
import { refreshLag } from '../../src/db/index/work/refresh-queue.ts'
import type { Database } from '../../src/db/pool.ts'
import { createDemand, type Demand } from '../../src/indexer/demand.ts'
import { follow } from '../../src/indexer/follow.ts'
import { createObserver } from '../../src/indexer/observer.ts'
import { createClosers } from '../../src/lib/lifecycle.ts'
import type { ChainId } from '../../src/protocol/chains.ts'
import { openApp } from './app.ts'
import { createTestDatabase } from './database.ts'
import { openDatabase } from './open-database.ts'
import { eventually } from './process.ts'
import { startWorld } from './world.ts'

/**
 * The polling interval in milliseconds. Waits for the index ask for news at once; polls of an idle chain take a third of
 * a core at 100 ms.
 */
const pollMs = { idle: 250, fast: 50 }

const log = pino({ level: 'silent' })

type App = Awaited<ReturnType<typeof openApp>>
export type World = Awaited<ReturnType<typeof startWorld>>

/** Keeps a chain's index and observations up to date, like a worker. Returns the function that ends this. */
const startIndexing = (deps: {
  readonly chain: Chain
  readonly demand: Demand
  readonly database: Database
  /** Of the database. */
  readonly url: string
}): (() => Promise<void>) => {
  const { chain, demand, database, url } = deps
  const session = openDatabase(url, { maxConnections: 1, log })
  const stop = new AbortController()
  const observer = createObserver({ chain, database, log })
  let observing = Promise.resolve()
  const onWrite = (): void => {
    observing = observing.then(() => observer.observeAll(stop.signal)).catch(() => {})
  }
  const following = follow({ chain, database, session, pollMs, demand, onWrite, log }, stop.signal)
  return async () => {
    stop.abort()
    await following
    await observing
    await session.close()
  }
}

/**
 * Worlds with one database, which is kept up to date as by workers. A test opens any number of API processes on it. All
 * close together.
 *
 * @example
 * const indexed = await startIndexed([8453])
 * const api = await indexed.open()
 * afterAll(() => indexed.close())
 */
export const startIndexed = async (chainIds: readonly [ChainId, ...ChainId[]]) => {
  const closers = createClosers()
  const start = async (chainId: ChainId): Promise<World> =>
    closers.add(`world ${chainId}`, await startWorld(chainId), (it) => it.close())
  const [first, ...others] = chainIds
  const [world, ...rest] = await Promise.all([start(first), ...others.map(start)])
  const worlds: readonly World[] = [world, ...rest]
  const { url } = closers.add('store', await createTestDatabase(), (it) => it.close())
  const opened = openDatabase(url, { maxConnections: 8, log })
  const database = closers.add('database', opened, (it) => it.close())
  const demands = new Map<ChainId, Demand>()
  for (const { deployment, anvil } of worlds) {
    const demand = createDemand()
    demands.set(deployment.chainId, demand)
    const chain = createChain({ deployment, rpcUrls: [anvil.url], timeoutMs: 15_000, headMaxAgeMs: 1, log })
    closers.add('chain', chain, (it) => it.close())
    closers.add('indexing', startIndexing({ chain, demand, database, url }), (stop) => stop())
  }
  const nodes = worlds.map(({ anvil, deployment }) => ({ url: anvil.url, deployment }))
  const apis: App[] = []

  /** Waits until every process knows that the index has reached the chains' newest blocks. */
  const reachHead = async (): Promise<void> => {
    for (const { actions, deployment } of worlds) {
      const head = await actions.client.getBlock()
      demands.get(deployment.chainId)?.ask(head.number, 5_000)
      await eventually(`the index of chain ${deployment.chainId} at block ${head.number}`, () =>
        apis.every(({ sources }) => sources.changes.reached(deployment.chainId)?.block.hash === head.hash),
      )
    }
  }

  return {
    world,
    worlds,
    database,
    /** Of the database. */
    url,
    /** An API process. */
    async open(options: Partial<Parameters<typeof openApp>[0]> = {}): Promise<App> {
      const api = closers.add('api', await openApp({ databaseUrl: url, nodes, ...options }), (it) => it.close())
      apis.push(api)
      return api
    },
    reachHead,
    /** Waits until every process knows the newest blocks and all their observations. */
    async quiet(): Promise<void> {
      await reachHead()
      for (const { chainId } of worlds.map(({ deployment }) => deployment))
        await eventually(`chain ${chainId}, observed`, async () => (await refreshLag(database, chainId)).waiting === 0)
      await eventually('every change is known', async () => {
        const newest = await database.run(newestChange)
        return apis.every(({ sources }) => sources.changes.position() === newest && sources.changes.isCurrent(chainIds))
      })
    },
    close: closers.close,
  }
}
