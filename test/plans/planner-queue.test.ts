import { expect, test } from 'vitest'
import type { Chain } from '../../src/chain/chain.ts'
import { unavailable } from '../../src/lib/errors.ts'
import type { Intent } from '../../src/plans/draft/request-body.ts'
import { createPlanner } from '../../src/plans/planner.ts'
import type { ChainId } from '../../src/protocol/chains.ts'

/** The plans of one client that begin, and those that begin or wait. */
const AT_ONCE = 8
const AT_ONCE_AND_WAITING = 520

/** A planner of which chain 8453 answers only when `answer` is called, and chain 56 at once; answers are errors. */
const openPlanner = () => {
  const begun: (() => void)[] = []
  const chain = (chainId: ChainId, pinned: () => Promise<never>) =>
    [chainId, { chainId, deployment: { chainId }, pinned } as unknown as Chain] as const
  const answered = () => unavailable('answered')
  const slow = () => new Promise<never>((_, reject) => begun.push(() => reject(answered())))
  const quick = () => Promise.reject(answered())
  const sources = { chains: new Map([chain(8453, slow), chain(56, quick)]) }
  const plan = createPlanner(sources as unknown as Parameters<typeof createPlanner>[0])
  return {
    begun,
    plan: (address: string, chainId: ChainId = 8453, disconnected = new AbortController().signal): Promise<string> =>
      plan('claim-all', { chainId } as unknown as Intent, { address, disconnected }).then(
        () => 'a plan',
        (error: Error) => error.message,
      ),
    async answer(): Promise<void> {
      begun.shift()?.()
      await new Promise(setImmediate)
    },
  }
}

test('a chain whose nodes are slow does not hold up the plans of another chain', async () => {
  const { plan } = openPlanner()
  const ended: string[] = []
  for (let nth = 0; nth < AT_ONCE_AND_WAITING; nth += 1) void plan('a').then((end) => ended.push(end))
  expect(await plan('a')).toBe('too many plans at once: retry after 1 s')
  expect(ended).toEqual([])
  expect(await plan('a', 56)).toBe('answered')
})

test('a client with many plans does not keep out the plan of another client', async () => {
  const { plan, begun } = openPlanner()
  const many = Array.from({ length: AT_ONCE_AND_WAITING + 1 }, () => plan('a'))
  expect(await many.at(-1)).toBe('too many plans at once: retry after 1 s')
  expect(begun).toHaveLength(AT_ONCE)
  const single = plan('b')
  begun.pop()?.()
  expect(await single).toBe('answered')
})

test('the plans of clients that disconnected do not start', async () => {
  const { plan, begun, answer } = openPlanner()
  const controller = new AbortController()
  for (let nth = 0; nth < AT_ONCE; nth += 1) void plan('a')
  const gone = Array.from({ length: 100 }, () => plan('a', 8453, controller.signal))
  controller.abort(unavailable('the client disconnected'))
  expect([...new Set(await Promise.all(gone))]).toEqual(['the client disconnected'])
  for (let nth = 0; nth < AT_ONCE; nth += 1) await answer()
  expect(begun).toEqual([])
})
