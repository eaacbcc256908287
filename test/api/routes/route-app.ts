import Fastify, { type FastifyInstance } from 'fastify'
import { onTestFinished } from 'vitest'
import { errors } from '../../../src/api/plugins/errors.ts'
import { createResponseCache, responseCache } from '../../../src/api/response-cache/cache.ts'
import { createStore } from '../../../src/api/response-cache/store.ts'
import { createTags } from '../../../src/api/response-cache/tags.ts'
import { serializerCompiler, validatorCompiler } from '../../../src/api/schema.ts'
import { createUnread } from '../../../src/api/unread.ts'
import { unavailable } from '../../../src/lib/errors.ts'
import type { Client, Waits } from '../../../src/reads/freshness/waits.ts'
import type { ReadTurns } from '../../../src/reads/turns.ts'
import { blockAt, createFakeChanges, reachedAt } from '../../support/fake-changes.ts'

/** An app with routes, and with what every app does with errors, inputs and bodies. */
export const openRoutes = async (register: (app: FastifyInstance) => PromiseLike<unknown>) => {
  const app = Fastify({ genReqId: () => 'mine', routerOptions: { ignoreTrailingSlash: true } })
  onTestFinished(() => app.close())
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  await app.register(errors)
  await register(app)
  return app
}

/** The reads of a test run at once; `taken` has the kind and the address of each. */
export const fakeTurns = () => {
  const taken: string[] = []
  const turn =
    (kind: string): ReadTurns['page'] =>
    (client, read) => {
      taken.push(`${kind} ${client.address}`)
      return read()
    }
  return { taken, turns: { page: turn('page'), long: turn('long') } satisfies ReadTurns }
}

/** An index at block 50 of both chains, and a response cache over it. */
export const openCache = async (app: FastifyInstance) => {
  const index = createFakeChanges()
  for (const chainId of [8453, 56]) index.reach(reachedAt(chainId, 50))
  index.change(100)
  const clock = { ms: 0 }
  const cache = createResponseCache({
    ...{
      changes: index.changes,
      store: createStore(2 ** 20),
      tags: createTags('test'),
      limit: null,
      trustedProxies: 0,
    },
    forkBlocks: { add: () => {}, isConfirmed: () => true, confirm: async () => {} },
    unread: createUnread(2 ** 20),
    now: () => clock.ms,
  })
  await app.register(responseCache, { cache })
  return { index, cache, clock }
}

/** The database's queries of the newest indexed block: block 50 of each chain. */
export const indexedQueries = {
  indexed: async () => blockAt(50),
  reached: async (chainId: number) => reachedAt(chainId, 50),
}

type Waited = Awaited<ReturnType<typeof openCache>>['index']

/**
 * Waits over an index, and over nodes with these heads. `mined` has the mined transactions by hash, and `waited` the
 * chain and the address of each wait.
 */
export const fakeWaits = (index: Waited, heads: Readonly<Record<number, number>> = {}) => {
  const mined = new Map<string, object>()
  const waited: string[] = []
  const headOf = async (chainId: number) => {
    const head = heads[chainId]
    if (head === undefined) throw unavailable('no node is in reach')
    return blockAt(head)
  }
  const waits = {
    changes: index.changes,
    chains: new Map([8453, 56].map((chainId) => [chainId, { head: () => headOf(chainId) }])),
    async during(chainId: number, { address }: Client, wait: (polls: object, signal: AbortSignal) => unknown) {
      waited.push(`${chainId} ${address}`)
      const tip = index.changes.reached(chainId)
      const head = await headOf(chainId).catch(() => null)
      type Question = { check(seen: unknown): unknown; late(seen: unknown): Error }
      const until = (seen: object | undefined) => ({
        async until({ check, late }: Question) {
          const found = check(seen)
          if (found === undefined) throw late(seen)
          return found
        },
      })
      const queue = { indexed: tip?.block.number ?? null, oldestBlock: null, newestChange: 0, knownChange: 0 }
      const transactions = until({ head, tip, transactions: mined, fault: null })
      const polls = { index: transactions, head: transactions, tips: until(tip), refreshRequests: until(queue) }
      return wait(polls, new AbortController().signal)
    },
  }
  return { waits: waits as unknown as Waits, mined, waited }
}
