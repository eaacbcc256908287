import { type Hex, keccak256, numberToHex } from 'viem'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { unavailable } from '../../src/lib/errors.ts'
import type { ChainSnapshot } from '../../src/reads/freshness/waits.ts'
import { blockAt, fakeChain, hashAt, rawReceipt, tooLong } from '../support/fake-chain.ts'
import { fakeClient, openWaits } from '../support/fake-waits.ts'

/* How the waits of a chain share the requests for their transactions. */

const TIP = 90n
const HEAD = 100n
const hashOf = (nth: number): Hex => keccak256(numberToHex(nth))

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

type Receipts = (hash: unknown, size: number) => unknown

/**
 * The node answers each receipt by `receiptOf`, which knows how many calls the batch has. Transactions are compared with
 * the newest block of the index or with the head.
 */
const open = (receiptOf: Receipts, place: 'index' | 'head' = 'index') => {
  const fake = fakeChain(({ method, params: [hash] }) => {
    if (method === 'eth_getLogs') return []
    return method === 'eth_getTransactionReceipt' ? receiptOf(hash, fake.batches.at(-1)?.length ?? 0) : undefined
  })
  fake.node.head = HEAD
  const opened = openWaits([fake.chain])
  opened.tips.set(8453, TIP)
  /** What waits for these transactions get after `polls` rounds. */
  const seen = async (hashes: readonly Hex[], polls = 1): Promise<(ChainSnapshot | string)[]> => {
    const found = hashes.map((key) =>
      opened.waits
        .during(8453, fakeClient().client, (chain, signal) => {
          let left = polls
          return chain[place].until<ChainSnapshot>({
            ...{ key, deadline: performance.now() + 60_000, signal },
            check(snapshot) {
              left -= 1
              return left === 0 ? snapshot : undefined
            },
            late: () => new Error('late'),
          })
        })
        .catch((error: Error) => error.message),
    )
    await vi.advanceTimersByTimeAsync(250 * (polls + Math.ceil(hashes.length / 50)))
    return Promise.all(found)
  }
  const transactions = async (hashes: readonly Hex[], polls = 1) =>
    (await seen(hashes, polls)).map((snapshot, at) =>
      typeof snapshot === 'string' ? snapshot : snapshot.transactions.get(hashes[at] ?? ''),
    )
  const sizes = () => fake.batches.map((batch) => batch.filter(({ method }) => method.includes('Receipt')).length)
  return { ...fake, ...opened, seen, transactions, sizes }
}

test.each([
  ['index', 0, true],
  ['index', Number(TIP), true],
  ['index', Number(TIP) + 1, false],
  ['head', Number(TIP) + 1, true],
  ['head', Number(HEAD), true],
  ['head', Number(HEAD) + 1, false],
] as const)('the %s has reached a transaction of block %i: %s', async (place, block, isReached) => {
  const { transactions } = open((hash) => rawReceipt(hash, block), place)
  expect(await transactions([hashOf(1)])).toEqual([
    { block: BigInt(block), blockHash: hashAt(block), isReverted: false, isReached },
  ])
})

test('an index without a block has reached nothing', async () => {
  const opened = open((hash) => rawReceipt(hash, 0))
  opened.tips.clear()
  expect(await opened.transactions([hashOf(1)])).toMatchObject([{ isReached: false }])
})

test.each([
  // Mostly the index has the transaction in the block of its receipt, so its block is requested only where it has not.
  ['index', [[hashOf(1)], [hashOf(2)], [numberToHex(TIP), hashOf(2)]]],
  [
    'head',
    [
      [numberToHex(HEAD), hashOf(1)],
      [numberToHex(HEAD), hashOf(2)],
    ],
  ],
] as const)('batches for transactions that are compared with the %s', async (place, first) => {
  const receiptOf: Receipts = (hash) => (hash === hashOf(1) ? null : rawReceipt(hash, 7, { status: '0x0' }))
  const { transactions, batches } = open(receiptOf, place)
  expect(await transactions([hashOf(1), hashOf(2)])).toMatchObject([undefined, { block: 7n, isReverted: true }])
  expect(batches.slice(0, first.length).map((batch) => batch.map(({ params }) => params[0]))).toEqual(first)
})

test.each([
  ['index', TIP],
  ['head', HEAD],
] as const)('the answers of a node on another fork than the %s do not count', async (place, number) => {
  const fake = fakeChain(({ method, params: [first] }) => {
    if (method === 'eth_getTransactionReceipt') return rawReceipt(first, 7)
    return first === numberToHex(number) ? { number: first, hash: keccak256('0x0a'), timestamp: '0x1' } : undefined
  })
  fake.node.head = HEAD
  const opened = openWaits([fake.chain])
  opened.tips.set(8453, TIP)
  const found = await opened.waits.during(8453, fakeClient().client, (polls, signal) =>
    polls[place].until({
      ...{ key: hashOf(1), deadline: performance.now() + 60_000, signal },
      check: ({ transactions }) => transactions.get(hashOf(1)),
      late: () => new Error('late'),
    }),
  )
  expect(found).toMatchObject({ block: 7n, isReached: false })
})

test('a transaction that a reorg put into another block of the same number is not reached, and the worker is asked for it', async () => {
  const other = keccak256('0x0b')
  const fake = fakeChain(({ method, params: [given] }) => {
    if (method === 'eth_getTransactionReceipt') return rawReceipt(given, Number(TIP), { blockHash: other })
    return given === numberToHex(TIP) ? { number: given, hash: other, timestamp: '0x1' } : undefined
  })
  fake.node.head = HEAD
  const ask = vi.fn()
  const opened = openWaits([{ ...fake.chain, ask }])
  opened.tips.set(8453, TIP)
  opened.ledger.read = async (asked) =>
    new Set(asked.flatMap(({ hash, blockHash }) => (blockHash === hashAt(TIP) ? hash : [])))
  const found = await opened.waits.during(8453, fakeClient().client, (polls, signal) =>
    polls.index.until({
      ...{ key: hashOf(1), deadline: performance.now() + 60_000, signal },
      check: ({ transactions }) => transactions.get(hashOf(1)),
      late: () => new Error('late'),
    }),
  )
  expect(found).toMatchObject({ block: TIP, blockHash: other, isReached: false })
  expect(ask).toHaveBeenCalledWith(null, 500)
})

test('a batch has at most fifty transactions, and the others follow in the next one', async () => {
  const { transactions, sizes } = open((hash) => rawReceipt(hash, 7))
  const hashes = Array.from({ length: 52 }, (_, nth) => hashOf(nth))
  const found = await transactions(hashes)
  expect(found).toEqual(hashes.map(() => expect.objectContaining({ block: 7n })))
  // The first wait begins a poll of its own. The index has none of them, so each is requested again with its block.
  expect(sizes()).toEqual([1, 1, 50, 50, 1, 1])
})

test('a transaction above every known block is requested again: it may be in another block by then', async () => {
  let polls = 0
  const { transactions } = open((hash) => {
    polls += 1
    return rawReceipt(hash, polls === 1 ? 105 : 95)
  })
  expect(await transactions([hashOf(1)], 2)).toMatchObject([{ block: 95n }])
})

test.each(['index', 'head'] as const)(
  'waits for the %s ask the nodes at once for new blocks of their chain, and not for any other notification',
  async (place) => {
    const opened = open(() => null, place)
    opened.commit(8453, TIP)
    const { client, leave } = fakeClient()
    const waiting = opened.waits.during(8453, client, (polls, signal) =>
      polls[place].until<never>({
        ...{ key: hashOf(1), deadline: performance.now() + 60_000, signal },
        check: () => undefined,
        late: () => new Error('late'),
      }),
    )
    const batches = async (change: () => void) => {
      const before = opened.batches.length
      change()
      // Less than the pause between two polls, and more than the least one.
      await vi.advanceTimersByTimeAsync(15)
      return opened.batches.length - before
    }
    await vi.advanceTimersByTimeAsync(15)
    expect(await batches(() => opened.commit(56, 7n))).toBe(0)
    expect(await batches(() => opened.commit(8453, TIP))).toBe(0)
    expect(await batches(() => opened.commit(8453, TIP + 1n))).toBe(1)
    const heads = opened.heads.set(8453, HEAD)
    expect(await batches(() => opened.commit(8453, TIP + 1n))).toBe(1)
    heads.set(8453, HEAD + 1n)
    expect(await batches(() => opened.commit(8453, TIP + 1n))).toBe(1)
    expect(await batches(() => opened.commit(8453, TIP + 1n))).toBe(0)
    leave()
    await expect(waiting).rejects.toThrow('the client disconnected')
  },
)

test('waits of one transaction share its request', async () => {
  const { transactions, sizes } = open((hash) => rawReceipt(hash, 7))
  expect(await transactions([hashOf(1), hashOf(1), hashOf(1)])).toHaveLength(3)
  expect(Math.max(...sizes())).toBe(1)
})

test('a batch without an answer is halved until the transaction at fault is alone, and the others are found', async () => {
  const fault = hashOf(3)
  const opened = open((hash, size) => {
    if (hash === fault && size > 0) throw unavailable('no node answers')
    return rawReceipt(hash, 7)
  })
  const hashes = Array.from({ length: 6 }, (_, nth) => hashOf(nth))
  // The first poll has only the wait that began it.
  const found = await opened.transactions(hashes, 2)
  expect(found).toEqual(hashes.map((hash) => (hash === fault ? undefined : expect.objectContaining({ block: 7n }))))
  expect(opened.sizes()).toContain(5)
})

test('a transaction without an answer is the fault of the poll when it is asked about alone', async () => {
  const { seen } = open(() => {
    throw unavailable('no node answers')
  })
  const [snapshot] = await seen([hashOf(1)])
  expect(snapshot).toMatchObject({ head: null, fault: { message: 'no node answers' } })
})

test('an error that is not about the nodes ends the waits of the poll', async () => {
  const { seen } = open(() => {
    throw new TypeError('not expected')
  })
  expect(await seen([hashOf(1)])).toEqual(['not expected'])
})

test('a receipt that is too long is read for the next poll, and then not requested with the others', async () => {
  const long = hashOf(1)
  let requests = 0
  const opened = open((hash) => {
    if (hash !== long) return rawReceipt(hash, 7)
    requests += 1
    // The first request is by the poll of the wait that began it, the second one has a higher limit.
    if (requests === 1) throw tooLong()
    return rawReceipt(hash, 8)
  })
  expect(await opened.transactions([long, hashOf(2)], 3)).toMatchObject([{ block: 8n }, { block: 7n }])
  expect(requests).toBe(2)
  expect(opened.batches.at(-1)?.map(({ params }) => params[0])).toEqual([numberToHex(TIP), hashOf(2)])
})

test.each([
  [hashAt(8), true],
  [keccak256('0x0b'), false],
])('a long receipt counts while the chain has its block: %s, %s', async (hash, isReached) => {
  let requests = 0
  const fake = fakeChain(({ method, params: [given] }) => {
    if (method === 'eth_getLogs') return []
    if (method !== 'eth_getTransactionReceipt')
      return given === numberToHex(8) ? { number: given, hash, timestamp: '0x1' } : undefined
    requests += 1
    if (requests === 1) throw tooLong()
    return rawReceipt(given, 8)
  })
  fake.node.head = HEAD
  const opened = openWaits([fake.chain])
  opened.tips.set(8453, TIP)
  const found = opened.waits.during(8453, fakeClient().client, (polls, signal) =>
    polls.index.until({
      ...{ key: hashOf(1), deadline: performance.now() + 60_000, signal },
      check: ({ transactions }) => transactions.get(hashOf(1)),
      late: () => new Error('late'),
    }),
  )
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await found).toMatchObject({ block: 8n, isReached })
})

test.each([
  ['index', 90, true, [undefined], []],
  ['index', 100, false, [undefined], [100n]],
  ['index', 102, false, [undefined], [102n]],
  ['head', 100, true, [undefined], []],
  ['head', 102, true, [undefined, 102n], [102n]],
] as const)(
  'a poll of the %s with a transaction of block %i asks the nodes for a head only where it has to, and the worker for news',
  async (place, at, isReached, heads, asked) => {
    const opened = open((hash) => rawReceipt(hash, at))
    const [head, ask] = [vi.fn(async (atLeast?: bigint) => blockAt(atLeast ?? HEAD)), vi.fn()]
    opened.node.head = 102n
    const { waits, tips } = openWaits([{ ...opened.chain, head, ask }])
    tips.set(8453, TIP)
    const key = hashOf(1)
    const found = await waits.during(8453, fakeClient().client, (polls, signal) =>
      polls[place].until({
        ...{ key, deadline: performance.now() + 60_000, signal },
        check: ({ transactions }) => transactions.get(key),
        late: () => new Error('late'),
      }),
    )
    expect(found).toMatchObject({ block: BigInt(at), isReached })
    expect(head.mock.calls.map(([atLeast]) => atLeast)).toEqual(heads)
    expect(ask.mock.calls).toEqual(asked.map((block) => [block, 500]))
  },
)

test.each([
  [89n, 90n],
  [90n, 102n],
  [102n, null],
])(
  'for transactions in blocks 90 and 102, the worker of an index at block %s is asked for block %s',
  async (tip, asked) => {
    const [first, second] = [hashOf(1), hashOf(2)]
    // The node is on another fork than the index, so no transaction is reached.
    const opened = fakeChain(({ method, params: [given] }) => {
      if (method === 'eth_getTransactionReceipt') return rawReceipt(given, given === first ? 102 : 90)
      return given === numberToHex(tip) ? { number: given, hash: keccak256('0x0a'), timestamp: '0x1' } : undefined
    })
    opened.node.head = 102n
    const ask = vi.fn()
    const { waits, tips } = openWaits([{ ...opened.chain, ask }])
    tips.set(8453, tip)
    const wait = (key: string) =>
      waits.during(8453, fakeClient().client, (polls, signal) =>
        polls.index.until({
          ...{ key, deadline: performance.now() + 60_000, signal },
          check: ({ transactions }) => (transactions.size === 2 ? true : undefined),
          late: () => new Error('late'),
        }),
      )
    const waiting = Promise.all([wait(first), wait(second)])
    await vi.advanceTimersByTimeAsync(500)
    await waiting
    expect(ask).toHaveBeenLastCalledWith(asked, 500)
  },
)

test('the worker is not asked for a transaction that is not mined', async () => {
  const opened = open(() => null)
  const ask = vi.fn()
  const { waits } = openWaits([{ ...opened.chain, ask }])
  const snapshot = await waits.during(8453, fakeClient().client, (polls, signal) =>
    polls.index.until<ChainSnapshot>({
      ...{ key: hashOf(1), deadline: performance.now() + 60_000, signal },
      check: (seen) => seen,
      late: () => new Error('late'),
    }),
  )
  expect([snapshot.transactions.size, ask.mock.calls]).toEqual([0, []])
})
