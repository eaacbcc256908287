import { type Hex, keccak256, numberToHex } from 'viem'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Chain } from '../../src/chain/chain.ts'
import { unavailable } from '../../src/lib/errors.ts'
import { createLookup, TooManyLookups } from '../../src/reads/transactions/lookup.ts'
import { blockAt, fakeChain, rawReceipt } from '../support/fake-chain.ts'
import { fakeSources, rawTransaction, SENDER } from '../support/fake-lookup.ts'
import { fakeChanges, lookupWaits } from '../support/fake-waits.ts'
import { outcomeAfter } from '../support/outcome-after.ts'

/* How many look-ups run and wait, and how long they take. */

const TIMEOUT_MS = 1_000
const hashOf = (nth: number): Hex => keccak256(numberToHex(nth))
const TOO_MANY = 'too many look-ups at once: retry after 1 s'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Nodes that hang while `isHanging`. The index knows each transaction. */
const open = () => {
  const node = { isHanging: true, isDown: false, isReverted: false }
  const fake = fakeChain(({ method, params: [hash] }) => {
    if (method === 'eth_getTransactionByHash') return rawTransaction(hash)
    if (method === 'eth_getTransactionReceipt')
      return rawReceipt(hash, 990, { status: node.isReverted ? '0x0' : '0x1' })
    return method === 'debug_traceTransaction' ? { error: 'out of gas' } : undefined
  })
  /** Requests that never end, also not when they are aborted. */
  let running = 0
  const chain: Chain = {
    ...fake.chain,
    timeoutMs: TIMEOUT_MS,
    async send(batch) {
      if (node.isDown) throw unavailable('no node answers')
      if (!node.isHanging) return fake.chain.send(batch)
      running += 1
      return new Promise(() => {})
    },
  }
  const { sources, state } = fakeSources(chain)
  state.tip = blockAt(1_000)
  state.rows = [{ kind: 'event', id: 1n, owner: SENDER, block: blockAt(990) }]
  const { changes } = fakeChanges()
  const lookup = createLookup(sources, lookupWaits(changes))
  const find = (nth = 0, client = '', signal = new AbortController().signal) =>
    lookup(chain, hashOf(nth), signal, client)
  return { node, chain, state, find, running: () => running }
}

const sourceOf = (found: Awaited<ReturnType<ReturnType<typeof open>['find']>>) => found.freshness.source

test('eight look-ups run at once, 512 wait, and a further one is refused', async () => {
  const { node, find, running } = open()
  const looking = Array.from({ length: 520 }, (_, nth) => find(nth))
  let refused = 0
  for (const one of looking) one.catch(() => (refused += 1))
  await vi.advanceTimersByTimeAsync(0)
  expect([running(), refused]).toEqual([8, 0])
  await expect(find(520)).rejects.toMatchObject({ code: 'service_unavailable', retryAfter: 1, message: TOO_MANY })
  node.isHanging = false
  await vi.advanceTimersByTimeAsync(TIMEOUT_MS)
  await Promise.allSettled(looking)
})

test('one client has half of the look-ups, and the others have theirs', async () => {
  const { find, running } = open()
  const own = Array.from({ length: 5 }, (_, nth) => find(nth, 'a'))
  await vi.advanceTimersByTimeAsync(0)
  expect(running()).toBe(4)
  const other = find(9, 'b')
  await vi.advanceTimersByTimeAsync(0)
  expect(running()).toBe(5)
  const ended = Promise.allSettled([...own, other])
  await vi.advanceTimersByTimeAsync(2 * TIMEOUT_MS)
  await ended
})

test('nodes that do not answer in time are answered for by the index', async () => {
  const { find, state } = open()
  const looking = find()
  expect(await outcomeAfter(TIMEOUT_MS - 1, looking)).toBeUndefined()
  expect(sourceOf(await vi.advanceTimersByTimeAsync(1).then(() => looking))).toBe('database')
  state.rows = []
  expect(await outcomeAfter(TIMEOUT_MS, find())).toBe('the nodes of chain 8453 did not answer within 1000 ms')
})

test('a look-up that waited for its turn is refused as one too many, and not answered by the index', async () => {
  const { find } = open()
  const first = Array.from({ length: 8 }, (_, nth) => find(nth))
  const waiting = find(9)
  waiting.catch(() => {})
  await vi.advanceTimersByTimeAsync(TIMEOUT_MS)
  await expect(waiting).rejects.toBeInstanceOf(TooManyLookups)
  expect((await Promise.all(first)).map(sourceOf)).toEqual(Array(8).fill('database'))
})

test.each([
  ['half of the time', 500, TOO_MANY],
  ['less than half of the time', 501, 'the nodes of chain 8453 did not answer within 1000 ms'],
])('a look-up that ran for %s is refused for the fault of the nodes only', async (_, ms, message) => {
  const { find, state } = open()
  state.rows = []
  const leaving = new AbortController()
  const first = Array.from({ length: 8 }, (_, nth) => find(nth, '', leaving.signal))
  for (const one of first) one.catch(() => {})
  const waiting = find(9)
  waiting.catch(() => {})
  await vi.advanceTimersByTimeAsync(TIMEOUT_MS - ms)
  leaving.abort(unavailable('left'))
  expect(await outcomeAfter(ms, waiting)).toBe(message)
})

test('a look-up ends when its client leaves, also one that waits, and frees its place', async () => {
  const { node, find } = open()
  const leaving = new AbortController()
  const gone = Array.from({ length: 9 }, (_, nth) => find(nth, '', leaving.signal))
  for (const one of gone) one.catch(() => {})
  await vi.advanceTimersByTimeAsync(0)
  leaving.abort(unavailable('the client disconnected'))
  for (const one of gone) await expect(one).rejects.toThrow('the client disconnected')
  node.isHanging = false
  expect(sourceOf(await find())).toBe('chain')
})

test('a chain that is not configured is a 503', async () => {
  const { chain } = open()
  const { sources } = fakeSources(chain)
  const { changes } = fakeChanges()
  const lookup = createLookup({ ...sources, chains: new Map() }, lookupWaits(changes))
  const found = lookup(chain, hashOf(1), new AbortController().signal, '')
  await expect(found).rejects.toThrow('chain 8453 is not configured')
})

test.each([
  ['is searched for too long', 'pending'],
  ['is known', 'known'],
])('the revert of a transaction whose reason %s has its status', async (_, revertStatus) => {
  const { node, find, chain } = open()
  Object.assign(node, { isHanging: false, isReverted: true })
  const clients: string[] = []
  Object.assign(chain, {
    runReplay(run: () => Promise<unknown>, client: string) {
      clients.push(client)
      return revertStatus === 'pending' ? Promise.reject(unavailable('too many')) : run()
    },
  })
  const { data } = await find(1, 'client')
  expect(data).toMatchObject({ status: 'reverted', revertStatus })
  expect(data.revert).toEqual(revertStatus === 'pending' ? null : expect.objectContaining({ code: 'execution_failed' }))
  expect(clients).toEqual(['client'])
})
