import { getTableColumns } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { type ListRow, rowReader } from '../../../src/db/queries/rows.ts'
import * as tables from '../../../src/db/schema/records.ts'
import { entityTables } from '../../../src/db/stored.ts'
import { unavailable } from '../../../src/lib/errors.ts'
import type { Fact } from '../../../src/protocol/abi/logs.ts'
import type { Kind } from '../../../src/protocol/entities.ts'
import { profiles } from '../../../src/protocol/profiles.ts'
import * as record from '../../../src/protocol/records.ts'
import type { Inclusion } from '../../../src/protocol/rows.ts'
import type { DepositRow, EventRow, PositionRow } from '../../../src/reads/lists/records.ts'
import { rowsOf } from '../../../src/reads/lists/rows.ts'
import type { ListSources } from '../../../src/reads/lists/sources.ts'
import { endings, listSources } from '../../support/list-sources.ts'
import { blockOf, seedDeposit, seedEvent, seedPosition, seedToken } from '../../support/seed-index.ts'

/* Rows of lists that are made from columns as PostgreSQL returns them. */

const TIME = blockOf(70n).timestamp
const OTHER_TOKEN = '0x000000000000000000000000000000000000dEaD'
const plan = { token: seedToken, wallets: 10, events: 3, rowsABlock: 5 } as const
/** Event 1 is open; position 3 and deposit 3 are of it. */
const event = seedEvent(1, plan)
const deposit = seedDeposit(3, { ...plan, events: 1 })
const position = seedPosition(3, { ...plan, events: 1 })

/** Reads of rows whose chains no node returns, with what is asked of tokens and of the engine. */
const open = () => {
  const { sources } = listSources({})
  for (const chain of sources.chains.values())
    Object.assign(chain, { pinned: () => Promise.reject(unavailable('no node is in reach')) })
  const asked: unknown[][] = []
  const ask = async (...given: unknown[]) => {
    asked.push(given)
    return { token: given[1], symbol: 'ASKED', decimals: 9 }
  }
  const valued: unknown[] = []
  const values: ListSources['pricing']['values'] = async ({ ranges }) => {
    valued.push(...ranges)
    const value = { rate: 0.01, spotFixed6: '12000000', spotDate: '2026-12-01' }
    return {
      asOf: Number(TIME),
      values: ranges.map(() => ({ ...value, stale: true, synthetic: false, usdRateFallback: false })),
    }
  }
  Object.assign(sources.lists, { tokens: { ask } })
  Object.assign(sources, { pricing: { values } })
  const read = async (
    kind: Kind,
    rows: readonly Joined[],
    include: readonly Inclusion[] = [],
    unread: (at: number) => void = () => expect.unreachable(),
  ) => {
    const found = rows.map((row) => rowFrom(kind, row, include))
    const made = await rowsOf(sources, { kind, include }, found, { unread })
    return { ...made, rows: made.rows.map((row) => row as Shown | null) }
  }
  return { read, asked, valued }
}

/** The fields of any row. */
type Shown = Partial<z.output<typeof EventRow> & z.output<typeof DepositRow> & z.output<typeof PositionRow>>

type Columns = Readonly<Record<string, string | null>>

/** Columns of a row as PostgreSQL returns them. */
const columnsOf = (table: PgTable, row: Readonly<Record<string, unknown>>): Columns =>
  Object.fromEntries(
    Object.entries<PgColumn>(getTableColumns(table)).map(([field, column]) => {
      const value = row[field]
      if (value === undefined || value === null) return [column.name, null]
      const driven = column.mapToDriverValue(value)
      return [column.name, Buffer.isBuffer(driven) ? `\\x${driven.toString('hex')}` : String(driven)]
    }),
  )

/** The columns of the joined rows by the aliases of the statement, and the fee rate; null where there is no row. */
type Joined = {
  readonly f: Columns
  readonly s?: Columns | null
  readonly e: Columns | null
  readonly o?: Columns | null
  readonly t?: Columns | null
  readonly feeRate?: string | null
}

/** A row as the statement's reader parses it from these columns. */
const rowFrom = (kind: Kind, { feeRate = null, ...joined }: Joined, include: readonly Inclusion[]): ListRow => {
  const reader = rowReader(kind, include)
  const cells = reader.expressions.map((expression) => {
    const [, alias, name = ''] = /^([fseot])\.(\w+)$/.exec(expression) ?? []
    return alias === undefined ? feeRate : (joined[alias as keyof typeof joined]?.[name] ?? null)
  })
  return reader.parse(cells, 0)
}

const observedAt = { blockNumber: 70n, blockHash: blockOf(70n).hash, blockTimestamp: TIME }
const factOf = (kind: Kind, { fact }: { readonly fact: object }, own: object = {}) =>
  columnsOf(entityTables[kind].facts, { chainId: 8453, ...fact, ...own })
const eventFact = factOf('event', event, { paymentToken: seedToken })
const eventSeen = columnsOf(tables.eventObservations, {
  ...{ chainId: 8453, ...event.seen.core, ...event.seen.stats, ...event.seen.range, ...event.seen.utilization },
  ...{ paymentToken: seedToken, ...observedAt },
})
const positionSeen = columnsOf(tables.positionObservations, {
  ...{ chainId: 8453, ...position.seen.position, ...observedAt },
})
const depositSeen = columnsOf(tables.depositObservations, {
  ...{ chainId: 8453, ...deposit.seen.deposit, pending: deposit.seen.pending, ...observedAt },
})

const ofPosition = (own: Partial<Joined> = {}): Joined => ({
  ...{ f: factOf('position', position), s: positionSeen, e: eventSeen, o: eventFact },
  ...own,
})
const ofDeposit: Joined = { f: factOf('deposit', deposit), s: depositSeen, e: eventSeen, o: eventFact }
const ofEvent = (own: Partial<Joined> = {}): Joined => ({ f: eventFact, e: eventSeen, ...own })

/** The fields of a row that are not in its record. */
const addedTo = ({ fact }: { readonly fact: Fact }) => ({
  ...{ chainId: 8453, createdBlock: Number(fact.blockNumber), createdTx: fact.txHash },
  createdAt: fact.txHash === null ? null : Number(fact.blockTimestamp),
  createdLogIndex: fact.logIndex,
  ...{ token: seedToken, symbol: 'USDC', decimals: 6 },
  ...endings[fact.kind],
})

describe('a row', () => {
  test('is the record of its single read, its creation and its token, in that order', async () => {
    const { read, asked } = open()
    const [ofEvents, ofDeposits, ofPositions] = [
      await read('event', [ofEvent(), ofEvent()]),
      await read('deposit', [ofDeposit]),
      await read('position', [ofPosition()]),
    ]
    const eventRow = { ...record.eventCore(event.seen), ...addedTo(event) }
    expect(JSON.stringify(ofEvents)).toBe(JSON.stringify({ rows: [eventRow, eventRow], isIndexed: true }))
    const depositRow = { ...record.deposit(deposit.seen), ...addedTo(deposit) }
    expect(JSON.stringify(ofDeposits)).toBe(JSON.stringify({ rows: [depositRow], isIndexed: true }))
    const positionRow = { ...record.position(position.seen), ...addedTo(position) }
    expect(JSON.stringify(ofPositions)).toBe(JSON.stringify({ rows: [positionRow], isIndexed: true }))
    expect(asked).toEqual([])
  })

  test('has records of its event in the order of the request', async () => {
    const { read } = open()
    const { rows } = await read('event', [ofEvent()], ['range', 'stats'])
    expect(rows).toMatchObject([
      { range: record.eventRange(event.seen.range), stats: record.eventStats(event.seen.stats) },
    ])
    expect(Object.keys(rows[0] ?? {}).slice(-3)).toEqual(['settledTx', 'range', 'stats'])
    const all = await read('deposit', [ofDeposit], ['utilization'])
    const utilization = record.utilization({ ...event.seen, time: TIME }, profiles.reference)
    expect(all.rows[0]).toEqual({ ...record.deposit(deposit.seen), ...addedTo(deposit), utilization })
    const deployed = await read('event', [ofEvent({ f: { ...eventFact, chain_id: '56' } })], ['utilization'])
    expect(deployed.rows[0]?.utilization).toEqual(record.utilization({ ...event.seen, time: TIME }, profiles.deployed))
  })

  test('has the summary of its own event, at the time of the observation', async () => {
    const { read } = open()
    const rowOf = (id: number, own: Columns = {}, chain_id = '8453'): Joined => ({
      f: { ...ofDeposit.f, chain_id, event_id: String(id) },
      ...{ s: depositSeen, e: { ...eventSeen, ...own }, o: { ...eventFact, chain_id, id: String(id) } },
    })
    const late = { block_timestamp: String(event.fact.expiryDate) }
    const rows = [rowOf(1), rowOf(2, { settled_at: '5' }), rowOf(1), rowOf(3, late), rowOf(1, late, '56')]
    const found = await read('deposit', rows, ['event'])
    expect(found.rows.map((row) => row?.event)).toMatchObject([
      { id: 1, state: 'open' },
      { id: 2, state: 'settled' },
      { id: 1, state: 'open' },
      { id: 3, state: 'expired' },
      { id: 1, state: 'expired' },
    ])
  })

  test('has all that it can show', async () => {
    const { read } = open()
    const s = { ...positionSeen, status: '4', payout_amount: '1000' }
    const rows = [
      ofPosition({ s, feeRate: '10000' }),
      ofPosition({ s }),
      ofPosition({ s, feeRate: '-1' }),
      ofPosition(),
    ]
    const { rows: found, isIndexed } = await read('position', rows, ['payout', 'event', 'range'])
    expect(isIndexed).toBe(true)
    expect(found).toMatchObject([
      {
        ...{ id: 3, payout: { gross: '1000', fee: '10', net: '990', feeReason: null } },
        ...{ event: { id: 1, state: 'open' }, range: record.eventRange(event.seen.range) },
      },
      { payout: { gross: '1000', fee: null, feeReason: 'rates_unknown' } },
      { payout: { gross: '1000', fee: null, feeReason: 'rates_contradicted' } },
      { payout: null },
    ])
    const alone = await read('position', [ofPosition({ s, feeRate: '10000' })], ['payout'])
    expect(alone.rows[0]).toMatchObject({ payout: { net: '990' } })
    expect(alone.rows[0]).not.toHaveProperty('event')
  })

  test.each([
    ['value', 'stale_rates', null],
    ['stale-value', null, '10000000'],
  ] as const)('with %s has a value of stale rates or the reason', async (include, valueReason, amount) => {
    const { read, valued } = open()
    const { rows, isIndexed } = await read('position', [ofPosition(), ofPosition()], [include])
    const [row, other] = rows
    expect([row?.valueReason, row?.value?.amount ?? null, valued.length, isIndexed]).toEqual([
      ...[valueReason, amount, 1],
      true,
    ])
    expect(other).toEqual(row)
  })

  test('has the token of its event: configured, stored, or asked for', async () => {
    const { read, asked } = open()
    const o = factOf('event', event, { paymentToken: OTHER_TOKEN })
    const t = columnsOf(tables.tokens, { chainId: 8453, address: OTHER_TOKEN, symbol: 'STORED', decimals: 3 })
    const found = await read('position', [ofPosition(), ofPosition({ o, t }), ofPosition({ o })])
    expect(found.rows.map((row) => [row?.token, row?.symbol, row?.decimals])).toEqual([
      [seedToken, 'USDC', 6],
      [OTHER_TOKEN, 'STORED', 3],
      [OTHER_TOKEN, 'ASKED', 9],
    ])
    expect([asked, found.isIndexed]).toEqual([[[8453, OTHER_TOKEN]], true])
    const e = { ...eventSeen, payment_token: `\\x${OTHER_TOKEN.slice(2).toLowerCase()}` }
    const events = await read('event', [ofEvent({ e, t }), ofEvent({ e })])
    expect(events.rows.map((row) => [row?.paymentToken, row?.symbol])).toEqual([
      [OTHER_TOKEN, 'STORED'],
      [OTHER_TOKEN, 'ASKED'],
    ])
  })

  test.each<[string, Kind, Joined, Inclusion[]]>([
    ['its own', 'position', ofPosition({ s: null }), []],
    ['its own', 'event', ofEvent({ e: null }), []],
    ['its event with a record of it', 'position', ofPosition({ e: null }), ['stats']],
    ['its event with the value', 'position', ofPosition({ e: null }), ['payout', 'value']],
    ['its event up to now', 'deposit', { ...ofDeposit, e: null, o: { ...eventFact, payment_token: null } }, []],
    ['its event, which is not known', 'deposit', { ...ofDeposit, e: null, o: null }, []],
  ])('is not in the index without an observation of %s', async (_, kind, row, include) => {
    const unread: number[] = []
    const { rows, isIndexed } = await open().read(kind, [row], include, (at) => void unread.push(at))
    expect([rows, isIndexed, unread]).toEqual([[null], false, [0]])
  })

  test('without an inclusion needs no observation of its event, whose last token is known', async () => {
    const [ofPositions, ofDeposits] = [ofPosition({ e: null }), { ...ofDeposit, e: null }]
    expect(await open().read('position', [ofPositions], ['payout'])).toMatchObject({
      rows: [{ ...record.position(position.seen), ...addedTo(position), payout: null }],
      isIndexed: true,
    })
    expect(await open().read('deposit', [ofDeposits])).toEqual({
      rows: [{ ...record.deposit(deposit.seen), ...addedTo(deposit) }],
      isIndexed: true,
    })
  })
})
