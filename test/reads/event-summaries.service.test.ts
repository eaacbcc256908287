import { sql } from 'drizzle-orm'
import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { Quote } from '../../src/pricing/messages.ts'
import { payoff } from '../../src/protocol/payoff.ts'
import { EventStats } from '../../src/protocol/records.ts'
import { DepositRow, EventRow, PositionRow } from '../../src/reads/lists/records.ts'
import type { openApp } from '../support/app.ts'
import { startEngine } from '../support/engine.ts'
import { startIndexed, type World } from '../support/indexing.ts'
import { eventually } from '../support/process.ts'
import { startPublisher } from '../support/publisher.ts'

/* What `include=event` and `include=value` add to rows, while only their events change. */

let world: World
let indexed: Awaited<ReturnType<typeof startIndexed>>
let api: Awaited<ReturnType<typeof openApp>>
let engine: Awaited<ReturnType<typeof startEngine>>
/** An API with the engine; `api` has none. */
let valuing: Awaited<ReturnType<typeof openApp>>
/** The engine's clock, in Unix milliseconds. */
let engineTime = Date.now()

beforeAll(async () => {
  ;[indexed, engine] = await Promise.all([startIndexed([8453]), startEngine({ now: () => engineTime })])
  world = indexed.world
  api = await indexed.open()
  valuing = await indexed.open({ engineUrl: engine.url })
})
afterAll(async () => {
  await indexed?.close()
  await engine?.close()
})

const addressOf = (name: 'creator' | 'lp' | 'hedger'): Address => world[name].account.address

const Rows = z.array(z.union([PositionRow, DepositRow]))

/** The paths whose rows show their events, and how to find the rows in the answer. */
const paths = () => ({
  positions: `/hedge/positions?chainId=8453&wallet=${addressOf('hedger')}&include=event`,
  'positions of an event': '/hedge/positions?chainId=8453&eventId=1&include=stats,event',
  'positions with payouts': '/hedge/positions?chainId=8453&include=payout,event,range',
  deposits: '/hedge/deposits?chainId=8453&include=event,range&order=asc',
  'deposits by id': '/hedge/deposits?chainId=8453&ids=4,1&include=event',
  portfolio: `/wallets/${addressOf('creator')}/portfolio?chainId=8453&state=all&include=event`,
  'portfolio of a hedger': `/wallets/${addressOf('hedger')}/portfolio?chainId=8453&state=all&include=event`,
})

const rowsIn = (data: unknown): z.output<typeof Rows> => {
  if (Array.isArray(data)) return Rows.parse(data)
  const { positions, deposits } = z.object({ positions: Rows, deposits: Rows }).parse(data)
  return [...positions, ...deposits]
}

/** The expected summaries by event, from the list of events and its filters. */
const expected = async () => {
  const { data } = await api.get('/hedge/events?chainId=8453')
  const inState = async (state: string) => {
    const page = await api.get(`/hedge/events?chainId=8453&state=${state}`)
    return new Set(
      z
        .array(EventRow)
        .parse(page.data)
        .map(({ id }) => id),
    )
  }
  const [open, expired, triggered] = [await inState('open'), await inState('expired'), await inState('triggered')]
  const settlements = new Map<number, object>()
  for (const { id } of z.array(EventRow).parse(data)) {
    const { settledAt, triggered, settlementPrice } = EventStats.parse(
      (await api.get(`/hedge/events/8453/${id}/stats`)).data,
    )
    settlements.set(id, { settledAt, triggered, settlementPrice })
  }
  return new Map(
    z
      .array(EventRow)
      .parse(data)
      .map(({ id, name, underlying, strike, payoutCap, initialRate, strikeAbove, expiryDate }) => {
        const state = open.has(id) ? 'open' : expired.has(id) ? 'expired' : triggered.has(id) ? 'triggered' : 'settled'
        const direction = strikeAbove ? 'above' : 'below'
        const terms = { id, name, underlying, strike, payoutCap, initialRate, strikeAbove, direction, expiryDate }
        return [id, { ...terms, ...settlements.get(id), state }]
      }),
  )
}

const check = async (): Promise<void> => {
  const events = await expected()
  for (const [name, path] of Object.entries(paths())) {
    const { status, data } = await api.get(path)
    expect([name, status]).toEqual([name, 200])
    const rows = rowsIn(data)
    expect([name, rows.length > 0]).toEqual([name, true])
    for (const row of rows) expect([name, row.event]).toEqual([name, events.get(row.eventId)])
  }
}

test('rows show their event as the list of events has it', async () => {
  await indexed.quiet()
  await check()
  const { data } = await api.get(paths().deposits)
  expect(new Set(rowsIn(data).map(({ event }) => event?.state))).toEqual(new Set(['open', 'triggered']))
  const plain = await api.get('/hedge/positions?chainId=8453')
  for (const row of rowsIn(plain.data)) expect(row).not.toHaveProperty('event')
})

test('the event of a settled position is enough to compute its payout', async () => {
  await indexed.quiet()
  const { data } = await api.get('/hedge/positions?chainId=8453&eventId=2&include=event,payout')
  const rows = z.array(PositionRow).parse(data)
  expect(rows.length).toBeGreaterThan(0)
  for (const { notional, event, payout: paid, status, statusText } of rows) {
    if (event === undefined) throw new Error('the row has no event')
    const { strike, payoutCap, initialRate, strikeAbove, settlementPrice } = event
    const range = {
      strike: BigInt(strike),
      payoutCap: BigInt(payoutCap),
      initialRate: BigInt(initialRate),
      strikeAbove,
    }
    expect(event.settledAt).toBeGreaterThan(0)
    expect(paid?.gross).toBe(String(payoff(range, BigInt(settlementPrice), BigInt(notional))))
    expect([status, statusText]).toEqual(paid?.gross === '0' ? [5, 'expired'] : [4, 'claimable'])
  }
})

test('rows whose event is not observed yet have the same bytes', async () => {
  await indexed.quiet()
  const read = () => Promise.all(Object.values(paths()).map(async (path) => JSON.stringify((await api.get(path)).data)))
  const before = await read()
  await api.database.run(async (handle) => {
    await handle.execute(sql`CREATE TABLE aside AS SELECT * FROM event_observations`)
    await handle.execute(sql`DELETE FROM event_observations`)
  })
  try {
    // A portfolio adds up amounts that need the observations; its rows are the same.
    expect((await read()).slice(0, 4)).toEqual(before.slice(0, 4))
  } finally {
    await api.database.run(async (handle) => {
      await handle.execute(sql`INSERT INTO event_observations SELECT * FROM aside`)
      await handle.execute(sql`DROP TABLE aside`)
    })
  }
})

test('include=event is no inclusion of the list of events', async () => {
  const { status, error } = await api.get('/hedge/events?include=event')
  expect([status, error?.details?.map(({ path }) => path)]).toEqual([400, ['include']])
})

/** The paths whose rows of positions show their values. */
const valuePaths = () => ({
  positions: '/hedge/positions?chainId=8453&include=value',
  'positions by id, with everything': '/hedge/positions?chainId=8453&ids=1,2,3,4&include=payout,value,event,range',
  'positions of a wallet': `/hedge/positions?wallet=${addressOf('hedger')}&chainId=8453&include=value,value`,
  portfolio: `/wallets/${addressOf('hedger')}/portfolio?chainId=8453&state=all&include=event,value`,
  'portfolio without events': `/wallets/${addressOf('hedger')}/portfolio?chainId=8453&state=all&include=value`,
})

const positionsIn = (data: unknown): z.output<typeof PositionRow>[] =>
  rowsIn(data).filter((row): row is z.output<typeof PositionRow> => 'notional' in row)

/** The positions of each path, after a check of its headers. */
const positionsOf = async (from: typeof api) =>
  Promise.all(
    Object.entries(valuePaths()).map(async ([name, path]) => {
      const { statusCode, headers, payload } = await from.app.inject({ url: `/v1${path}` })
      expect([name, statusCode, headers['cache-control'], headers.etag]).toEqual([name, 200, 'no-store', undefined])
      return positionsIn(JSON.parse(payload).data)
    }),
  )

const reasonsOf = async (from: typeof api, eventId: number) =>
  new Set(
    (await positionsOf(from)).flatMap((rows) =>
      rows.flatMap((row) => (row.eventId === eventId ? [row.value === null ? row.valueReason : 'a value'] : [])),
    ),
  )

test('positions of an open event show what the engine quotes for the rest of its term, and others why they have no value', async () => {
  await indexed.quiet()
  const { expiry } = world.upward
  const quoted = await valuing.post('/pricing/quote', {
    ...{ pair: 'USD/GHS', strike: 12, payoutCap: 13.5, strikeAbove: true, notional: 1, expiryUnixSeconds: expiry },
  })
  const { breakdown } = Quote.parse(quoted.data)
  for (const rows of await positionsOf(valuing)) {
    expect(rows.map(({ eventId }) => eventId).toSorted()).toEqual([1, 1, 1, 2])
    for (const { eventId, notional, value, valueReason } of rows) {
      if (eventId === 2) expect([value, valueReason]).toEqual([null, 'settled'])
      else {
        const expected = (Number(notional) * Number(breakdown.fairValue)) / 11.4
        expect(Math.abs(Number(value?.amount) - expected)).toBeLessThanOrEqual(1)
        expect(value).toMatchObject({ asOf: breakdown.asOf, spot: '11400000', stale: false, synthetic: true })
        expect(valueReason).toBeNull()
      }
    }
  }
  for (const path of ['/hedge/deposits', '/hedge/events']) {
    const { status, error } = await valuing.get(`${path}?include=value`)
    expect([status, error?.details?.map((detail) => detail.path)]).toEqual([400, ['include']])
  }
})

test('values are never stored: they follow the engine while the index does not change', async () => {
  const before = await positionsOf(valuing)
  engineTime += 86_400_000
  const after = await positionsOf(valuing)
  for (const [at, rows] of before.entries())
    for (const [nth, { value }] of rows.entries())
      if (value != null) {
        expect(after[at]?.[nth]?.value?.asOf).toBe(value.asOf + 86_400)
        expect(BigInt(after[at]?.[nth]?.value?.amount ?? -1)).not.toBe(BigInt(value.amount))
      }
})

test('rows that are not observed yet have the same values', async () => {
  const before = await positionsOf(valuing)
  // Rows that are not observed are read from the chain.
  const lists = Object.values(valuePaths()).filter((path) => path.startsWith('/hedge'))
  await api.database.run(async (handle) => {
    await handle.execute(sql`CREATE TABLE aside AS SELECT * FROM position_observations`)
    await handle.execute(sql`DELETE FROM position_observations`)
  })
  try {
    const rows = await Promise.all(lists.map(async (path) => positionsIn((await valuing.get(path)).data)))
    expect(rows).toEqual(before.slice(0, lists.length))
  } finally {
    await api.database.run(async (handle) => {
      await handle.execute(sql`INSERT INTO position_observations SELECT * FROM aside`)
      await handle.execute(sql`DROP TABLE aside`)
    })
  }
})

test('an engine that is down, silent or broken leaves out the values and nothing else, after a second at most', async () => {
  const plain = positionsIn((await api.get('/hedge/positions?chainId=8453')).data)
  expect(await reasonsOf(api, 1)).toEqual(new Set(['engine_unavailable']))
  let body: string | undefined
  const publisher = await startPublisher(() => (body === undefined ? undefined : { body }))
  const other = await indexed.open({ engineUrl: publisher.url })
  const started = performance.now()
  const [rows = []] = await positionsOf(other)
  // Other requests to the engine of these tests may take 15 seconds.
  expect(performance.now() - started).toBeLessThan(12_000)
  expect(rows.map(({ value: _, valueReason: __, ...row }) => row)).toEqual(plain)
  // One request a page.
  expect(publisher.asked).toEqual(Object.keys(valuePaths()).map(() => '/values'))
  const flags = '"spotFixed6":"1","spotDate":"","stale":false,"synthetic":false,"usdRateFallback":false'
  const rates = ['-1', '1e300'].map((rate) => `{"data":{"asOf":1,"values":[{"rate":${rate},${flags}}]}}`)
  for (const broken of ['', '{}', '{"data":{"asOf":1,"values":[]}}', ...rates]) {
    body = broken
    expect(await reasonsOf(other, 1)).toEqual(new Set(['engine_unavailable']))
  }
  body = '{"data":{"asOf":1,"values":[{"reason":"unsupported_pair"}]}}'
  expect(await reasonsOf(other, 1)).toEqual(new Set(['unsupported_pair']))
  await publisher.close()
})

test('values from stale rates are null with the reason, unless the request asks for them by name', async () => {
  const value = { rate: 0.006, spotFixed6: '11400000', spotDate: '2024-11-29', stale: true }
  const flags = { synthetic: false, usdRateFallback: false }
  const body = JSON.stringify({ data: { asOf: 1, values: [{ ...value, ...flags }] } })
  const publisher = await startPublisher(() => ({ body }))
  const stale = await indexed.open({ engineUrl: publisher.url })
  expect(await reasonsOf(stale, 1)).toEqual(new Set(['stale_rates']))
  for (const path of Object.values(valuePaths())) {
    const asked = path.replaceAll(/\bvalue\b/g, 'stale-value')
    const { statusCode, headers, payload } = await stale.app.inject({ url: `/v1${asked}` })
    expect([asked, statusCode, headers['cache-control'], headers.etag]).toEqual([asked, 200, 'no-store', undefined])
    const rows = positionsIn(JSON.parse(payload).data).filter(({ eventId }) => eventId === 1)
    expect(rows.length).toBeGreaterThan(0)
    for (const row of rows)
      expect(row).toMatchObject({ value: { spotDate: '2024-11-29', stale: true }, valueReason: null })
  }
  await publisher.close()
})

const ask = async (path: string, etag?: string) => {
  const headers = etag === undefined ? {} : { 'if-none-match': etag }
  const { statusCode, headers: sent, payload } = await api.app.inject({ url: `/v1${path}`, headers })
  return { status: statusCode, etag: sent.etag === undefined ? '' : String(sent.etag), payload }
}

/** A tag of each path that holds. */
const settleTags = async (): Promise<Map<string, string>> => {
  await indexed.quiet()
  const tags = new Map<string, string>()
  for (const path of Object.values(paths()))
    await eventually(`a tag of ${path} that holds`, async () => {
      const { etag } = await ask(path)
      tags.set(path, etag)
      return etag !== '' && (await ask(path, etag)).status === 304
    })
  return tags
}

const stateOf = (payload: string, eventId: number) =>
  rowsIn(JSON.parse(payload).data).find((row) => row.eventId === eventId)?.event?.state

test('a tag ends and cached bodies are replaced when only the event changes: at its expiry and its settlement', async () => {
  const change = async (act: () => Promise<unknown>, state: string): Promise<void> => {
    const tags = await settleTags()
    await act()
    await indexed.quiet()
    for (const [path, etag] of tags) {
      const answer = await ask(path, etag)
      expect([path, answer.status]).toEqual([path, 200])
      expect([path, stateOf(answer.payload, 1)]).toEqual([path, state])
      expect(answer.etag).not.toBe(etag)
      // Without a tag the answer may come from the cache.
      expect([path, stateOf((await ask(path)).payload, 1)]).toEqual([path, state])
    }
    await check()
  }
  const { expiry } = world.upward
  await change(async () => {
    await world.actions.warp(expiry)
    await world.actions.node.mine({ blocks: 1 })
  }, 'expired')
  expect(await reasonsOf(valuing, 1)).toEqual(new Set(['expired']))
  await change(() => world.actions.settle(world.owner, 1n, 13_000_000n), 'triggered')
  expect(await reasonsOf(valuing, 1)).toEqual(new Set(['settled']))
})
