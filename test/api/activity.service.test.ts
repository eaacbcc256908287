import { parseAbi } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { openApp } from '../support/app.ts'
import { startIndexed, type World } from '../support/indexing.ts'

const USDC = 10n ** 6n

let indexed: Awaited<ReturnType<typeof startIndexed>>
let worlds: readonly World[]
let base: World
let api: Awaited<ReturnType<typeof openApp>>

const Row = z.object({
  chainId: z.number(),
  type: z.string(),
  blockNumber: z.number(),
  blockHash: z.string(),
  blockTimestamp: z.number(),
  txHash: z.string(),
  logIndex: z.number(),
  eventId: z.number().nullable(),
  depositId: z.number().nullable(),
  positionId: z.number().nullable(),
  wallet: z.string().nullable(),
  direction: z.enum(['in', 'out']).nullable(),
  amount: z.string().nullable(),
  fee: z.string().nullable(),
  netAmount: z.string().nullable(),
  token: z.string().nullable(),
  symbol: z.string().nullable(),
  decimals: z.number().nullable(),
  log: z.string().nullable(),
  args: z.record(z.string(), z.unknown()),
})
type Row = z.output<typeof Row>

/** A life with every kind of payment: event 2 was settled by `startWorld`. */
const live = async ({ actions, creator, lp, hedger, owner }: World): Promise<void> => {
  await actions.claimPayout(hedger, 4n)
  await actions.withdrawCapital(creator, 2n)
  await actions.claimPremiums(creator, 1n)
  await actions.withdrawCreatorEarnings(creator, 1n)
  await actions.buy(hedger, 1n, 321n * USDC)
  await actions.deposit(lp, 1n, 777n * USDC)
  await actions.warp((await actions.now()) + 40 * 86_400)
  await actions.settle(owner, 1n, 12_500_000n)
  await actions.claimPayout(hedger, 1n)
  await actions.withdrawCapital(lp, 4n)
}

beforeAll(async () => {
  indexed = await startIndexed([8453, 56])
  worlds = indexed.worlds
  base = indexed.world
  api = await indexed.open()
  for (const world of worlds) await live(world)
  await indexed.quiet()
})
afterAll(() => indexed?.close())

/** All rows of a query, page by page. */
const rowsOf = async (query: string, limit = 200): Promise<Row[]> => {
  const rows: Row[] = []
  for (let cursor = ''; ; ) {
    const answer = await api.get(`/activity?${query}&limit=${limit}${cursor && `&cursor=${cursor}`}`)
    expect([answer.status, answer.error]).toEqual([200, undefined])
    rows.push(...z.array(Row).parse(answer.data))
    const { nextCursor } = z.looseObject({ nextCursor: z.string().nullable() }).parse(answer.meta)
    if (nextCursor === null) return rows
    cursor = nextCursor
  }
}

const placeOf = ({ blockNumber, logIndex }: Row): string => `${blockNumber} ${logIndex}`

test('each log of the diamond is one row, with its block, its time and its transaction, in both orders', async () => {
  for (const { deployment, actions } of worlds) {
    const { chainId, diamond } = deployment
    const logs = await actions.client.getLogs({ address: diamond, fromBlock: 0n, toBlock: 'latest' })
    const times = new Map<bigint, number>()
    for (const { blockNumber } of logs)
      if (!times.has(blockNumber))
        times.set(blockNumber, Number((await actions.client.getBlock({ blockNumber })).timestamp))
    const expected = logs.map((log) => ({
      blockNumber: Number(log.blockNumber),
      blockHash: log.blockHash,
      blockTimestamp: times.get(log.blockNumber),
      txHash: log.transactionHash,
      logIndex: log.logIndex,
    }))
    const rows = await rowsOf(`chainId=${chainId}&order=asc`, 7)
    expect(
      rows.map(({ blockNumber, blockHash, blockTimestamp, txHash, logIndex }) => ({
        ...{ blockNumber, blockHash, blockTimestamp, txHash, logIndex },
      })),
    ).toEqual(expected)
    expect(rows.filter(({ type }) => type === 'unknown')).toEqual([])
    const newestFirst = await rowsOf(`chainId=${chainId}`, 11)
    expect(newestFirst.toReversed().map(placeOf)).toEqual(rows.map(placeOf))
  }
})

const transfers = parseAbi(['event Transfer(address indexed from, address indexed to, uint256 value)'])

test('the activity of each wallet adds up to the tokens that it paid to the protocol and got from it', async () => {
  for (const { deployment, actions, creator, lp, hedger } of worlds) {
    const { chainId, diamond, usdc } = deployment
    const moved = await actions.client.getLogs({ address: usdc, events: transfers, fromBlock: 0n, toBlock: 'latest' })
    for (const wallet of [creator, lp, hedger].map(({ account }) => account.address)) {
      const received = moved.reduce((sum, { args: { from, to, value = 0n } }) => {
        if (from === diamond && to === wallet) return sum + value
        return from === wallet && to === diamond ? sum - value : sum
      }, 0n)
      const rows = await rowsOf(`chainId=${chainId}&wallet=${wallet}`)
      const net = rows.reduce((sum, { direction, netAmount }) => {
        const amount = BigInt(netAmount ?? 0)
        return direction === null ? sum : direction === 'in' ? sum + amount : sum - amount
      }, 0n)
      expect([wallet, net]).toEqual([wallet, received])
      expect(received).not.toBe(0n)
      for (const row of rows.filter(({ netAmount }) => netAmount !== null))
        expect([row.token, row.symbol, row.decimals]).toEqual([usdc, 'USDC', deployment.paymentDecimals.USDC])
    }
  }
})

test('rows have the ids of their event, and the claims of deposits and positions have them too', async () => {
  const rows = await rowsOf('chainId=8453&order=asc')
  const ids = (type: string) =>
    rows.flatMap((row) => (row.type === type ? [[row.eventId, row.depositId, row.positionId]] : []))
  expect(ids('event.created').slice(0, 3)).toEqual([
    [1, null, null],
    [2, null, null],
    [3, null, null],
  ])
  expect(ids('payout.claimed')).toEqual([
    [2, null, 4],
    [1, null, 1],
  ])
  expect(ids('premiums.claimed')).toEqual([
    [1, 4, null],
    [1, 1, null],
  ])
  expect(ids('capital.withdrawn')).toEqual([
    [2, 2, null],
    [1, 4, null],
  ])
  const pools = rows.filter(({ type }) => type === 'pool.updated')
  expect(new Set(pools.map(({ wallet }) => wallet))).toEqual(new Set([base.creator.account.address]))
})

describe('a filter', () => {
  /** The same selection among all rows of the chain. */
  const among = async (keep: (row: Row) => boolean) => (await rowsOf('chainId=8453')).filter(keep).map(placeOf)
  const found = async (query: string) => (await rowsOf(`chainId=8453&${query}`, 3)).map(placeOf)
  const cases: readonly (readonly [string, () => string, () => (row: Row) => boolean])[] = [
    [
      'of an event',
      () => 'eventId=1',
      () =>
        ({ eventId }) =>
          eventId === 1,
    ],
    [
      'of a deposit',
      () => 'depositId=4',
      () =>
        ({ depositId }) =>
          depositId === 4,
    ],
    [
      'of a position',
      () => 'positionId=4',
      () =>
        ({ positionId }) =>
          positionId === 4,
    ],
    [
      'of types',
      () => 'type=payout.claimed,deposit.created',
      () =>
        ({ type }) =>
          type === 'payout.claimed' || type === 'deposit.created',
    ],
    [
      'of a type that is named three times',
      () => 'type=payout.claimed,payout.claimed,payout.claimed',
      () =>
        ({ type }) =>
          type === 'payout.claimed',
    ],
    [
      'of types of an event',
      () => 'type=payout.claimed,position.created&eventId=1',
      () =>
        ({ type, eventId }) =>
          eventId === 1 && (type === 'payout.claimed' || type === 'position.created'),
    ],
    [
      'of wallets',
      () => `wallet=${base.lp.account.address},${base.hedger.account.address}`,
      () =>
        ({ wallet }) =>
          wallet === base.lp.account.address || wallet === base.hedger.account.address,
    ],
    [
      'of a wallet, a type and an event',
      () => `wallet=${base.hedger.account.address.toLowerCase()}&type=position.created&eventId=2`,
      () =>
        ({ wallet, type, eventId }) =>
          wallet === base.hedger.account.address && type === 'position.created' && eventId === 2,
    ],
  ]
  test.each(cases)('%s', async (_, query, keep) => {
    const expected = await among(keep())
    expect(expected).not.toEqual([])
    expect(await found(query())).toEqual(expected)
  })

  test('of blocks and of times includes both ends', async () => {
    const rows = await rowsOf('chainId=8453')
    const [late, early] = [rows[4], rows[12]]
    if (late === undefined || early === undefined) throw new Error('too few rows')
    const inBlocks = await among(
      ({ blockNumber }) => blockNumber >= early.blockNumber && blockNumber <= late.blockNumber,
    )
    expect(await found(`from=${early.blockNumber}&to=${late.blockNumber}`)).toEqual(inBlocks)
    const inTime = await among(({ blockTimestamp: at }) => at >= early.blockTimestamp && at <= late.blockTimestamp)
    expect(await found(`from=${early.blockTimestamp}&to=${late.blockTimestamp}`)).toEqual(inTime)
    const iso = (seconds: number) => new Date(seconds * 1_000).toISOString()
    expect(await found(`from=${iso(early.blockTimestamp)}&to=${iso(late.blockTimestamp)}`)).toEqual(inTime)
    expect(await found('to=1000000000')).toEqual([])
  })
})

const Ended = z.object({
  id: z.number(),
  createdAt: z.number(),
  createdTx: z.string(),
  createdLogIndex: z.number(),
  settledBlock: z.number().nullable().optional(),
  settledTx: z.string().nullable().optional(),
  withdrawnAt: z.number().nullable().optional(),
  withdrawnTx: z.string().nullable().optional(),
  claimedAt: z.number().nullable().optional(),
  claimedTx: z.string().nullable().optional(),
})

test('rows of lists and portfolios have the times and transactions of their creation and of their end', async () => {
  for (const { deployment, hedger, lp, creator } of worlds) {
    const { chainId } = deployment
    const activity = await rowsOf(`chainId=${chainId}&order=asc`)
    const logOf = (type: string, id: 'eventId' | 'depositId' | 'positionId', of: number) =>
      activity.findLast((row) => row.type === type && row[id] === of)
    const expected = {
      events: ({ id }: { readonly id: number }) => {
        const [made, end] = [logOf('event.created', 'eventId', id), logOf('event.settled', 'eventId', id)]
        return { made, end: { settledBlock: end?.blockNumber ?? null, settledTx: end?.txHash ?? null } }
      },
      deposits: ({ id }: { readonly id: number }) => {
        const [made, end] = [logOf('deposit.created', 'depositId', id), logOf('capital.withdrawn', 'depositId', id)]
        return { made, end: { withdrawnAt: end?.blockTimestamp ?? null, withdrawnTx: end?.txHash ?? null } }
      },
      positions: ({ id }: { readonly id: number }) => {
        const [made, end] = [logOf('position.created', 'positionId', id), logOf('payout.claimed', 'positionId', id)]
        return { made, end: { claimedAt: end?.blockTimestamp ?? null, claimedTx: end?.txHash ?? null } }
      },
    }
    const wallets = [hedger, lp, creator].map(({ account }) => account.address)
    const portfolios = await api.post('/wallets/portfolio', { wallets, chainIds: [chainId], state: 'all' })
    const held = z.array(z.record(z.string(), z.unknown())).parse(portfolios.data)
    for (const [kind, of] of Object.entries(expected)) {
      const listed = z.array(Ended).parse((await api.get(`/hedge/${kind}?chainId=${chainId}&limit=200`)).data)
      const inPortfolios = held.flatMap((portfolio) => z.array(Ended).parse(portfolio[kind]))
      expect([kind, listed.length, inPortfolios.length > 0]).toEqual([kind, listed.length, true])
      for (const row of [...listed, ...inPortfolios]) {
        const { made, end } = of(row)
        expect(row).toEqual({
          ...{ id: row.id, createdAt: made?.blockTimestamp, createdTx: made?.txHash, createdLogIndex: made?.logIndex },
          ...end,
        })
      }
      expect(listed.some((row) => row.settledTx != null || row.withdrawnTx != null || row.claimedTx != null)).toBe(true)
    }
  }
})

test('rows of several chains are in the order of their times, and each is on one page', async () => {
  const rows = await rowsOf('order=asc', 13)
  const each = await Promise.all(worlds.map(({ deployment }) => rowsOf(`chainId=${deployment.chainId}`)))
  expect(rows).toHaveLength(each.flat().length)
  expect(new Set(rows.map((row) => `${row.chainId} ${placeOf(row)}`)).size).toBe(rows.length)
  expect(rows.every((row, at) => at === 0 || (rows[at - 1]?.blockTimestamp ?? 0) <= row.blockTimestamp)).toBe(true)
})

test('a page has a tag that a new row of its wallet changes, and that of another wallet keeps', async () => {
  await indexed.quiet()
  const [lp, hedger] = [base.lp, base.hedger].map(
    ({ account }) => `/v1/activity?chainId=8453&wallet=${account.address}`,
  )
  const tagOf = async (url = '') => String((await api.app.inject({ url })).headers.etag)
  const [ofLp, ofHedger] = [await tagOf(lp), await tagOf(hedger)]
  await base.actions.deposit(base.lp, 3n, 50n * USDC).catch(() => base.actions.setPool(base.creator, 3n, true, true))
  await base.actions.deposit(base.lp, 3n, 50n * USDC)
  await indexed.quiet()
  const statusOf = async (url = '', tag = '') =>
    (await api.app.inject({ url, headers: { 'if-none-match': tag } })).statusCode
  expect([await statusOf(lp, ofLp), await statusOf(hedger, ofHedger)]).toEqual([200, 304])
})

test.each([
  ['from=yesterday', 'from'],
  ['to=2026-13-01', 'to'],
  ['from=2026-09-30T12:00:00', 'from'],
  ['from=5', 'from'],
  ['chainId=8453&from=6&to=5', 'from'],
  ['from=1790000001&to=1790000000', 'from'],
  ['type=claimed', 'type'],
  ['wallet=0x12', 'wallet'],
  ['limit=201', 'limit'],
  ['cursor=abc', 'cursor'],
  ['positionid=1', 'positionid'],
])('%s is a 400 that names the field', async (query, field) => {
  const { status, error } = await api.get(`/activity?${query}`)
  expect([status, error?.details?.[0]?.path]).toEqual([400, field])
})
