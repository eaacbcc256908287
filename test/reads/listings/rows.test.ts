import { getTableColumns } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { zeroAddress } from 'viem'
import { describe, expect, test } from 'vitest'
import { createRenderer, UNIT } from '../../../src/db/rendering.ts'
import * as tables from '../../../src/db/schema.ts'
import { entityTables } from '../../../src/db/stored.ts'
import { unavailable } from '../../../src/lib/errors.ts'
import type { Kind } from '../../../src/protocol/entities.ts'
import * as record from '../../../src/protocol/records.ts'
import type { Inclusion } from '../../../src/protocol/rows.ts'
import { rowsOf } from '../../../src/reads/listings/rows.ts'
import type { ListSources } from '../../../src/reads/listings/sources.ts'
import { blockOf, seedDeployment, seedEvent, seedPosition, seedToken } from '../../support/seed-index.ts'

/* Rows of lists as the database returns them: stored texts, columns to render, and rows that only the chain has. */

const TIME = blockOf(70n).timestamp
const OTHER_TOKEN = '0x000000000000000000000000000000000000dEaD'
const plan = { token: seedToken, wallets: 10, events: 3, rowsABlock: 5 } as const
/** Event 1 is open; position 7 is of event 2, and position 8 of event 3. */
const event = seedEvent(1, plan)
const position = seedPosition(3, { ...plan, events: 1 })

const coreText = JSON.stringify(record.eventCore(event.seen))
const settlementOf = (settledAt: bigint, time = TIME) => `${settledAt},f,${settledAt === 0n ? 0n : 9n},${time}`

type Options = {
  readonly down?: boolean
  readonly fault?: Error
  readonly missing?: readonly string[]
  /** The token of events on the chain. */
  readonly token?: string
}

const open = (options: Options = {}) => {
  const { down = false, fault = unavailable('no node is in reach'), missing = [], token = seedToken } = options
  const called: string[] = []
  const asked: unknown[][] = []
  const valued: unknown[] = []
  const outcomes: Readonly<Record<string, unknown>> = {
    getHedgeEventCore: missing.includes('event') ? { ...event.seen.core, creator: zeroAddress } : event.seen.core,
    ...{ getHedgeEventStats: event.seen.stats, getHedgeEventRange: event.seen.range },
    ...{ getPoolUtilization: event.seen.utilization, getEventPaymentToken: token },
    getHedgePosition: missing.includes('position')
      ? { ...position.seen.position, hedger: zeroAddress }
      : position.seen.position,
  }
  const deployment = seedDeployment(8453)
  const renderer = createRenderer(deployment)
  const sources = {
    chains: new Map([
      [
        8453,
        {
          deployment,
          pinned: (run: (block: object) => unknown) => (down ? Promise.reject(fault) : run(blockOf(70n))),
          readAt: async (_: object, views: readonly { readonly name: string; readonly data: string }[]) =>
            views.map(({ name, data }) => {
              // The id follows the selector.
              called.push(`${name} ${BigInt(`0x${data.slice(10, 74)}`)}`)
              return { ok: true, value: outcomes[name] }
            }),
        },
      ],
    ]),
    lists: {
      renderer: () => renderer,
      tokens: {
        async ask(...given: unknown[]) {
          asked.push(given)
          return { token: given[1], symbol: 'ASKED', decimals: 9 }
        },
      },
    },
    pricing: {
      async values({ ranges }: { readonly ranges: readonly object[] }) {
        valued.push(...ranges)
        const value = { rate: 0.01, spotFixed6: '12000000', spotDate: '2026-12-01' }
        return {
          asOf: Number(TIME),
          values: ranges.map(() => ({ ...value, stale: true, synthetic: false, usdRateFallback: false })),
        }
      },
    },
  } as unknown as ListSources
  const read = async (
    kind: Kind,
    rows: readonly string[],
    include: readonly Inclusion[] = [],
    unread?: (at: number) => void,
  ) => rowsOf(sources, { kind, include }, rows, unread)
  return { read, called, asked, valued }
}

const stored = (...parts: readonly string[]) => ['8453,1', ...parts].join(UNIT)

describe('a stored row', () => {
  test('is its text', async () => {
    const { read } = open()
    expect(await read('event', [stored('{"id":1}'), stored('{"id":2}')])).toEqual({
      rows: ['{"id":1}', '{"id":2}'],
      isIndexed: true,
    })
  })

  const records = ['{"s":1}', '{"u":1}', '{"r":1}']

  test('has records of its event in the order of the request', async () => {
    const { read } = open()
    const { rows } = await read('event', [stored('{"id":1}', ...records)], ['range', 'stats'])
    expect(rows).toEqual(['{"id":1,"range":{"r":1},"stats":{"s":1}}'])
    const all = await read('event', [stored('{"id":1}', ...records)], ['utilization'])
    expect(all.rows).toEqual(['{"id":1,"utilization":{"u":1}}'])
  })

  test('has the summary of its event, by the settlement of each row', async () => {
    const { read } = open()
    const rowOf = (settlement: string) => stored('{"id":1}', coreText, settlement)
    const { rows } = await read(
      'deposit',
      [rowOf(settlementOf(0n)), rowOf(settlementOf(5n)), rowOf(settlementOf(0n))],
      ['event'],
    )
    const states = rows.map((row) => JSON.parse(row ?? '').event)
    expect(states.map(({ id, state }) => [id, state])).toEqual([
      [1, 'open'],
      [1, 'settled'],
      [1, 'open'],
    ])
  })

  test('has all that it can show', async () => {
    const { read } = open()
    const text = JSON.stringify({ id: 7, status: record.ACTIVE + 1, payoutAmount: '1000' })
    const rowOf = (rate: string) => stored(text, ...records, coreText, settlementOf(5n), rate)
    const { rows } = await read('position', [rowOf('10000'), rowOf('-')], ['payout', 'event', 'range'])
    expect(rows.map((row) => JSON.parse(row ?? ''))).toMatchObject([
      { id: 7, payout: { gross: '1000', fee: '10', net: '990' }, event: { state: 'settled' }, range: { r: 1 } },
      { payout: { gross: '1000', fee: null, feeReason: 'rates_unknown' } },
    ])
    const alone = await read('position', [stored(text, '10000')], ['payout'])
    expect(JSON.parse(alone.rows[0] ?? '').payout.net).toBe('990')
  })

  test.each([
    ['value', 'stale_rates', null],
    ['stale-value', null, '10'],
  ] as const)('with %s has a value of stale rates or the reason', async (include, valueReason, amount) => {
    const { read, valued } = open()
    const text = JSON.stringify({ id: 7, status: record.ACTIVE, notional: '1000' })
    const { rows, isIndexed } = await read('position', [stored(text, coreText, settlementOf(0n))], [include])
    const row = JSON.parse(rows[0] ?? '')
    expect([row.valueReason, row.value?.amount ?? null, valued.length, isIndexed]).toEqual([
      ...[valueReason, amount, 1],
      true,
    ])
  })
})

/** Columns of a row as PostgreSQL returns them. */
const columnsOf = (table: PgTable, row: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries<PgColumn>(getTableColumns(table)).map(([field, column]) => {
      const value = row[field]
      if (value === undefined || value === null) return [column.name, null]
      const driven = column.mapToDriverValue(value)
      return [column.name, Buffer.isBuffer(driven) ? `\\x${driven.toString('hex')}` : String(driven)]
    }),
  )

const observedAt = { blockNumber: 70n, blockHash: blockOf(70n).hash, blockTimestamp: TIME }
const factOf = (kind: Kind, { fact }: { readonly fact: object }) =>
  columnsOf(entityTables[kind].facts, { chainId: 8453, ...fact })
const eventSeen = columnsOf(tables.eventObservations, {
  ...{ chainId: 8453, ...event.seen.core, ...event.seen.stats, ...event.seen.range, ...event.seen.utilization },
  ...{ paymentToken: seedToken, ...observedAt },
})
const positionSeen = columnsOf(tables.positionObservations, {
  ...{ chainId: 8453, ...position.seen.position, ...observedAt },
})

const unrendered = (columns: object) => stored('', JSON.stringify({ token: null, feeRate: null, ...columns }))
const ofPosition = (own: object = {}) =>
  unrendered({
    ...{ fact: factOf('position', position), seen: positionSeen, event: factOf('event', event), eventSeen },
    ...own,
  })

describe('a row without a text', () => {
  test('is rendered from its columns, with all that it can show', async () => {
    const { read, called } = open()
    const { rows, isIndexed } = await read('position', [ofPosition({ feeRate: '10000' })], ['event', 'range', 'payout'])
    expect([isIndexed, called]).toEqual([true, []])
    const row = JSON.parse(rows[0] ?? '')
    expect(row).toMatchObject({ ...record.position(position.seen), chainId: 8453, token: seedToken, symbol: 'USDC' })
    expect(row.event).toMatchObject({ id: 1, state: 'open' })
    expect([row.range, row.payout]).toEqual([record.eventRange(event.seen.range), null])
  })

  test('shows its event at the time of the observation, and its payout by the fee rate of its columns', async () => {
    const { read } = open()
    const own = {
      seen: { ...positionSeen, status: '4', payout_amount: '1000' },
      eventSeen: { ...eventSeen, block_timestamp: String(event.fact.expiryDate) },
      feeRate: '10000',
    }
    const { rows } = await read('position', [ofPosition(own)], ['event', 'payout'])
    const row = JSON.parse(rows[0] ?? '')
    expect([row.event.state, row.payout]).toEqual([
      'expired',
      { gross: '1000', fee: '10', net: '990', feeReason: null },
    ])
  })

  test('has the token of its event: configured, stored, or asked for', async () => {
    const { read, asked } = open()
    const other = { ...eventSeen, payment_token: `\\x${OTHER_TOKEN.slice(2).toLowerCase()}` }
    const token = columnsOf(tables.tokens, { chainId: 8453, address: OTHER_TOKEN, symbol: 'STORED', decimals: 3 })
    const rows = [ofPosition(), ofPosition({ eventSeen: other, token }), ofPosition({ eventSeen: other })]
    const found = await read('position', rows)
    expect(found.rows.map((row) => JSON.parse(row ?? '')).map(({ symbol, decimals }) => [symbol, decimals])).toEqual([
      ['USDC', 6],
      ['STORED', 3],
      ['ASKED', 9],
    ])
    expect(asked).toEqual([[8453, OTHER_TOKEN]])
  })

  test.each([
    ['its own', { seen: null }],
    ['that of its event', { eventSeen: null }],
    ['the event', { event: null, eventSeen: null }],
  ])('is read from the chain without an observation of %s', async (_, own) => {
    const { read, called } = open()
    const { rows } = await read('position', [stored('{"id":1}'), ofPosition(own)])
    expect(rows[0]).toBe('{"id":1}')
    expect(called).toEqual(expect.arrayContaining(['getHedgeEventCore 1', 'getHedgePosition 3']))
    expect(JSON.parse(rows[1] ?? '')).toMatchObject({
      ...record.position(position.seen),
      chainId: 8453,
      token: seedToken,
    })
  })

  test('that is read from the chain does not come from the index', async () => {
    const { read } = open()
    expect((await read('position', [ofPosition({ seen: null })])).isIndexed).toBe(false)
    expect((await read('position', [ofPosition({ eventSeen: null })])).isIndexed).toBe(false)
    expect((await read('position', [ofPosition(), ofPosition({ seen: null }), ofPosition()])).isIndexed).toBe(false)
  })

  test('from the chain shows its event at the block of the read, with the fee of its columns', async () => {
    const { read } = open()
    const own = { seen: null, eventSeen: null, feeRate: '10000' }
    const { rows } = await read('position', [ofPosition(own)], ['stats', 'event', 'payout'])
    const row = JSON.parse(rows[0] ?? '')
    expect(row).toMatchObject({
      stats: record.eventStats(event.seen.stats),
      event: { id: 1, state: 'open' },
      payout: null,
    })
    const events = await read(
      'event',
      [unrendered({ ...{ fact: factOf('event', event), seen: null }, event: null, eventSeen: null })],
      ['range'],
    )
    expect(JSON.parse(events.rows[0] ?? '')).toMatchObject({
      ...record.eventCore(event.seen),
      range: record.eventRange(event.seen.range),
    })
  })

  test('takes the stored token only when the event still has it', async () => {
    const { read } = open({ token: OTHER_TOKEN })
    const token = columnsOf(tables.tokens, { chainId: 8453, address: OTHER_TOKEN, symbol: 'STORED', decimals: 3 })
    const symbolWith = async (paymentToken: string) => {
      const known = { ...factOf('event', event), payment_token: `\\x${paymentToken.slice(2).toLowerCase()}` }
      const { rows } = await read('position', [ofPosition({ seen: null, eventSeen: null, event: known, token })])
      return JSON.parse(rows[0] ?? '').symbol
    }
    expect([await symbolWith(OTHER_TOKEN), await symbolWith(seedToken)]).toEqual(['STORED', 'ASKED'])
  })

  test.each(['event', 'position'])('is null when a reorg has removed its %s', async (missing) => {
    const { read } = open({ missing: [missing] })
    expect((await read('position', [ofPosition({ seen: null }), stored('{"id":1}')])).rows).toEqual([null, '{"id":1}'])
  })

  test('is reported by its position when no node is in reach, and is the fault without that', async () => {
    const { read } = open({ down: true })
    const unread: number[] = []
    const rows = [stored('{"id":1}'), ofPosition({ seen: null }), ofPosition(), ofPosition({ seen: null })]
    const found = await read('position', rows, [], (at) => void unread.push(at))
    expect([unread, found.rows.map((row) => row === null)]).toEqual([
      [1, 3],
      [false, true, false, true],
    ])
    await expect(read('position', rows)).rejects.toThrow('no node is in reach')
    const broken = open({ down: true, fault: new Error('a bug') })
    await expect(broken.read('position', rows, [], () => expect.unreachable())).rejects.toThrow('a bug')
  })
})
