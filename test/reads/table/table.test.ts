import { expect, test } from 'vitest'
import * as administration from '../../../src/protocol/administration.ts'
import { profiles } from '../../../src/protocol/profiles.ts'
import * as record from '../../../src/protocol/records.ts'
import type { ReadSources } from '../../../src/reads/read.ts'
import { reads } from '../../../src/reads/table/table.ts'
import {
  blockOf,
  seedDeployment,
  seedDeposit,
  seedEvent,
  seedPosition,
  seedToken,
  walletOf,
} from '../../support/seed-index.ts'

/* Each single read returns the record of its own views, at the time of its block. */

const plan = { token: seedToken, wallets: 10, events: 1, rowsABlock: 5 } as const
const event = seedEvent(1, plan)
const { seen: deposit } = seedDeposit(1, plan)
const { seen: position } = seedPosition(1, plan)
const block = blockOf(70n)
const fees = {
  ...{ eventCreationFee: 1n, hedgerFeeRate: 2n, hedgerPayoutFeeRate: 3n, lpProfitFeeRate: 4n, creatorLoyaltyRate: 5n },
}

const outputs: Readonly<Record<string, unknown>> = {
  ...{ getHedgeFeeConfig: fees, isPaused: true, getTotalHedgeEvents: 12n, getPricingEngineSigner: walletOf(3) },
  ...{ getHedgeEventCore: event.seen.core, getHedgeEventStats: event.seen.stats },
  ...{ getHedgeEventRange: event.seen.range, getPoolUtilization: event.seen.utilization },
  ...{ getEventPaymentToken: seedToken, quoteRangePayout: 99n },
  ...{ getHedgePosition: position.position, getHedgeLpDeposit: deposit.deposit, pendingPremiums: deposit.pending },
  ...{ owner: walletOf(4), pendingOwner: walletOf(5), getOracles: [walletOf(6)] },
}

const open = (deployment = seedDeployment(8453), given = outputs) => {
  const called: string[] = []
  const chain = {
    deployment,
    pinned: (run: (at: object) => unknown) => run(block),
    async readAt(_: object, views: readonly { readonly name: string }[]) {
      called.push(...views.map(({ name }) => name))
      return views.map(({ name }) => ({ ok: true, value: given[name] }))
    },
  }
  const indexed = async () => ({ createdBlock: 7 })
  const chains = new Map([[8453, chain]])
  const sources = { chains, queries: {}, indexed, maxLagSeconds: 60 } as unknown as ReadSources
  const dataOf = async (path: string, input: object = {}) => {
    const read = reads.find((it) => it.path === path)
    const answer = await read?.answer(sources, { chainId: 8453, id: 1, ...input } as never)
    if (answer === undefined || !('data' in answer)) throw new Error(`no data of ${path}`)
    return { read, data: answer.data }
  }
  return { dataOf, called }
}

test.each<[string, unknown]>([
  ['/hedge/fees', record.feeConfig(8453, fees)],
  ['/hedge/paused/:chainId', true],
  ['/hedge/pricing-engine-signer/:chainId', walletOf(3)],
  ['/hedge/events/:chainId/total', 12],
  ['/hedge/events/:chainId/:id', expect.objectContaining({ ...record.eventCore(event.seen), createdBlock: 7 })],
  ['/hedge/events/:chainId/:id/stats', record.eventStats(event.seen.stats)],
  ['/hedge/events/:chainId/:id/range', record.eventRange(event.seen.range)],
  [
    '/hedge/events/:chainId/:id/utilization',
    record.utilization({ ...event.seen, time: block.timestamp }, profiles.reference),
  ],
  ['/hedge/quote-payout/:chainId/:id', '99'],
  ['/hedge/positions/:chainId/:id', expect.objectContaining({ ...record.position(position), createdBlock: 7 })],
  ['/hedge/deposits/:chainId/:id', expect.objectContaining({ ...record.deposit(deposit), createdBlock: 7 })],
  ['/hedge/deposits/:chainId/:id/pending', deposit.pending.toString()],
  ['/oracle/oracles/:chainId', [walletOf(6)]],
  ['/governance/owner', { chainId: 8453, owner: walletOf(4), pendingOwner: walletOf(5) }],
])('%s returns its record', async (path, data) => {
  const { dataOf } = open()
  const found = await dataOf(path, { hypoSettlement: 12_500_000n, notional: 5n })
  expect(found.data).toEqual(data)
})

test('an event of a deployment has no capacity from its expiry on, by the time of the block', async () => {
  const deployment = { ...seedDeployment(8453), profile: 'deployed' } as const
  const capacityUntil = async (expiryDate: bigint): Promise<bigint> => {
    const core = { ...event.seen.core, status: 0, poolOpen: true, expiryDate }
    const { dataOf } = open(deployment, { ...outputs, getHedgeEventCore: core })
    const { data } = await dataOf('/hedge/events/:chainId/:id/utilization')
    return BigInt(Object(data).availableCapacity)
  }
  expect(await capacityUntil(block.timestamp + 1n)).toBeGreaterThan(0n)
  expect(await capacityUntil(block.timestamp)).toBe(0n)
})

test('the settlement of an event is the time of its stats, and other reads have none', async () => {
  const { dataOf } = open()
  const { read, data } = await dataOf('/hedge/events/:chainId/:id/stats')
  expect(read?.settledAt?.({ ...Object(data), settledAt: 7 })).toBe(7)
  expect(reads.filter(({ settledAt }) => settledAt !== undefined)).toEqual([read])
})

test('reads are of the tags of their group, in the order of the table', () => {
  const tags = [...new Set(reads.map(({ tag }) => tag))]
  expect(tags).toEqual(['Protocol', 'Events', 'Positions', 'Deposits', 'Oracle', 'Governance'])
  expect(reads.find(({ path }) => path === '/hedge/deposits/:chainId/:id')?.tag).toBe('Deposits')
  expect(reads.map(({ path }) => path).filter((path, at, all) => all.indexOf(path) !== at)).toEqual([])
  expect([administration.Ownership, administration.Facets]).toContain(
    reads.find(({ path }) => path === '/governance/owner')?.data,
  )
})
