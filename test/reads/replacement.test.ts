import { type Hex, keccak256, numberToHex } from 'viem'
import { describe, expect, test } from 'vitest'
import { unavailable } from '../../src/lib/errors.ts'
import { createReplacements, createSenders, isNonceUsed } from '../../src/reads/transactions/replacement.ts'
import { type Asked, fakeChain, hashAt } from '../support/fake-chain.ts'
import { rawTransaction, SENDER } from '../support/fake-lookup.ts'
import { Failure } from '../support/script.ts'

const HEAD = 10_000
const BY = keccak256('0x02')
const sender = { from: SENDER, nonce: 7n }
const never = new AbortController().signal

/** A chain on which the nonce was used in one block. `first` is the oldest block with state. */
const open = ({ usedIn = HEAD, first = 0, head = HEAD, by = BY as Hex | null } = {}) => {
  const state = { usedIn, by, blockHash: hashAt(usedIn), fault: null as unknown, clock: 1 }
  const nonceAt = (tag: unknown): unknown => {
    if (tag === 'latest') return '0x8'
    if (Number(tag) < first) return new Failure(-32_000, 'missing trie node 5f (path )')
    return Number(tag) >= state.usedIn ? '0x8' : '0x7'
  }
  const answer = ({ method, params: [number, full] }: Asked): unknown => {
    if (state.fault !== null) throw state.fault
    if (method === 'eth_getTransactionCount') return nonceAt(full)
    if (method !== 'eth_getBlockByNumber' || Number(number) !== state.usedIn) return undefined
    const transactions = [
      rawTransaction(keccak256('0x03'), { nonce: '0x6' }),
      rawTransaction(keccak256('0x04'), { from: `0x${'22'.repeat(20)}` }),
      ...(state.by === null ? [] : [rawTransaction(state.by, { from: SENDER.toUpperCase().replace('X', 'x') })]),
    ]
    return { number, hash: state.blockHash, timestamp: '0x1', ...(full === true && { transactions }) }
  }
  const fake = fakeChain(answer, { head: BigInt(head) })
  const replacementOf = createReplacements(() => state.clock)
  const read = () => replacementOf(fake.chain, sender)
  const searches = () => fake.batches.filter((batch) => batch.some(({ params }) => params[1] === true)).length
  return { ...fake, state, read, searches }
}

describe('the transaction that used a nonce', () => {
  test.each([
    ['the newest block', HEAD, BY],
    ['the block before it', HEAD - 1, BY],
    ['the 16th newest block', HEAD - 15, BY],
    ['an old block', HEAD - 1_234, BY],
    ['the oldest block that is searched', HEAD - 4_095, BY],
    ['an older block, so that it is the oldest block that seems to have used it', HEAD - 4_096, null],
  ])('is found in %s', async (_, usedIn, expected) => {
    const { read, batches } = open({ usedIn })
    expect(await read()).toBe(expected)
    // The count at the head, four rounds of the search at most, and the block.
    expect(batches.length).toBeLessThanOrEqual(6)
    for (const batch of batches) expect(batch.length).toBeLessThanOrEqual(15)
  })

  test.each([
    [4_096, 0, BY],
    [4_096, 4_096, BY],
    [4_097, 1, null],
    [4_097, 2, BY],
    [0, 0, BY],
    [1, 0, BY],
    [30, 20, BY],
  ])('on a chain with head %i is found in block %i', async (head, usedIn, expected) => {
    const { read, batches } = open({ usedIn, head })
    expect(await read()).toBe(expected)
    for (const batch of batches) expect(batch.length).toBeLessThanOrEqual(15)
  })

  test('is searched up to the newest head, not to the one that reads have cached', async () => {
    const { chain } = open()
    const heads: unknown[] = []
    const head: typeof chain.head = (atLeast) => {
      heads.push(atLeast)
      return chain.head()
    }
    await createReplacements()({ ...chain, head }, sender)
    expect(heads).toEqual([2n ** 63n])
  })

  test.each([
    ['is newer than the oldest state', HEAD - 100, HEAD - 200, BY],
    ['is the block after the oldest state', HEAD - 199, HEAD - 200, BY],
    ['is older than the oldest state', HEAD - 300, HEAD - 200, null],
  ])('is known when its block %s', async (_, usedIn, first, expected) => {
    expect(await open({ usedIn, first }).read()).toBe(expected)
  })

  test('is not known yet when it is in a block after the head', async () => {
    const { read, searches } = open({ usedIn: HEAD + 1 })
    expect(await read()).toBeUndefined()
    expect(searches()).toBe(0)
  })

  test.each([
    [
      'a count',
      (asked: Asked) => asked.method === 'eth_getTransactionCount' && asked.params[1] === numberToHex(HEAD - 1),
    ],
    ['the count at the head', (asked: Asked) => asked.params[1] === numberToHex(HEAD)],
    ['the block', (asked: Asked) => asked.params[1] === true],
  ])('is not known yet while no node returns %s', async (_, isRefused) => {
    const { chain } = open({ usedIn: HEAD - 1 })
    const refusing = fakeChain(
      (asked) => {
        if (isRefused(asked)) return new Failure(-32_000, 'internal error')
        return asked.method === 'eth_getTransactionCount'
          ? Number(asked.params[1]) >= HEAD - 1
            ? '0x8'
            : '0x7'
          : undefined
      },
      { head: BigInt(HEAD) },
    )
    expect(await createReplacements()({ ...chain, send: refusing.chain.send }, sender)).toBeUndefined()
  })

  test('is not known yet while no node answers, and an unexpected error is reported', async () => {
    const { state, read } = open()
    state.fault = unavailable('no node answers')
    expect(await read()).toBeUndefined()
    state.fault = new TypeError('not expected')
    await expect(read()).rejects.toThrow('not expected')
    state.fault = null
    expect(await read()).toBe(BY)
  })
})

describe('a replacement that was found', () => {
  test('is kept while the chain has its block', async () => {
    const { state, read, searches } = open()
    expect([await read(), await read()]).toEqual([BY, BY])
    state.clock += 1_000_000
    expect(await read()).toBe(BY)
    expect(searches()).toBe(1)
  })

  test('is searched again when a reorg replaced its block', async () => {
    const { state, read, searches } = open()
    await read()
    const next = keccak256('0x05')
    Object.assign(state, { by: next, blockHash: keccak256('0x0a') })
    expect(await read()).toBe(next)
    expect(searches()).toBe(2)
  })

  test.each([
    [4_999, 1],
    [5_001, 2],
  ])('is searched again after 5 s when it is not known: after %i ms there were %i searches', async (ms, times) => {
    const { state, read, searches } = open({ by: null })
    expect(await read()).toBeNull()
    state.clock += ms
    expect(await read()).toBeNull()
    expect(searches()).toBe(times)
  })

  test('is of one chain, sender and nonce, and searched once by concurrent look-ups', async () => {
    const { chain, searches } = open()
    const replacementOf = createReplacements()
    await Promise.all([replacementOf(chain, sender), replacementOf(chain, sender)])
    expect(searches()).toBe(1)
    await replacementOf({ ...chain, chainId: 56 }, sender)
    expect(searches()).toBe(2)
    await replacementOf(chain, { ...sender, from: `0x${'22'.repeat(20)}` })
    expect(searches()).toBe(3)
    const later = replacementOf(chain, { ...sender, nonce: 8n })
    expect(await later).toBeUndefined()
  })
})

test.each([
  [6n, true],
  [7n, true],
  [8n, false],
])('with 8 mined transactions the nonce %i is used: %s', async (nonce, expected) => {
  const { chain, calls } = open()
  expect(await isNonceUsed(chain, { from: SENDER, nonce }, never)).toBe(expected)
  expect(calls('eth_getTransactionCount').map(({ params }) => params)).toEqual([[SENDER, 'latest']])
})

test('a nonce counts as free while nodes refuse', async () => {
  const { chain } = fakeChain(() => new Failure(-32_000, 'refused'))
  expect(await isNonceUsed(chain, sender, never)).toBe(false)
})

test('the senders of the last 20,000 transactions are kept, by chain', () => {
  const senders = createSenders()
  const hashOf = (nth: number): Hex => numberToHex(nth, { size: 32 })
  for (let nth = 0; nth <= 20_000; nth += 1) senders.keep(8453, hashOf(nth), { from: SENDER, nonce: BigInt(nth) })
  expect(senders.get(8453, hashOf(0))).toBeUndefined()
  expect(senders.get(8453, hashOf(1))).toEqual({ from: SENDER, nonce: 1n })
  expect(senders.get(56, hashOf(1))).toBeUndefined()
  senders.keep(56, hashOf(1), { from: SENDER, nonce: 5n })
  expect([senders.get(56, hashOf(1))?.nonce, senders.get(8453, hashOf(3))?.nonce]).toEqual([5n, 3n])
})
