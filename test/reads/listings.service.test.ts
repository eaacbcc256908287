import { zeroAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { ListingMeta } from '../../src/reads/lists/records.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  blockOf,
  type Plan,
  pairs,
  seedDeployment,
  seedRows,
  seedToken,
  walletOf,
  writeSeeded,
} from '../support/seed-index.ts'

/** Rows of each kind on each chain. */
const ROWS = {
  8453: { events: 45, deposits: 100, positions: 160 },
  56: { events: 30, deposits: 60, positions: 90 },
} as const

const plan: Plan = { token: seedToken, rowsABlock: 6, wallets: 17, events: 30 }
const TIP = 200n

const made = ([8453, 56] as const).map((chainId) => ({
  chainId,
  ...seedRows(plan, ROWS[chainId]),
}))

let store: TestDatabase
let api: Awaited<ReturnType<typeof openApp>>

beforeAll(async () => {
  store = await createTestDatabase()
  api = await openApp({
    databaseUrl: store.url,
    nodes: [{ deployment: seedDeployment(8453) }, { deployment: seedDeployment(56) }],
  })
  for (const { chainId, ...rows } of made) await writeSeeded(api.database, chainId, blockOf(TIP), rows)
})
afterAll(async () => {
  await api?.close()
  await store?.close()
})

const Row = z.looseObject({ chainId: z.number(), id: z.number(), createdBlock: z.number() })
const Rows = z.array(Row)
const Meta = z.custom<ListingMeta>()

const ask = async (path: string, query: Readonly<Record<string, unknown>> = {}) => {
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  )
  const answer = await api.get(`${path}?${search}`)
  return { ...answer, rows: answer.status === 200 ? Rows.parse(answer.data) : [], meta: Meta.parse(answer.meta) }
}

/** All pages of a list. */
const readPages = async (path: string, query: Readonly<Record<string, unknown>> = {}) => {
  const rows: z.output<typeof Row>[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await ask(path, { ...query, ...(cursor && { cursor }) })
    expect(page.status).toBe(200)
    rows.push(...page.rows)
    cursor = page.meta.nextCursor
    expect(page.meta.hasMore).toBe(cursor !== null)
  }
  return rows
}

const idsOf = (rows: readonly { readonly chainId: number; readonly id: number }[]): string[] =>
  rows.map(({ chainId, id }) => `${chainId}/${id}`)

type Made = (typeof made)[number]

/** The expected rows of a list, by the generated rows. */
const expected = <K extends 'events' | 'deposits' | 'positions'>(
  kind: K,
  keep: (row: Made[K][number], of: Made) => boolean,
) =>
  made.flatMap((of) =>
    of[kind]
      .filter((row) => keep(row, of))
      .map(({ fact }) => ({ chainId: of.chainId, id: Number(fact.id), block: fact.blockNumber })),
  )

/** Sorts by time, which is equal for equal blocks of both chains, then by chain id, then by id. */
const inOrder = (rows: ReturnType<typeof expected>, order: 1 | -1): string[] =>
  idsOf([...rows].sort((a, b) => order * Number(a.block - b.block) || a.chainId - b.chainId || order * (a.id - b.id)))

const eventOf = (of: Made, id: bigint) => {
  const event = of.events.find(({ fact }) => fact.id === id)
  if (event === undefined) throw new Error(`no event ${id}`)
  return event.seen
}

const now = blockOf(TIP).timestamp

describe('each filter selects the matching rows', () => {
  const wallets = [walletOf(3), walletOf(5)]
  test.each<[string, Record<string, unknown>, (row: Made['positions'][number], of: Made) => boolean]>([
    ['nothing', {}, () => true],
    ['a wallet', { wallet: wallets[0] }, ({ fact }) => fact.hedger === wallets[0]],
    [
      'wallets, one of them twice',
      { wallet: [...wallets, wallets[0]?.toLowerCase()] },
      ({ fact }) => wallets.includes(fact.hedger),
    ],
    ['an event', { eventId: 8 }, ({ fact }) => fact.eventId === 8n],
    ['claimed', { claimed: true }, ({ seen }) => seen.position.claimed],
    ['not claimed', { claimed: false }, ({ seen }) => !seen.position.claimed],
    ['claimable', { claimable: true }, ({ seen }) => seen.position.status === 4],
    ['not claimable', { claimable: false }, ({ seen }) => seen.position.status !== 4],
    [
      'all at once',
      { wallet: wallets, eventId: 8, claimable: true, claimed: false },
      ({ fact, seen }) => wallets.includes(fact.hedger) && fact.eventId === 8n && seen.position.status === 4,
    ],
  ])('positions: %s', async (_, query, keep) => {
    const rows = expected('positions', keep)
    for (const [order, sign] of [
      ['desc', -1],
      ['asc', 1],
    ] as const) {
      expect(idsOf(await readPages('/hedge/positions', { ...query, order, limit: 37 }))).toEqual(inOrder(rows, sign))
    }
    const page = await ask('/hedge/positions', { ...query, count: true, limit: 1 })
    expect(page.meta.total).toBe(rows.length)
  })

  const isSettled = (of: Made, id: bigint): boolean => eventOf(of, id).stats.settledAt > 0n
  test.each<[string, Record<string, unknown>, (row: Made['deposits'][number], of: Made) => boolean]>([
    ['nothing', {}, () => true],
    ['wallets', { wallet: wallets }, ({ fact }) => wallets.includes(fact.lp)],
    ['an event of one chain', { eventId: 4, chainId: 56 }, ({ fact }, of) => fact.eventId === 4n && of.chainId === 56],
    ['withdrawn', { withdrawn: true }, ({ seen }) => seen.deposit.withdrawn],
    ['not withdrawn', { withdrawn: false }, ({ seen }) => !seen.deposit.withdrawn],
    [
      'claimable',
      { claimable: true },
      ({ fact, seen }, of) => seen.pending > 0n || (isSettled(of, fact.eventId) && !seen.deposit.withdrawn),
    ],
    [
      'not claimable',
      { claimable: false },
      ({ fact, seen }, of) => seen.pending === 0n && (!isSettled(of, fact.eventId) || seen.deposit.withdrawn),
    ],
  ])('deposits: %s', async (_, query, keep) => {
    expect(idsOf(await readPages('/hedge/deposits', { ...query, limit: 50 }))).toEqual(
      inOrder(expected('deposits', keep), -1),
    )
  })

  test.each<[string, Record<string, unknown>, (row: Made['events'][number]) => boolean]>([
    ['nothing', {}, () => true],
    ['a creator', { creator: walletOf(7) }, ({ fact }) => fact.creator === walletOf(7)],
    ['a pair', { underlying: pairs[1] }, ({ fact }) => fact.underlying === pairs[1]],
    ['a token', { paymentToken: seedToken }, () => true],
    ['another token', { paymentToken: zeroAddress }, () => false],
    ['upward', { strikeAbove: true }, ({ seen }) => seen.core.strikeAbove],
    ['a pool that takes deposits', { poolOpen: true }, ({ seen }) => seen.core.poolOpen && seen.stats.settledAt === 0n],
    ['a pool that takes none', { poolOpen: false }, ({ seen }) => !seen.core.poolOpen || seen.stats.settledAt > 0n],
    ['open', { state: 'open' }, ({ fact, seen }) => seen.stats.settledAt === 0n && fact.expiryDate > now],
    ['expired', { state: 'expired' }, ({ fact, seen }) => seen.stats.settledAt === 0n && fact.expiryDate <= now],
    ['settled', { state: 'settled' }, ({ seen }) => seen.stats.settledAt > 0n],
    ['triggered', { state: 'triggered' }, ({ seen }) => seen.stats.triggered],
    [
      'expiries',
      { expiryFrom: 1_800_012_000, expiryTo: 1_800_030_000 },
      ({ fact }) => fact.expiryDate >= 1_800_012_000n && fact.expiryDate <= 1_800_030_000n,
    ],
    [
      'several',
      { state: 'open', underlying: pairs[0], poolOpen: true },
      ({ fact, seen }) =>
        seen.stats.settledAt === 0n && fact.expiryDate > now && fact.underlying === pairs[0] && seen.core.poolOpen,
    ],
  ])('events: %s', async (_, query, keep) => {
    expect(idsOf(await readPages('/hedge/events', { ...query, limit: 13 }))).toEqual(
      inOrder(expected('events', keep), -1),
    )
  })

  test('events can be sorted by expiry', async () => {
    const all = made.flatMap(({ chainId, events }) =>
      events.map(({ fact }) => ({ chainId, id: Number(fact.id), expiry: fact.expiryDate })),
    )
    const sorted = (order: 1 | -1) =>
      idsOf(
        [...all].sort((a, b) => order * Number(a.expiry - b.expiry) || a.chainId - b.chainId || order * (a.id - b.id)),
      )
    expect(idsOf(await readPages('/hedge/events', { sort: 'expiry', order: 'asc', limit: 7 }))).toEqual(sorted(1))
    expect(idsOf(await readPages('/hedge/events', { sort: 'expiry', limit: 7 }))).toEqual(sorted(-1))
  })
})
