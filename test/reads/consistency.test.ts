import { type Hex, keccak256, numberToHex } from 'viem'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { PlacedTransaction } from '../../src/db/queries/ledger-transactions.ts'
import { unavailable } from '../../src/lib/errors.ts'
import { afterRefresh, awaitHead, awaitIndex, consistency } from '../../src/reads/freshness/consistency.ts'
import { fakeChain, hashAt } from '../support/fake-chain.ts'
import { fakeClient, openWaits } from '../support/fake-waits.ts'
import { outcomeAfter } from '../support/outcome-after.ts'

const HASH = keccak256('0x01')
const { client } = fakeClient()

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** A chain whose node has the receipts of `mined`: the block of each transaction, negative if it reverted. */
const open = (mined: Readonly<Record<string, number>> = {}, head = 100n) => {
  const state = { isDown: false, mined }
  const fake = fakeChain(
    ({ method, params: [hash] }) => {
      if (state.isDown) throw unavailable('no node answers')
      const block = state.mined[String(hash)]
      if (method !== 'eth_getTransactionReceipt' || block === undefined) return undefined
      const number = Math.abs(block)
      return {
        ...{ transactionHash: hash, blockNumber: numberToHex(number), blockHash: hashAt(number) },
        status: block < 0 ? '0x0' : '0x1',
      }
    },
    { head },
  )
  const head0 = fake.chain.head
  const heads: (bigint | undefined)[] = []
  const asks: (bigint | null)[] = []
  const chain = {
    ...fake.chain,
    head: async (atLeast?: bigint) => {
      heads.push(atLeast)
      if (state.isDown) throw unavailable('no node answers')
      return head0(atLeast)
    },
    ask: (block: bigint | null) => void asks.push(block),
  }
  return { ...openWaits([chain]), ...fake, chain, heads, asks, state }
}

type Opened = ReturnType<typeof open>

const onIndex = (opened: Opened, fields: object, options = {}) =>
  awaitIndex(opened.waits, client, [8453], { ...fields }, options)
const onHead = (opened: Opened, fields: object) => awaitHead(opened.waits, client, [8453], { ...fields })

describe('minBlock of an index', () => {
  test.each([
    [6n, 7],
    [7n, undefined],
    [8n, undefined],
  ])('at an index of block %i with a limit of 7 %s', async (tip, late) => {
    const opened = open()
    opened.tips.set(8453, tip)
    const found = await outcomeAfter(0, onIndex(opened, { minBlock: 7, waitMs: 0 }))
    expect(found).toEqual(
      late === undefined
        ? { block: 7n, isReverted: false }
        : `block 7 of chain 8453 is not indexed yet: the index is at block ${tip}`,
    )
  })

  test('needs no place when the index has the block, unless rows must be refreshed too', async () => {
    const opened = open()
    opened.tips.set(8453, 7n)
    const during = vi.spyOn(opened.waits, 'during')
    await onIndex(opened, { minBlock: 7 })
    expect(during).not.toHaveBeenCalled()
    await outcomeAfter(0, onIndex(opened, { minBlock: 7 }, { observed: true }))
    expect(during).toHaveBeenCalledTimes(1)
  })

  test('waits 3 s unless the request names another time, and names what the index has then', async () => {
    const opened = open()
    const [usual, short] = [onIndex(opened, { minBlock: 7 }), onIndex(opened, { minBlock: 7, waitMs: 500 })]
    expect(await outcomeAfter(499, short)).toBeUndefined()
    expect(await outcomeAfter(1, short)).toBe('block 7 of chain 8453 is not indexed yet: the index is at no block')
    expect(await outcomeAfter(2_499, usual)).toBeUndefined()
    expect(await outcomeAfter(1, usual)).toBe('block 7 of chain 8453 is not indexed yet: the index is at no block')
  })
})

describe('a wait of an index for a block', () => {
  test.each([99n, 100n])('asks the worker for the block at head %i', async (head) => {
    const opened = open({}, head)
    opened.tips.set(8453, 98n)
    await outcomeAfter(0, onIndex(opened, { minBlock: 100, waitMs: 0 }))
    expect(opened.asks).toEqual([100n])
    expect(opened.batches).toHaveLength(0)
  })

  test('asks for the oldest block of all waits, and for none that the index has', async () => {
    const opened = open()
    opened.tips.set(8453, 98n)
    const waiting = [104, 102, 103].map((minBlock) => onIndex(opened, { minBlock }))
    await outcomeAfter(500, Promise.all(waiting))
    expect(opened.asks.slice(1)).toEqual([102n])
    opened.commit(8453, 104n)
    await outcomeAfter(10, Promise.all(waiting))
    await outcomeAfter(0, onIndex(opened, { minBlock: 104, waitMs: 0 }, { observed: true }))
    expect(opened.asks).toHaveLength(2)
  })
})

describe('afterTx of an index', () => {
  test.each([
    ['the newest block of both', 90, 90n, 90n],
    ['a later block of the chain', 90, 90n, 100n],
    ['the first block', 0, 0n, 100n],
  ])('has the block of the transaction: %s', async (_, block, tip, head) => {
    const opened = open({ [HASH]: block }, head)
    opened.tips.set(8453, tip)
    expect(await outcomeAfter(0, onIndex(opened, { afterTx: HASH, waitMs: 0 }))).toMatchObject({
      block: BigInt(block),
      isReverted: false,
    })
  })

  test('reports a transaction that reverted', async () => {
    const opened = open({ [HASH]: -90 })
    opened.tips.set(8453, 95n)
    expect(await outcomeAfter(0, onIndex(opened, { afterTx: HASH, waitMs: 0 }))).toMatchObject({
      block: 90n,
      isReverted: true,
    })
  })

  test.each([
    ['is one block behind', { [HASH]: 90 }, 89n, 'block 90 of chain 8453 is not indexed yet: the index is at block 89'],
    [
      'has it and no node does',
      {},
      95n,
      `transaction ${HASH} is not in a block of any node of chain 8453 yet: the index is at block 95`,
    ],
    ['is on no block', { [HASH]: 0 }, undefined, 'block 0 of chain 8453 is not indexed yet: the index is at no block'],
  ])('is not there when the index %s', async (_, mined, tip, message) => {
    const opened = open(mined)
    if (tip !== undefined) opened.tips.set(8453, tip)
    expect(await outcomeAfter(0, onIndex(opened, { afterTx: HASH, waitMs: 0 }))).toBe(message)
  })

  test('is not there while the block of the index is on another fork than that of the node', async () => {
    const opened = open({ [HASH]: 90 })
    opened.tips.set(8453, 95n)
    const reached = opened.changes.reached(8453)
    vi.spyOn(opened.changes, 'reached').mockImplementation(
      () => reached && { ...reached, block: { ...reached.block, hash: keccak256('0x0a') } },
    )
    expect(await outcomeAfter(0, onIndex(opened, { afterTx: HASH, waitMs: 0 }))).toContain('is not indexed yet')
  })

  test('ends with the fault of the nodes when none answers', async () => {
    const opened = open()
    opened.state.isDown = true
    expect(await outcomeAfter(0, onIndex(opened, { afterTx: HASH, waitMs: 0 }))).toBe('no node answers')
  })

  test('needs one receipt when the index has its logs in the block of the receipt, and two more otherwise', async () => {
    // The head that the process knows is older than the receipt, as that of a quiet chain is.
    const opened = open({ [HASH]: 96 }, 95n)
    opened.tips.set(8453, 95n)
    const stored = new Set<Hex>()
    const asked: (readonly PlacedTransaction[])[] = []
    opened.ledger.read = async (transactions) => {
      if (transactions.length > 0) asked.push(transactions)
      return stored
    }
    const receipts = () => opened.calls('eth_getTransactionReceipt').length
    const batches = () => opened.batches.length
    const inLedger = onIndex(opened, { afterTx: HASH })
    expect(await outcomeAfter(0, inLedger)).toBeUndefined()
    stored.add(HASH)
    opened.commit(8453, 96n)
    expect(await outcomeAfter(10, inLedger)).toMatchObject({ block: 96n, isReverted: false })
    expect([receipts(), batches(), asked]).toEqual([1, 1, [[{ hash: HASH, block: 96n, blockHash: hashAt(96) }]]])
    // After a reorg it is in a later block.
    opened.node.head = 100n
    stored.clear()
    opened.state.mined = { [HASH]: 97 }
    opened.commit(8453, 95n)
    const moved = onIndex(opened, { afterTx: HASH })
    expect(await outcomeAfter(0, moved)).toBeUndefined()
    opened.commit(8453, 96n)
    expect(await outcomeAfter(10, moved)).toBeUndefined()
    expect(receipts()).toBe(2)
    opened.ledger.read = async () => {
      throw unavailable('the database does not answer')
    }
    opened.commit(8453, 97n)
    expect(await outcomeAfter(10, moved)).toMatchObject({ block: 97n })
    expect(receipts()).toBe(4)
  })

  test('is found in a later poll, every 250 ms', async () => {
    const opened = open()
    opened.tips.set(8453, 95n)
    const waiting = onIndex(opened, { afterTx: HASH })
    expect(await outcomeAfter(600, waiting)).toBeUndefined()
    expect(opened.calls('eth_getTransactionReceipt')).toHaveLength(3)
    opened.state.mined = { [HASH]: 95 }
    expect(await outcomeAfter(160, waiting)).toMatchObject({ block: 95n })
  })
})

describe('a read of the chain', () => {
  test.each([
    [99n, 'chain 8453 has not reached block 100 yet: the head is block 99'],
    [100n, { block: 100n, isReverted: false }],
    [101n, { block: 100n, isReverted: false }],
  ])('with minBlock=100 at head %i', async (head, expected) => {
    const opened = open({}, head)
    expect(await outcomeAfter(0, onHead(opened, { minBlock: 100, waitMs: 0 }))).toEqual(expected)
    expect(opened.heads[0]).toBe(100n)
  })

  test('does not count the index, which may be ahead of the nodes, while a node answers', async () => {
    const opened = open({}, 99n)
    opened.tips.set(8453, 100n)
    const found = await outcomeAfter(0, onHead(opened, { minBlock: 100, waitMs: 0 }))
    expect(found).toBe('chain 8453 has not reached block 100 yet: the head is block 99')
  })

  test('asks the worker for news while it waits for a block, and not for one that the head has reached', async () => {
    const opened = open({}, 99n)
    const waiting = onHead(opened, { minBlock: 100, waitMs: 5_000 })
    await outcomeAfter(0, waiting)
    expect(opened.asks).toEqual([null])
    expect(opened.batches).toHaveLength(0)
    opened.node.head = 100n
    expect(await outcomeAfter(1_000, waiting)).toEqual({ block: 100n, isReverted: false })
    await onHead(opened, { minBlock: 100 })
    expect(new Set(opened.asks)).toEqual(new Set([null]))
    const asked = opened.asks.length
    await outcomeAfter(0, onHead(opened, { afterTx: HASH, waitMs: 0 }))
    expect(opened.asks).toHaveLength(asked)
  })

  test('needs no place when the head is known to be high enough', async () => {
    const opened = open()
    const during = vi.spyOn(opened.waits, 'during')
    await onHead(opened, { minBlock: 100 })
    expect(during).not.toHaveBeenCalled()
  })

  test.each([
    [99n, 'no node answers'],
    [100n, { block: 100n, isReverted: false }],
  ])('without a node falls back to an index at block %i', async (tip, expected) => {
    const opened = open()
    opened.state.isDown = true
    opened.tips.set(8453, tip)
    expect(await outcomeAfter(0, onHead(opened, { minBlock: 100, waitMs: 0 }))).toEqual(expected)
  })

  test.each([
    [100, 100n, { block: 100n, isReached: true }],
    [-100, 101n, { block: 100n, isReverted: true }],
  ])('after the transaction of block %i at head %i', async (block, head, expected) => {
    const opened = open({ [HASH]: block }, head)
    expect(await outcomeAfter(0, onHead(opened, { afterTx: HASH, waitMs: 0 }))).toMatchObject(expected)
  })

  test('after a transaction above the head is a 503 with both blocks', async () => {
    const opened = open({ [HASH]: 101 })
    opened.tips.set(8453, 101n)
    expect(await outcomeAfter(0, onHead(opened, { afterTx: HASH, waitMs: 0 }))).toBe(
      'block 101 of chain 8453 cannot be read yet: the newest answer is as of block 100',
    )
  })

  test('asks the nodes again for a transaction that was above the head', async () => {
    const opened = open({ [HASH]: 101 })
    const wait = () => outcomeAfter(0, onHead(opened, { afterTx: HASH, waitMs: 0 }))
    expect(await wait()).toContain('block 101 of chain 8453 cannot be read yet')
    opened.node.head = 101n
    expect(await wait()).toMatchObject({ block: 101n })
  })

  test('after an unknown transaction is a 503 with the head', async () => {
    expect(await outcomeAfter(0, onHead(open(), { afterTx: HASH, waitMs: 0 }))).toBe(
      `transaction ${HASH} is not in a block of any node of chain 8453 yet: the head is block 100`,
    )
  })
})

describe.each([
  ['of the index', awaitIndex],
  ['of the chain', awaitHead],
] as const)('a read %s', (_, wait) => {
  test('without a requirement does not wait', async () => {
    const { waits } = open()
    expect(await wait(waits, client, [8453, 56], { waitMs: 5 })).toBeNull()
  })

  test('rejects both requirements at once, no chain, and several', async () => {
    const { waits } = open()
    const both = wait(waits, client, [8453], { minBlock: 1, afterTx: HASH })
    await expect(both).rejects.toMatchObject({ code: 'validation_error', details: [{ path: 'afterTx' }] })
    for (const chains of [[], [8453, 56]] as const) {
      const many = wait(waits, client, chains, { minBlock: 1 })
      await expect(many).rejects.toMatchObject({ code: 'validation_error', details: [{ path: 'chainId' }] })
    }
  })
})

test('the field with the chains is named as the route names it', async () => {
  const { waits } = open()
  const many = awaitIndex(waits, client, [8453, 56], { minBlock: 1 }, { chainField: 'chainIds' })
  await expect(many).rejects.toMatchObject({ details: [{ path: 'chainIds' }] })
})

test.each([
  ['0', 0],
  ['10000', 10_000],
  ['10001', null],
  ['-1', null],
  ['1e3', null],
  ['000001', null],
  ['', null],
])('waitMs=%s', (text, expected) => {
  const parsed = consistency.waitMs.safeParse(text)
  expect(parsed.success ? parsed.data : null).toBe(expected)
})

describe('rows that must be refreshed', () => {
  const late = (cause: string) => `entities changed by ${cause} are not refreshed yet: try again`

  /** Whether a wait for block 90 ends, at a state of the refresh queue and with a newest known change. */
  const ends = async (oldestBlock: bigint | null, newestChange: number, knownChange: number) => {
    const opened = open()
    opened.tips.set(8453, 90n)
    opened.queue.read = async () => ({ oldestBlock, newestChange })
    vi.spyOn(opened.changes, 'position').mockReturnValue(knownChange)
    return outcomeAfter(0, onIndex(opened, { minBlock: 90, waitMs: 0 }, { observed: true }))
  }
  const found = { block: 90n, isReverted: false }

  test.each([
    ['nothing waits', null, 5, 5, found],
    ['later blocks wait', 91n, 5, 5, found],
    ['its block waits', 90n, 5, 5, late('block 90 of chain 8453')],
    ['an earlier block waits', 1n, 5, 5, late('block 90 of chain 8453')],
    ['this process does not know the last change', null, 5, 4, late('block 90 of chain 8453')],
    ['this process knows a later change', null, 5, 6, found],
  ])('are awaited: %s', async (_, oldestBlock, newestChange, knownChange, expected) => {
    expect(await ends(oldestBlock, newestChange, knownChange)).toEqual(expected)
  })

  test('are those of the blocks indexed when the wait began, and not of later ones', async () => {
    const opened = open()
    opened.tips.set(8453, 90n)
    opened.queue.read = async () => ({ oldestBlock: 90n, newestChange: 0 })
    const waiting = onIndex(opened, { minBlock: 90 }, { observed: true })
    expect(await outcomeAfter(150, waiting)).toBeUndefined()
    opened.commit(8453, 95n)
    opened.queue.read = async () => ({ oldestBlock: 91n, newestChange: 0 })
    expect(await outcomeAfter(100, waiting)).toEqual(found)
  })

  test('are those up to the change that the end of the queue had, and not up to later changes', async () => {
    const opened = open()
    opened.tips.set(8453, 90n)
    opened.queue.read = async () => ({ oldestBlock: null, newestChange: 5 })
    const waiting = onIndex(opened, { minBlock: 90 }, { observed: true })
    expect(await outcomeAfter(10, waiting)).toBeUndefined()
    opened.queue.read = async () => ({ oldestBlock: null, newestChange: 9 })
    opened.known.position = 5
    expect(await outcomeAfter(200, waiting)).toEqual(found)
  })

  const read = (...answers: (readonly 8453[])[]) => {
    const left = [...answers]
    return vi.fn(async () => ({ refreshing: left.shift() ?? [] }))
  }

  test('after a rollback are read once when nothing is missing, and again once the queue is processed', async () => {
    const opened = open()
    const once = read([])
    await afterRefresh(opened.waits, client, once)
    expect(once).toHaveBeenCalledTimes(1)

    const twice = read([8453], [])
    opened.tips.set(8453, 90n)
    opened.queue.read = async () => ({ oldestBlock: 1n, newestChange: 0 })
    const waiting = afterRefresh(opened.waits, client, twice)
    expect(await outcomeAfter(2_900, waiting)).toBeUndefined()
    expect(twice).toHaveBeenCalledTimes(1)
    opened.queue.read = async () => ({ oldestBlock: null, newestChange: 0 })
    expect(await outcomeAfter(100, waiting)).toEqual({ refreshing: [] })
    expect(twice).toHaveBeenCalledTimes(2)
  })

  test('after a rollback are a 503 after 3 s', async () => {
    const opened = open()
    opened.tips.set(8453, 90n)
    opened.queue.read = async () => ({ oldestBlock: 1n, newestChange: 0 })
    const waiting = afterRefresh(opened.waits, client, read([8453]))
    expect(await outcomeAfter(2_950, waiting)).toBeUndefined()
    expect(await outcomeAfter(100, waiting)).toBe(late('a reorg of chain 8453'))
  })
})
