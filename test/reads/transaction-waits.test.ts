import { keccak256 } from 'viem'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Chain } from '../../src/chain/chain.ts'
import { unavailable, upstream } from '../../src/lib/errors.ts'
import { TransactionQuery } from '../../src/reads/transactions/record.ts'
import { createTransactions } from '../../src/reads/transactions/transactions.ts'
import { blockAt, fakeChain, hashAt, rawReceipt } from '../support/fake-chain.ts'
import { fakeSources, rawTransaction, SENDER } from '../support/fake-lookup.ts'
import { fakeClient, openWaits } from '../support/fake-waits.ts'
import { outcomeAfter } from '../support/outcome-after.ts'

/* Waits for a transaction. */

const HASH = keccak256('0x01')
const OTHER = keccak256('0x02')

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** A transaction that waits for a block, which a test mines, replaces and indexes. */
const open = () => {
  const state = {
    ...{ block: null as number | null, isReplaced: false, fault: null as Error | null },
    /** While it is true, look-ups get no answer. */
    isHanging: false,
    lookups: 0,
  }
  const fake = fakeChain(({ method, params: [first, second] }) => {
    if (state.fault !== null) throw state.fault
    if (method === 'eth_getTransactionByHash') {
      state.lookups += 1
      return rawTransaction(first)
    }
    if (method === 'eth_getTransactionReceipt') return state.block === null ? null : rawReceipt(first, state.block)
    if (method === 'eth_getTransactionCount') return state.isReplaced ? '0x8' : '0x7'
    if (method === 'eth_getBlockByNumber' && second === true)
      return { hash: hashAt(Number(first)), transactions: [rawTransaction(OTHER)] }
    return undefined
  })
  const head = async () => {
    if (state.fault !== null) throw state.fault
    return blockAt(fake.node.head)
  }
  const send: Chain['send'] = (batch) => {
    if (!state.isHanging || !('tx' in batch)) return fake.chain.send(batch)
    state.lookups += 1
    return new Promise(() => {})
  }
  const chain: Chain = { ...fake.chain, head, send }
  const { sources, state: index } = fakeSources(chain)
  const opened = openWaits([chain])
  const transactions = createTransactions(sources, opened.waits)
  const { client, leave } = fakeClient()
  const read = (waitMs: number, by = client) => transactions.read(by, 8453, HASH, waitMs).then(({ data }) => data)
  return { ...opened, ...fake, state, index, leave, read }
}

const pending = { status: 'pending', indexed: false }
const indexed = { status: 'succeeded', indexed: true }

test('without a wait the state is that of now, and no place is taken', async () => {
  const { read, waits } = open()
  const during = vi.spyOn(waits, 'during')
  expect(await read(0)).toMatchObject(pending)
  expect(during).not.toHaveBeenCalled()
})

test('a wait ends with the state at its deadline', async () => {
  const { read, waits } = open()
  const waiting = read(5_000)
  expect(await outcomeAfter(4_990, waiting)).toBeUndefined()
  expect(waits.counts().open).toBe(1)
  expect(await outcomeAfter(150, waiting)).toMatchObject(pending)
  expect(waits.counts().open).toBe(0)
})

test.each([0, 1, 100])('a wait of %i ms of a pending transaction ends', async (waitMs) => {
  expect(await outcomeAfter(300, open().read(waitMs))).toMatchObject(pending)
})

test('a wait ends as soon as a poll finds the transaction on the index', async () => {
  const { read, state, tips } = open()
  tips.set(8453, 980n)
  const waiting = read(30_000)
  await vi.advanceTimersByTimeAsync(500)
  state.block = 990
  // Mined is not enough, and is no reason to look it up.
  expect(await outcomeAfter(1_000, waiting)).toBeUndefined()
  expect(state.lookups).toBe(1)
  tips.set(8453, 990n)
  expect(await outcomeAfter(300, waiting)).toMatchObject(indexed)
})

test('a transaction that is mined and not indexed yet has its state at the deadline', async () => {
  const { read, state, tips } = open()
  tips.set(8453, 980n)
  state.block = 990
  const waiting = read(2_000)
  expect(await outcomeAfter(1_990, waiting)).toBeUndefined()
  expect(await outcomeAfter(160, waiting)).toMatchObject({ status: 'succeeded', indexed: false })
})

test('the look-ups of a wait are two seconds apart', async () => {
  const { read, state } = open()
  const waiting = read(30_000)
  await vi.advanceTimersByTimeAsync(8_050)
  expect(state.lookups).toBe(5)
  state.isReplaced = true
  expect(await outcomeAfter(2_000, waiting)).toMatchObject({ dropped: true })
})

describe('while the look-ups of a client are taken', () => {
  /** Four look-ups of the client, as many as it may have, that end after a second. */
  const take = ({ read, state }: ReturnType<typeof open>): void => {
    state.isHanging = true
    for (let nth = 0; nth < 4; nth += 1) read(0).catch(() => {})
  }
  const TOO_MANY = 'too many look-ups at once: retry after 1 s'

  test('a further read of it is refused, also one that would wait, and other clients have theirs', async () => {
    const opened = open()
    take(opened)
    const [refused, other] = [opened.read(30_000), opened.read(0, fakeClient('192.0.2.2').client)]
    other.catch(() => {})
    await vi.advanceTimersByTimeAsync(0)
    expect(opened.state.lookups).toBe(5)
    expect(await outcomeAfter(1_000, refused)).toBe(TOO_MANY)
  })

  test('a wait goes on, and returns the newest state that it has found', async () => {
    const opened = open()
    const { read, state, tips } = opened
    const [short, long] = [read(4_500), read(30_000)]
    await vi.advanceTimersByTimeAsync(1_000)
    state.block = 990
    tips.set(8453, 980n)
    await vi.advanceTimersByTimeAsync(2_990)
    take(opened)
    expect(await outcomeAfter(1_050, short)).toMatchObject({ status: 'succeeded', indexed: false })
    Object.assign(state, { isHanging: false })
    tips.set(8453, 990n)
    expect(await outcomeAfter(2_100, long)).toMatchObject(indexed)
  })
})

test('a process that stops ends a wait also during a look-up, with its reason', async () => {
  const { read, state, draining } = open()
  const waiting = read(10_000)
  await vi.advanceTimersByTimeAsync(1_000)
  state.isHanging = true
  await vi.advanceTimersByTimeAsync(1_100)
  expect(state.lookups).toBe(2)
  draining.abort()
  expect(await outcomeAfter(0, waiting)).toBe('this process is about to stop: try again')
})

test('a wait looks for a replacement every two seconds, and ends with it', async () => {
  const { read, state } = open()
  const waiting = read(30_000)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(state.lookups).toBe(1)
  state.isReplaced = true
  expect(await outcomeAfter(900, waiting)).toBeUndefined()
  expect(await outcomeAfter(300, waiting)).toMatchObject({ dropped: true, replacedBy: OTHER })
})

describe('a transaction about which nothing changes any more is not awaited:', () => {
  test.each([
    ['one that is indexed and final', 990n, 990n, 0],
    ['but one that is indexed alone is', 990n, 989n, 1],
    ['and so is one that is final alone', 980n, 990n, 1],
  ])('%s', async (_, tip, finalized, places) => {
    const { read, state, tips, index, waits } = open()
    const during = vi.spyOn(waits, 'during')
    state.block = 990
    tips.set(8453, tip)
    index.finalized = finalized
    expect(await outcomeAfter(2_300, read(2_000))).toMatchObject({ status: 'succeeded' })
    expect(during).toHaveBeenCalledTimes(places)
  })

  test('one that another one replaced', async () => {
    const { read, state, waits } = open()
    const during = vi.spyOn(waits, 'during')
    state.isReplaced = true
    expect(await read(2_000)).toMatchObject({ dropped: true })
    expect(during).not.toHaveBeenCalled()
  })
})

describe('an indexed transaction', () => {
  const open1 = () => {
    const opened = open()
    opened.state.block = 990
    opened.tips.set(8453, 990n)
    return opened
  }

  test('is returned when lists show what it changed', async () => {
    const { read, queue } = open1()
    queue.read = async () => ({ oldestBlock: 1n, newestChange: 0 })
    const waiting = read(5_000)
    expect(await outcomeAfter(3_000, waiting)).toBeUndefined()
    queue.read = async () => ({ oldestBlock: null, newestChange: 0 })
    expect(await outcomeAfter(200, waiting)).toMatchObject(indexed)
  })

  test.each([
    ['lists do not show what it changed', async () => ({ oldestBlock: 1n, newestChange: 0 })],
    ['the database is out of reach', () => Promise.reject(unavailable('the database is out of reach'))],
  ])('is returned at the deadline while %s', async (_, answer) => {
    const { read, queue } = open1()
    queue.read = answer
    expect(await outcomeAfter(2_200, read(2_000))).toMatchObject(indexed)
  })

  test('is an error while lists are awaited when the client leaves, or something unexpected fails', async () => {
    const { read, queue, leave } = open1()
    queue.read = () => Promise.reject(new TypeError('not expected'))
    expect(await outcomeAfter(100, read(2_000))).toBe('not expected')
    queue.read = async () => ({ oldestBlock: 1n, newestChange: 0 })
    const waiting = read(2_000)
    await vi.advanceTimersByTimeAsync(100)
    leave()
    expect(await outcomeAfter(0, waiting)).toBe('the client disconnected')
  })
})

test('a wait whose look-ups lack the transaction that polls find pauses before each further one', async () => {
  const { state, tips, waits } = open()
  state.block = 990
  tips.set(8453, 990n)
  const behind = fakeChain(({ method, params: [hash] }) => {
    if (method === 'eth_getTransactionByHash') {
      if (behind.calls(method).length > 100) throw new Error('looked up without a pause')
      return rawTransaction(hash)
    }
    return method === 'eth_getTransactionCount' ? '0x7' : undefined
  })
  const { sources } = fakeSources(behind.chain)
  const waiting = createTransactions(sources, waits).read(fakeClient().client, 8453, HASH, 1_000)
  expect(await outcomeAfter(1_200, waiting)).toMatchObject({ data: pending })
  const lookups = behind.calls('eth_getTransactionByHash').length
  expect(lookups).toBe(2)
})

describe('while no node answers', () => {
  test('a read without a wait is the fault of the nodes, and so is a wait that ends', async () => {
    const { read, state } = open()
    state.fault = unavailable('no node answers')
    expect(await outcomeAfter(0, read(0))).toBe('no node answers')
    const waiting = read(3_000)
    expect(await outcomeAfter(2_900, waiting)).toBeUndefined()
    expect(await outcomeAfter(300, waiting)).toBe('no node answers')
  })

  test('a wait goes on, and ends with the newest state', async () => {
    const { read, state, tips } = open()
    state.fault = unavailable('no node answers')
    const waiting = read(10_000)
    await vi.advanceTimersByTimeAsync(1_000)
    Object.assign(state, { fault: null, block: 990 })
    tips.set(8453, 995n)
    expect(await outcomeAfter(2_200, waiting)).toMatchObject(indexed)
  })

  test('a wait returns what the index knows', async () => {
    const { read, state, index } = open()
    state.fault = unavailable('no node answers')
    index.tip = blockAt(1_000)
    index.rows = [{ kind: 'event', id: 1n, owner: SENDER, block: blockAt(990) }]
    expect(await outcomeAfter(100, read(10_000))).toMatchObject({ ...indexed, finality: 'latest' })
  })
})

test('nodes that refuse end a wait', async () => {
  const { read, state } = open()
  const waiting = read(10_000)
  await vi.advanceTimersByTimeAsync(100)
  state.fault = upstream('refused')
  expect(await outcomeAfter(2_100, waiting)).toBe('refused')
})

test('a client that leaves ends its wait, and one that has left gets the same error', async () => {
  const { read, leave, waits } = open()
  const waiting = read(10_000)
  await vi.advanceTimersByTimeAsync(100)
  leave()
  await expect(waiting).rejects.toMatchObject({ code: 'service_unavailable', message: 'the client disconnected' })
  expect(waits.counts().open).toBe(0)
  await expect(read(0)).rejects.toMatchObject({ code: 'service_unavailable', message: 'the client disconnected' })
})

test('a process that stops ends a wait with its reason', async () => {
  const { read, draining } = open()
  const waiting = read(10_000)
  await vi.advanceTimersByTimeAsync(100)
  draining.abort()
  await expect(waiting).rejects.toThrow('this process is about to stop')
})

test.each([
  ['0', 0],
  ['30000', 30_000],
  ['30001', null],
  ['1e3', null],
])('waitMs=%s of a transaction', (waitMs, expected) => {
  const parsed = TransactionQuery.safeParse({ waitMs })
  expect(parsed.success ? parsed.data.waitMs : null).toBe(expected)
})
