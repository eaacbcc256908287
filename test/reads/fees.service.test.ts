import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { concat, parseEventLogs, type TransactionReceipt, toHex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { createLogGaps } from '../../src/indexer/log-gaps.ts'
import { PositionRow } from '../../src/reads/lists/records.ts'
import { Portfolio } from '../../src/reads/portfolio/records.ts'
import { chainOf } from '../../src/reads/read.ts'
import type { Wallet } from '../../src/sandbox/story/accounts.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { feeActions } from '../support/fees.ts'
import { indexAll } from '../support/index-all.ts'
import { ownerCalls } from '../support/owner-calls.ts'
import { startWorld } from '../support/world.ts'

/* What claims pay, as the API announces it, compared with what claims on the node pay. */

const USDC = 10n ** 6n
const DAY = 86_400

let world: Awaited<ReturnType<typeof startWorld>>
let store: TestDatabase
let api: Awaited<ReturnType<typeof openApp>>

const index = () => indexAll({ chain: chainOf(api.sources.chains, 8453), database: api.database })

/**
 * Events 4 to 6 have rates of their own. Event 5 is created in the block of a change, before it; event 6 after one. All
 * three are triggered; event 1 stays open.
 */
beforeAll(async () => {
  ;[world, store] = await Promise.all([startWorld(), createTestDatabase()])
  const { actions, creator, lp, hedger, owner, upward } = world
  const fees = feeActions(world)
  const expiry = (await actions.now()) + DAY
  const event = { ...upward, strike: 12_000_007n, expiry }
  await fees.setFees([4_001n, 33_333n, 44_443n, 90_001n])
  await actions.createEvent(creator, event)
  await fees.inEventsBlock([3_001n, 77_777n, 11_113n, 80_001n], event, 'after')
  await fees.inEventsBlock([2_001n, 99_991n, 99_989n, 70_001n], event, 'before')
  for (const id of [4n, 5n, 6n]) {
    await actions.setPool(creator, id, true, true)
    await actions.deposit(lp, id, 4_321n * USDC + 7n)
    await actions.buy(hedger, id, 3_333_333_333n + id)
    await actions.buy(hedger, id, 12_345_679n)
  }
  // Later rates must not apply to any of them.
  await fees.setFees([1n, 2n, 3n, 4n])
  await actions.node.increaseTime({ seconds: 2 * DAY })
  await actions.node.mine({ blocks: 1 })
  for (const id of [4n, 5n, 6n]) await actions.settle(owner, id, 12_512_347n)
  api = await openApp({ databaseUrl: store.url, nodes: [{ url: world.anvil.url, deployment: world.deployment }] })
  await index()
})
afterAll(async () => {
  await api?.close()
  await Promise.all([store?.close(), world?.close()])
})

const portfolio = async (wallet: Wallet) => {
  const { data } = await api.get(`/wallets/${wallet.account.address}/portfolio?chainId=8453`)
  return Portfolio.parse(data)
}

const payouts = async (query = '&order=asc'): Promise<z.output<typeof PositionRow>[]> => {
  const { data } = await api.get(`/hedge/positions?chainId=8453&include=payout${query}`)
  return z.array(PositionRow).parse(data)
}

/** The amounts in the log of a claim. */
const paidBy = ({ logs }: TransactionReceipt) => {
  const [log] = parseEventLogs({ abi: protocolAbi, logs, eventName: ['PayoutClaimed', 'PremiumsClaimed'] })
  if (log === undefined) throw new Error('the transaction claimed nothing')
  const { fee } = log.args
  const isPayout = log.eventName === 'PayoutClaimed'
  const [gross, net] = isPayout
    ? [log.args.grossPayout, log.args.netPayout]
    : [log.args.grossAmount, log.args.netAmount]
  return { amount: String(gross), fee: String(fee), net: String(net) }
}

test('a row shows its payout once its event is settled, also next to records of its event and by its id', async () => {
  const rows = await payouts()
  expect(rows.filter(({ payout }) => payout === null).map(({ eventId }) => eventId)).toEqual([1, 1, 1])
  for (const { payout, payoutAmount } of rows.filter(({ eventId }) => eventId !== 1))
    expect(payout?.gross).toBe(payoutAmount)
  expect(new Set(rows.map(({ payout }) => payout?.fee)).size).toBeGreaterThan(5)
  const [, , , first] = rows
  for (const query of ['&ids=4', `&wallet=${world.hedger.account.address}&claimable=true`, '&eventId=2']) {
    const found = await payouts(query)
    expect(found.find(({ id }) => id === 4)).toEqual(first)
  }
  const { data } = await api.get('/hedge/positions?chainId=8453&ids=4,5&include=range,event,payout,stats')
  const [withRecords, other] = z.array(PositionRow).parse(data)
  expect([withRecords?.payout, other?.payout]).toEqual([first?.payout, rows[4]?.payout])
  expect(withRecords?.event).toMatchObject({ id: 2, state: 'triggered' })
  expect(withRecords?.range).toEqual((await api.get('/hedge/events/8453/2/range')).data)
  expect((await api.get('/hedge/events?include=payout')).status).toBe(400)
  expect((await api.get('/hedge/deposits?include=payout')).status).toBe(400)
})

test('a row that is not observed yet shows the same payout', async () => {
  const rows = await payouts()
  await api.database.run(async (handle) => {
    await handle.execute(sql`CREATE TABLE aside AS SELECT * FROM position_observations`)
    await handle.execute(sql`DELETE FROM position_observations`)
  })
  expect(await payouts()).toEqual(rows)
  await api.database.run(async (handle) => {
    await handle.execute(sql`INSERT INTO position_observations SELECT * FROM aside`)
    await handle.execute(sql`DROP TABLE aside`)
  })
})

test('without the rates, fee and net are null and everything else is the same', async () => {
  const before = { rows: await payouts(), portfolio: await portfolio(world.hedger), lp: await portfolio(world.lp) }
  await api.database.run((handle) => handle.execute(sql`UPDATE cursors SET fees_number = NULL, fees_hash = NULL`))
  const rows = await payouts()
  expect(rows).toEqual(
    before.rows.map(({ payout, ...row }) => ({
      ...row,
      payout: payout && { ...payout, fee: null, net: null, feeReason: 'rates_unknown' },
    })),
  )
  const { claimables, ...rest } = await portfolio(world.hedger)
  expect({ ...rest, claimables: claimables.map(({ amount }) => amount) }).toEqual({
    ...before.portfolio,
    claimables: before.portfolio.claimables.map(({ amount }) => amount),
  })
  for (const claim of claimables) expect([claim.fee, claim.net]).toEqual([null, null])
  for (const { kind, amount, fee, net } of (await portfolio(world.lp)).claimables)
    expect([fee, net]).toEqual(kind === 'capital' ? ['0', amount] : [null, null])
  const history = createLogGaps({
    ...{ chain: chainOf(api.sources.chains, 8453), database: api.database, log: pino({ level: 'silent' }) },
  })
  await history.fill(new AbortController().signal)
  expect(await payouts()).toEqual(before.rows)
  expect((await portfolio(world.hedger)).claimables).toEqual(before.portfolio.claimables)
  expect((await portfolio(world.lp)).claimables).toEqual(before.lp.claimables)
})

/** The protocol's view with other code, which reports these rates without a log. */
const report = async (rates: readonly bigint[]): Promise<void> => {
  const words = [1_000_000n, ...rates].map((word) => toHex(word, { size: 32 }))
  await ownerCalls(world).replaceView('getHedgeFeeConfig()', concat(words))
  await index()
}

test('rates that an upgrade changed without a log make fee and net null, until the logs explain them', async () => {
  const before = { rows: await payouts(), hedger: await portfolio(world.hedger), lp: await portfolio(world.lp) }
  const status = async () => {
    const { payload } = await api.app.inject({ url: '/status' })
    const chain = z.looseObject({ chainId: z.number(), alarms: z.array(z.string()) })
    const { chains } = z.object({ data: z.looseObject({ chains: z.array(chain) }) }).parse(JSON.parse(payload)).data
    return chains.find(({ chainId }) => chainId === 8453)?.alarms.filter((it) => it.includes('fee rates'))
  }
  const unchanged = async () => {
    expect(await payouts()).toEqual(before.rows)
    expect((await portfolio(world.hedger)).claimables).toEqual(before.hedger.claimables)
    expect((await portfolio(world.lp)).claimables).toEqual(before.lp.claimables)
    expect(await status()).toEqual([])
    expect(await api.metrics.metrics()).toContain('fx_index_fees_contradicted{chain="8453"} 0\n')
  }
  const contradicted = async () => {
    const none = { fee: null, net: null, feeReason: 'rates_contradicted' }
    expect(await payouts()).toEqual(
      before.rows.map(({ payout, ...row }) => ({ ...row, payout: payout && { ...payout, ...none } })),
    )
    for (const claim of (await portfolio(world.hedger)).claimables) expect(claim).toMatchObject(none)
    for (const { kind, amount, fee, net } of (await portfolio(world.lp)).claimables)
      expect([fee, net]).toEqual(kind === 'capital' ? ['0', amount] : [null, null])
    expect(await status()).toEqual([expect.stringContaining('1, 2, 3, 5, and the newest log')])
    expect(await api.metrics.metrics()).toContain('fx_index_fees_contradicted{chain="8453"} 1\n')
  }
  expect(before.rows.some(({ payout }) => payout?.fee != null)).toBe(true)
  await unchanged()
  await report([1n, 2n, 3n, 5n])
  await contradicted()
  await report([1n, 2n, 3n, 4n])
  await unchanged()
  await report([1n, 2n, 3n, 5n])
  await contradicted()
  await feeActions(world).setFees([1n, 2n, 3n, 5n])
  await index()
  await unchanged()
})

test('claims on the node pay what the portfolio and the row announce, to the unit', async () => {
  const { actions, hedger, lp, creator } = world
  const rows = new Map((await payouts()).map((row) => [row.id, row]))
  let claimed = 0
  for (const wallet of [hedger, lp, creator]) {
    for (const { kind, id, amount, fee, net } of (await portfolio(wallet)).claimables) {
      const announced = { amount, fee, net }
      if (kind === 'payout') {
        expect(rows.get(id)?.payout).toEqual({ gross: amount, fee, net, feeReason: null })
        expect(paidBy(await actions.claimPayout(wallet, BigInt(id)))).toEqual(announced)
      } else if (kind === 'premiums') {
        expect(paidBy(await actions.claimPremiums(wallet, BigInt(id)))).toEqual(announced)
      } else expect(announced).toEqual({ amount, fee: '0', net: amount })
      claimed += 1
    }
  }
  // Seven payouts, and premiums of nearly every deposit.
  expect(claimed).toBeGreaterThan(20)
  await index()
  const after = await payouts()
  for (const { id, payout } of after) expect(payout).toEqual(rows.get(id)?.payout)
})
