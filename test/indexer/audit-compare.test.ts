import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import type { AuditedRow, IndexedRows } from '../../src/db/index/audit/rows.ts'
import { observationRows } from '../../src/db/index/observations.ts'
import { compareRows } from '../../src/indexer/audit/compare.ts'
import { Failure } from '../support/script.ts'
import { blockOf, type Plan, seedRows, seedToken } from '../support/seed-index.ts'
import { seededChain } from '../support/seeded-chain.ts'

/* The comparison of rows with a chain in memory, without a database. */

const log = pino({ level: 'silent' })
const block = blockOf(10n)
const plan: Plan = { token: seedToken, rowsABlock: 2, wallets: 7, events: 5 }
/** Event 4 is settled. */
const rows = seedRows(plan, { events: 5, deposits: 3, positions: 3 })
const seen = {
  events: rows.events.map((it) => it.seen),
  deposits: rows.deposits.map((it) => it.seen),
  positions: rows.positions.map((it) => it.seen),
  protocol: null,
}
const observed = observationRows(8453, block, seen)

const mapOf = (all: readonly AuditedRow[]): Map<bigint, AuditedRow> => new Map(all.map((it) => [Object(it).id, it]))

const settlement = { type: 'settled', settledAt: 1_800_000_123n, triggered: false, settlementPrice: 12_500_000n }

/** The whole index as it is when it equals the chain, with changes. */
const indexOf = (changed: Partial<IndexedRows['rows']> = {}, own: Partial<IndexedRows> = {}): IndexedRows => ({
  anchor: block,
  rows: {
    events: mapOf(rows.events.map(({ fact, seen }) => ({ ...fact, paymentToken: seen.paymentToken }))),
    deposits: mapOf(rows.deposits.map((it) => it.fact)),
    positions: mapOf(rows.positions.map((it) => it.fact)),
    event_observations: mapOf(observed.events),
    deposit_observations: mapOf(observed.deposits),
    position_observations: mapOf(observed.positions),
    settlements: new Map([[4n, settlement]]),
    ...changed,
  },
  waiting: new Set(),
  ...own,
})

type Views = NonNullable<Parameters<typeof seededChain>[1]>['views']

const compare = async (
  kind: 'event' | 'deposit' | 'position',
  ids: readonly bigint[],
  index: IndexedRows = indexOf(),
  views: Views = {},
) => {
  const found = await compareRows({ chain: seededChain(rows, { views }).chain, log }, kind, ids, index)
  const all = found.differences.map(({ id, created, observed }) => ({ id, created, observed }))
  return { ...found, all, shown: all.flatMap((it) => [...it.created, ...it.observed]) }
}

const without = <T>(map: ReadonlyMap<bigint, T>, id: bigint): Map<bigint, T> =>
  new Map([...map].filter(([key]) => key !== id))
const changedIn = (map: ReadonlyMap<bigint, AuditedRow> | undefined, id: bigint, change: object) =>
  new Map([...(map ?? [])].map(([key, row]) => [key, key === id ? { ...row, ...change } : row]))

test('equal rows have no difference, and are counted by table with their compared values', async () => {
  const found = await compare('event', [3n, 4n, 5n, 6n])
  expect(found).toMatchObject({ shown: [], onChain: 3, waiting: [], unreadable: [] })
  expect(found.counts).toMatchObject({ events: { rows: 3 }, event_observations: { rows: 3 }, settlements: { rows: 1 } })
})

describe('a settlement', () => {
  const of = async (row: object | undefined) =>
    (
      await compare(
        'event',
        [3n, 4n],
        indexOf({ settlements: new Map(row && Object.entries(row).map(([id, it]) => [BigInt(id), it])) }),
      )
    ).shown

  test.each([
    ['that only the chain has', {}, ['settlements 4 is missing in the index']],
    [
      'with another time',
      { 4: { ...settlement, settledAt: 1n } },
      ['settlements 4: settledAt is 1 in the index, 1800000123 on the chain'],
    ],
    [
      'that was reverted in the index alone',
      { 4: { ...settlement, type: 'reverted' } },
      ['settlements 4: type is reverted in the index, settled on the chain'],
    ],
    ['that was reverted', { 3: { ...settlement, type: 'reverted' }, 4: settlement }, []],
    [
      'that only the index has',
      { 3: settlement, 4: settlement },
      ['settlements 3: type is settled in the index, reverted on the chain'],
    ],
  ])('%s', async (_, settlements, expected) => {
    expect(await of(settlements)).toEqual(expected)
  })

  test('is compared for events alone', async () => {
    const settlements = new Map([[2n, settlement]])
    expect((await compare('deposit', [2n], indexOf({ settlements }))).shown).toEqual([])
  })
})

describe('an entity of the refresh queue', () => {
  const { deposits, deposit_observations: observations } = indexOf().rows
  const waiting = new Set([1n, 2n])

  test('waits when its observation differs, and is none when it does not', async () => {
    const wrong = changedIn(observations, 2n, { pending: 9n })
    const found = await compare('deposit', [1n, 2n, 3n], indexOf({ deposit_observations: wrong }, { waiting }))
    expect(found).toMatchObject({ waiting: [2n], all: [] })
    expect((await compare('deposit', [1n, 2n, 3n], indexOf({ deposit_observations: wrong }))).waiting).toEqual([])
  })

  test('differs by its fact, and not by its observation', async () => {
    const wrong = changedIn(observations, 2n, { pending: 9n })
    const index = indexOf(
      { deposits: changedIn(deposits, 2n, { amount: 9n }), deposit_observations: wrong },
      { waiting },
    )
    const found = await compare('deposit', [1n, 2n, 3n], index)
    expect(found.waiting).toEqual([2n])
    expect(found.all).toEqual([
      {
        id: 2n,
        created: ['deposits 2: amount is 9 in the index, 2000 on the chain'],
        observed: [],
      },
    ])
  })
})

describe('rows', () => {
  const { deposits, deposit_observations: observations } = indexOf().rows

  test('that the index lacks', async () => {
    const lost = indexOf({
      deposits: without(deposits ?? new Map(), 1n),
      deposit_observations: without(observations ?? new Map(), 3n),
    })
    const found = await compare('deposit', [1n, 2n, 3n, 4n], lost)
    expect(found.shown).toEqual([
      'deposits 1 is missing in the index',
      'deposit_observations 3 is missing in the index',
    ])
    expect(found).toMatchObject({ onChain: 3, counts: { deposits: { rows: 2 }, deposit_observations: { rows: 2 } } })
    expect(found.differences.map(({ row, record }) => [row === null, record?.id])).toEqual([
      [true, 1n],
      [false, 3n],
    ])
  })

  test('that the chain lacks are differences of the fact alone', async () => {
    const found = await compare('deposit', [1n, 2n], indexOf(), { getHedgeLpDeposit: () => undefined })
    expect(found.shown).toEqual([1, 2].map((id) => `deposits ${id} is not on the chain`))
    expect(found).toMatchObject({ onChain: 0, unreadable: [], counts: { deposits: { rows: 0 } } })
    expect(found.differences.map(({ record }) => record)).toEqual([null, null])
  })

  test('with a view that reverts are unreadable, and their facts are compared', async () => {
    const index = indexOf({ deposits: changedIn(deposits, 1n, { amount: 9n }) })
    const reverts = { pendingPremiums: () => new Failure(3, 'execution reverted') }
    const found = await compare('deposit', [1n, 2n], index, reverts)
    expect(found.shown).toEqual(['deposits 1: amount is 9 in the index, 1000 on the chain'])
    expect(found).toMatchObject({
      ...{ onChain: 2, unreadable: [1n, 2n] },
      counts: { deposits: { rows: 2 }, deposit_observations: { rows: 0, values: 0 } },
    })
  })

  test('of events with another token than on the chain differ by it, and the token waits with the observation', async () => {
    const wrong = indexOf({ events: changedIn(indexOf().rows.events, 2n, { paymentToken: null }) })
    const found = await compare('event', [1n, 2n], wrong)
    const token = rows.events[1]?.seen.paymentToken
    const observed = [`events 2: paymentToken is null in the index, ${token} on the chain`]
    expect(found.all).toEqual([{ id: 2n, created: [], observed }])
    expect(await compare('event', [1n, 2n], { ...wrong, waiting: new Set([2n]) })).toMatchObject({
      waiting: [2n],
      all: [],
    })
  })
})
