import { getAddress } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { storeTokens } from '../../src/db/index/tokens.ts'
import { type ProfileName, profiles } from '../../src/protocol/profiles.ts'
import type { ListingMeta } from '../../src/reads/lists/records.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/process.ts'
import {
  blockOf,
  type Plan,
  type SeededEvent,
  seedDeployment,
  seedEvent,
  walletOf,
  writeSeeded,
} from '../support/seed-index.ts'

/*
 * Filters of events by capacity, symbol and pair, compared with a calculation over all rows. One chain has the profile
 * whose view returns notional, the other one the profile whose view returns free liquidity.
 */

const TIP = 200n
const ROWS = { 8453: 75, 56: 45 } as const
const deployments = [
  { ...seedDeployment(8453), profile: 'reference' },
  { ...seedDeployment(56), profile: 'deployed' },
] as const

const other = getAddress(`0x${'a1'.repeat(20)}`)
const renamed = getAddress(`0x${'b2'.repeat(20)}`)
const unreadable = getAddress(`0x${'c3'.repeat(20)}`)
const usdc = deployments[0].usdc
/** The symbols that rows show. The configured token is stored under another symbol, which does not count. */
const symbols = new Map([
  [usdc, 'USDC'],
  [other, 'uSdC'],
  [renamed, 'ÉUR\u0000"\\x'],
])
const paymentTokens = [usdc, usdc, other, renamed, unreadable] as const

const plan: Plan = { token: usdc, rowsABlock: 6, wallets: 7, events: 30 }
const spellings = ['USD/GHS', 'usd/ghs', 'Usd/Ghs', 'USD/NGN', 'ÉUR/usd', 'éur/USD', 'ÉUR/USD'] as const

/** An event with a pair, a token, a zone and a capacity that follow from its id, as the views of a profile return it. */
const made = (id: number, profile: ProfileName): SeededEvent => {
  const { fact, seen } = seedEvent(id, plan)
  const terms = {
    underlying: spellings[id % spellings.length] ?? '',
    // Before, at and after the time of the newest block.
    expiryDate: blockOf(TIP).timestamp + BigInt((id % 9) - 4) * 100n,
  }
  // Some events are single-strike, and the payout zone of some has no width.
  const payoutCap = id % 11 === 0 ? 0n : id % 13 === 0 ? fact.strike : 13_500_000n
  const isDead = seen.stats.settledAt > 0n || !seen.core.poolOpen || terms.expiryDate <= blockOf(TIP).timestamp
  const free = BigInt((id * 7_919) % 1_000) * 1_000_000n
  return {
    fact: { ...fact, ...terms },
    seen: {
      ...seen,
      core: { ...seen.core, ...terms },
      range: { ...seen.range, payoutCap },
      // The reference returns 0 for a pool that cannot write, the other profile the free liquidity.
      utilization: { ...seen.utilization, availableCapacity: isDead && profile === 'reference' ? 0n : free },
      paymentToken: paymentTokens[id % paymentTokens.length] ?? usdc,
    },
  }
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1)
const rows = deployments.flatMap(({ chainId, profile }) =>
  upTo(ROWS[chainId as keyof typeof ROWS])
    .map((id) => made(id, profile))
    .map((event) => ({
      chainId,
      event,
      capacity: profiles[profile].capacity({ ...event.seen, time: blockOf(TIP).timestamp }),
      symbol: symbols.get(event.seen.paymentToken) ?? null,
    })),
)
type Row = (typeof rows)[number]

let store: TestDatabase
let api: Awaited<ReturnType<typeof openApp>>

beforeAll(async () => {
  store = await createTestDatabase()
  api = await openApp({ databaseUrl: store.url, nodes: deployments.map((deployment) => ({ deployment })) })
  for (const { chainId } of deployments) {
    await writeSeeded(api.database, chainId, blockOf(TIP), {
      events: rows.filter((row) => row.chainId === chainId).map(({ event }) => event),
    })
    await api.database.transaction((handle) =>
      storeTokens(handle, chainId, [
        { token: usdc, symbol: 'OLD', decimals: 6 },
        { token: other, symbol: symbols.get(other) ?? null, decimals: 18 },
        { token: renamed, symbol: symbols.get(renamed) ?? null, decimals: 18 },
        { token: unreadable, symbol: null, decimals: 0 },
      ]),
    )
  }
})
afterAll(async () => {
  await api?.close()
  await store?.close()
})

const Shown = z.array(
  z.looseObject({
    chainId: z.number(),
    id: z.number(),
    symbol: z.string().nullable(),
    utilization: z.object({ availableCapacity: z.string() }),
  }),
)

/** All pages of the list of events. */
const readPages = async (query: Readonly<Record<string, string>>) => {
  const found: z.output<typeof Shown> = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const search = new URLSearchParams({ ...query, include: 'utilization', limit: '17', ...(cursor && { cursor }) })
    const { status, data, meta } = await api.get(`/hedge/events?${search}`)
    expect(status).toBe(200)
    found.push(...Shown.parse(data))
    cursor = z.custom<ListingMeta>().parse(meta).nextCursor
  }
  return found
}

const namesOf = (all: readonly { readonly chainId: number; readonly id: number }[]): string[] =>
  all.map(({ chainId, id }) => `${chainId}/${id}`)

const inOrder = (all: readonly Row[]): string[] =>
  namesOf(
    all
      .map(({ chainId, event: { fact } }) => ({ chainId, id: Number(fact.id), block: Number(fact.blockNumber) }))
      .sort((a, b) => b.block - a.block || a.chainId - b.chainId || b.id - a.id),
  )

test('rows show the capacity and the symbol by which they are filtered', async () => {
  const shown = await readPages({})
  expect(shown.length).toBe(rows.length)
  for (const { chainId, event, capacity, symbol } of rows) {
    const row = shown.find((it) => it.chainId === chainId && it.id === Number(event.fact.id))
    expect([row?.utilization.availableCapacity, row?.symbol]).toEqual([String(capacity), symbol])
  }
})

const thresholds = [0n, 1n, 500_000_000n, ...rows.slice(0, 2).map(({ capacity }) => capacity), 2n ** 256n - 1n]

test.each([...new Set(thresholds)])('capacityFrom=%s selects the events with at least that capacity', async (from) => {
  const expected = rows.filter(({ capacity }) => capacity >= from)
  expect(namesOf(await readPages({ capacityFrom: String(from) }))).toEqual(inOrder(expected))
  const { meta } = await api.get(`/hedge/events?capacityFrom=${from}&count=true&limit=1`)
  expect(z.custom<ListingMeta>().parse(meta).total).toBe(expected.length)
})

test.each(['USDC', 'usdc', 'OLD', 'ÉUR\u0000"\\x', 'Éur\u0000"\\X', 'éUR\u0000"\\x', 'none'])(
  'symbol=%j selects the events whose payment token has that symbol, in either case of the letters A to Z',
  async (symbol) => {
    const lower = (text: string | null) => text?.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
    const expected = rows.filter((row) => lower(row.symbol) === lower(symbol))
    expect(namesOf(await readPages({ symbol }))).toEqual(inOrder(expected))
    const { meta } = await api.get(`/hedge/events?${new URLSearchParams({ symbol, count: 'true', limit: '1' })}`)
    expect(z.custom<ListingMeta>().parse(meta).total).toBe(expected.length)
  },
)

test.each(['USD/GHS', 'usd/ghs', 'uSD/gHS', 'ÉUR/USD', 'éur/usd', 'USD'])(
  'underlying=%s selects the pair in either case of the letters A to Z',
  async (underlying) => {
    const lower = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
    const expected = rows.filter(({ event }) => lower(event.fact.underlying) === lower(underlying))
    expect(namesOf(await readPages({ underlying }))).toEqual(inOrder(expected))
  },
)

test('the filters select together, with an owner, on one chain and in the order of expiry', async () => {
  const query = { capacityFrom: '100000000', symbol: 'usdc', underlying: 'usd/ghs', poolOpen: 'true' }
  const isMatch = ({ capacity, symbol, event }: Row): boolean =>
    capacity >= 100_000_000n && symbol?.toLowerCase() === 'usdc' && event.fact.underlying.toLowerCase() === 'usd/ghs'
  const expected = rows.filter(isMatch)
  expect(expected.length).toBeGreaterThan(3)
  expect(namesOf(await readPages(query))).toEqual(inOrder(expected))
  for (const { chainId } of deployments)
    expect(namesOf(await readPages({ ...query, chainId: String(chainId) }))).toEqual(
      inOrder(expected.filter((row) => row.chainId === chainId)),
    )
  const creators = [walletOf(1), walletOf(3)]
  const { underlying: _, ...others } = query
  expect(namesOf(await readPages({ ...others, creator: creators.join() }))).toEqual(
    inOrder(
      rows.filter(
        ({ capacity, symbol, event }) =>
          capacity >= 100_000_000n && symbol?.toLowerCase() === 'usdc' && creators.includes(event.fact.creator),
      ),
    ),
  )
  const byExpiry = await readPages({ ...query, sort: 'expiry', order: 'asc' })
  expect(new Set(namesOf(byExpiry))).toEqual(new Set(inOrder(expected)))
  const expiries = byExpiry.map((row) => Number(row.expiryDate))
  expect(expiries).toEqual(expiries.toSorted((a, b) => a - b))
})

test('a cursor continues a list whose texts are spelled in another case, and no list with another value', async () => {
  const first = await api.get('/hedge/events?symbol=USDC&underlying=USD/GHS&capacityFrom=1&limit=1')
  const cursor = z.custom<ListingMeta>().parse(first.meta).nextCursor ?? ''
  const next = (query: string) => api.get(`/hedge/events?limit=1&cursor=${cursor}&${query}`)
  expect((await next('symbol=usdc&underlying=usd/ghs&capacityFrom=1')).status).toBe(200)
  expect((await next('symbol=usdc&underlying=usd/ghs&capacityFrom=2')).status).toBe(400)
  expect((await next('symbol=usdt&underlying=usd/ghs&capacityFrom=1')).status).toBe(400)
  expect((await next('symbol=usdc&underlying=usd/ngn&capacityFrom=1')).status).toBe(400)
})

test('a list by symbol is read again once a token is known', async () => {
  const late = getAddress(`0x${'d4'.repeat(20)}`)
  const event = made(ROWS[8453] + 1, 'reference')
  await writeSeeded(api.database, 8453, blockOf(TIP + 1n), {
    events: [{ ...event, seen: { ...event.seen, paymentToken: late } }],
  })
  let etag: unknown
  await eventually('the answer has a tag', async () => {
    const { status, data, headers } = await api.get('/hedge/events?chainId=8453&symbol=LATE')
    expect([status, data]).toEqual([200, []])
    etag = headers.etag
    return etag !== undefined
  })
  await api.database.transaction((handle) => storeTokens(handle, 8453, [{ token: late, symbol: 'LATE', decimals: 18 }]))
  await eventually('the event is found', async () => {
    const { statusCode, payload } = await api.app.inject({
      url: '/v1/hedge/events?chainId=8453&symbol=LATE',
      headers: { 'if-none-match': String(etag) },
    })
    return statusCode === 200 && JSON.parse(payload).data[0]?.symbol === 'LATE'
  })
})
