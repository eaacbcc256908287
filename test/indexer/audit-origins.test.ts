import { describe, expect, test } from 'vitest'
import type { AuditedRow, IndexedRows } from '../../src/db/index/audit/rows.ts'
import { observationRows } from '../../src/db/index/observations.ts'
import { compareOrigins } from '../../src/indexer/audit/origins.ts'
import { blockOf, type Plan, seedRows, seedToken } from '../support/seed-index.ts'
import { seededChain } from '../support/seeded-chain.ts'

/* The comparison of rows with their logs and blocks, without a database. */

const plan: Plan = { token: seedToken, rowsABlock: 2, wallets: 7, events: 3 }
/** Deposits 1 and 2 are of block 1, 3 and 4 of block 2, and so on. */
const rows = seedRows(plan, { events: 3, deposits: 120, positions: 3 })
const head = blockOf(60n)
/** The block of the observations. */
const seenAt = blockOf(58n)

const mapOf = (all: readonly AuditedRow[]): Map<bigint, AuditedRow> => new Map(all.map((it) => [Object(it).id, it]))
const seen = {
  events: rows.events.map((it) => it.seen),
  deposits: rows.deposits.map((it) => it.seen),
  positions: [],
  protocol: null,
}
const observed = observationRows(8453, seenAt, seen)

type Options = NonNullable<Parameters<typeof seededChain>[1]>

/** Compares some deposits, of which the index has these rows. */
const compare = async (
  ids: readonly bigint[],
  {
    fact = {},
    observation = {},
    ...options
  }: Options & { readonly fact?: object; readonly observation?: object; readonly anchor?: typeof head } = {},
) => {
  const pick = (all: readonly AuditedRow[], changed: object) =>
    mapOf(all.filter((it) => ids.includes(Object(it).id)).map((it) => ({ ...it, ...changed })))
  const indexed: IndexedRows = {
    anchor: head,
    rows: {
      deposits: pick(
        rows.deposits.map((it) => it.fact),
        fact,
      ),
      deposit_observations: pick(observed.deposits, observation),
    },
    waiting: new Set(),
  }
  const fake = seededChain(rows, { head, ...options })
  const found = await compareOrigins(fake.chain, 'deposit', indexed)
  return { ...found, ...fake, shown: Object.fromEntries([...found.differences].map(([id, all]) => [String(id), all])) }
}

test('equal origins have no difference, and count their values', async () => {
  const found = await compare([1n, 2n, 3n])
  expect(found).toMatchObject({ shown: {}, withoutLog: 0, unconfirmed: [] })
  expect(found.counts).toEqual({
    deposits: { rows: 3, values: 15 },
    deposit_observations: { rows: 0, values: 9 },
  })
})

test('logs are read in ranges of the width of an answer, from and up to blocks with rows', async () => {
  // Blocks 1, 2, 4, 5 and 8.
  const ids = [16n, 1n, 2n, 3n, 8n, 9n]
  expect((await compare(ids, { range: 4n })).ranges).toEqual([
    [1n, 4n],
    [5n, 8n],
  ])
  expect((await compare(ids, { range: 3n })).ranges).toEqual([
    [1n, 2n],
    [4n, 5n],
    [8n, 8n],
  ])
  expect((await compare(ids, { logWidth: () => null })).ranges).toEqual([1n, 2n, 4n, 5n, 8n].map((at) => [at, at]))
})

test('a shorter answer is continued after its last block', async () => {
  const { ranges, shown, unconfirmed } = await compare([1n, 5n, 9n], { range: 2n, logWidth: () => 5n })
  expect(ranges).toEqual([
    [1n, 5n],
    [3n, 5n],
    [5n, 5n],
  ])
  expect([shown, unconfirmed]).toEqual([{}, []])
})

test.each([
  [99, [99], [99]],
  [100, [99, 1], [99, 1]],
  [199, [99, 99, 1], [99, 99, 1]],
])('%i blocks and transactions are read in batches of 99', async (count, headers, receipts) => {
  // Each deposit has a block of its own, in which its log is not.
  const many = seedRows({ ...plan, rowsABlock: 1 }, { deposits: count })
  const moved = mapOf(many.deposits.map(({ fact }) => ({ ...fact, blockNumber: fact.blockNumber + 500n })))
  const anchor = blockOf(1_000n)
  const fake = seededChain(many, { head: anchor })
  const indexed: IndexedRows = { anchor, rows: { deposits: moved }, waiting: new Set() }
  const { differences } = await compareOrigins(fake.chain, 'deposit', indexed)
  expect(differences.size).toBe(count)
  const of = (method: string) =>
    fake.batches.map((batch) => batch.filter((it) => it.method === method).length).filter((size) => size > 0)
  expect(of('eth_getTransactionReceipt')).toEqual(receipts)
  // The first request is for the dates, of which there are none. Each has the block of the index too.
  expect(of('eth_getBlockByNumber')).toEqual([0, ...headers].map((size) => size + 1))
})

describe('a row', () => {
  test('without a log is counted and not compared', async () => {
    const found = await compare([1n], { fact: { txHash: null, logIndex: null, blockNumber: 3n } })
    expect(found).toMatchObject({ shown: {}, withoutLog: 1, unconfirmed: [], ranges: [] })
    expect(found.counts.deposits).toEqual({ rows: 0, values: 0 })
  })

  test('whose log is not in its block is searched for in the block of its transaction', async () => {
    const found = await compare([1n], { fact: { blockNumber: 3n } })
    expect(found.ranges).toEqual([
      [3n, 3n],
      [1n, 1n],
    ])
    expect(found.shown).toEqual({ 1: ['deposits 1: blockNumber is 3 in the index, 1 on the chain'] })
  })

  test('whose block is above that of the index is searched for by its transaction alone', async () => {
    const found = await compare([1n], { fact: { blockNumber: 61n } })
    expect(found.ranges).toEqual([[1n, 1n]])
    expect(found.shown).toEqual({ 1: ['deposits 1: blockNumber is 61 in the index, 1 on the chain'] })
    expect((await compare([120n], {})).ranges).toEqual([[60n, 60n]])
  })

  test('whose log no node has is unconfirmed', async () => {
    const lost = [rows.deposits[1]?.fact.txHash]
    const found = await compare([1n, 2n], { lost })
    expect(found).toMatchObject({ shown: {}, unconfirmed: [2n], withoutLog: 0 })
    expect(found.counts.deposits).toEqual({ rows: 1, values: 5 })
  })

  test.each([
    ['logIndex', 7, 2_000],
    ['txHash', `0x${'07'.repeat(32)}`, rows.deposits[0]?.fact.txHash],
    ['blockHash', `0x${'07'.repeat(32)}`, blockOf(1n).hash],
    ['blockTimestamp', 7n, blockOf(1n).timestamp],
  ])('with a wrong %s differs by it', async (column, wrong, right) => {
    const { shown } = await compare([1n], { fact: { [column]: wrong } })
    expect(shown).toEqual({ 1: [`deposits 1: ${column} is ${wrong} in the index, ${right} on the chain`] })
  })
})

describe('an observation', () => {
  test.each<[string, object, readonly string[]]>([
    [
      'of another number than its block',
      { blockNumber: 57n },
      ['deposit_observations 1: blockNumber is 57 in the index, 58 on the chain'],
    ],
    [
      'of an unknown block',
      { blockHash: `0x${'07'.repeat(32)}` },
      [`deposit_observations 1: blockHash is 0x${'07'.repeat(32)} in the index, ${seenAt.hash} on the chain`],
    ],
    [
      'of a block above that of the index',
      { blockNumber: 61n, blockHash: `0x${'07'.repeat(32)}`, blockTimestamp: 7n },
      [
        `deposit_observations 1: blockHash is 0x${'07'.repeat(32)} in the index, undefined on the chain`,
        'deposit_observations 1: blockTimestamp is 7 in the index, undefined on the chain',
      ],
    ],
    [
      'with a wrong time',
      { blockTimestamp: 7n },
      [`deposit_observations 1: blockTimestamp is 7 in the index, ${seenAt.timestamp} on the chain`],
    ],
    ['of the block of the index', { blockNumber: 60n, blockHash: head.hash, blockTimestamp: head.timestamp }, []],
  ])('%s', async (_, observation, expected) => {
    const { shown } = await compare([1n], { observation })
    expect(shown).toEqual(expected.length === 0 ? {} : { 1: expected })
  })

  test('has its differences after those of its fact', async () => {
    const { shown } = await compare([1n], { fact: { logIndex: 7 }, observation: { blockTimestamp: 7n } })
    expect(shown['1']?.map((text) => text.split(':')[0])).toEqual(['deposits 1', 'deposit_observations 1'])
  })

  test('is compared without logs too', async () => {
    const status = () => ({ endpoints: [], halted: false, hasLogs: false })
    const found = await compare([1n], { status, fact: { logIndex: 7 }, observation: { blockTimestamp: 7n } })
    expect(found.shown['1']).toHaveLength(1)
    expect([found.ranges, found.counts]).toEqual([[], { deposit_observations: { rows: 0, values: 3 } }])
  })
})

describe('the settlement of an event', () => {
  const compareEvents = async (settlements: ReadonlyMap<bigint, AuditedRow>) => {
    const indexed: IndexedRows = {
      anchor: head,
      rows: {
        events: mapOf(rows.events.map((it) => it.fact)),
        event_observations: mapOf(observed.events),
        settlements,
      },
      waiting: new Set(),
    }
    return compareOrigins(seededChain(rows, { head }).chain, 'event', indexed)
  }

  test.each([
    ['settled', ['settlements 1: blockHash is 0x07 in the index, undefined on the chain']],
    // The block of a settlement that was reverted may be orphaned.
    ['reverted', []],
  ])('%s', async (type, expected) => {
    const row = { type, blockNumber: 61n, blockHash: '0x07' }
    const { differences, counts } = await compareEvents(new Map([[1n, row]]))
    expect([...differences.values()].flat()).toEqual(expected)
    expect(counts.settlements?.values ?? 0).toBe(expected.length * 2)
  })

  test('of an event that differs too is described after it', async () => {
    const wrong = mapOf(observed.events.map((it) => ({ ...it, blockTimestamp: 7n })))
    const indexed = {
      anchor: head,
      rows: {
        event_observations: wrong,
        settlements: new Map([[1n, { type: 'settled', blockNumber: 61n, blockHash: '0x07' }]]),
      },
      waiting: new Set<bigint>(),
    }
    const { differences } = await compareOrigins(seededChain(rows, { head }).chain, 'event', indexed)
    expect(differences.get(1n)?.map((text) => text.split(':')[0])).toEqual(['event_observations 1', 'settlements 1'])
  })
})

test('a block of the index that was replaced, or of which no node knows, ends the comparison', async () => {
  const { chain } = seededChain(rows, { head })
  const indexed = (anchor: typeof head): IndexedRows => ({ anchor, rows: {}, waiting: new Set() })
  await expect(compareOrigins(chain, 'deposit', indexed(blockOf(60n, 1)))).rejects.toThrow(
    'block 60 of chain 8453 was replaced by a reorg that the index has not followed yet',
  )
  expect((await compareOrigins(chain, 'deposit', indexed(head))).differences.size).toBe(0)
})
