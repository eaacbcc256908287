import type { Address } from 'viem'
import type { ChainId } from '../protocol/chains.ts'
import type { Token } from '../protocol/tokens.ts'
import { type BuiltTx, encode } from '../tx/build.ts'
import { builderOf } from '../tx/compiled.ts'
import { digestOf } from './step.ts'
import { summaryOf } from './summary.ts'

/*
 * Plans as they are returned for the example bodies. Calldata, summary and digest are computed; amounts are those of
 * docs/plans.md.
 */

const DIAMOND: Address = '0x610178dA211FEF7D417bC0e6FeD39F05609AD788'
const token = {
  token: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  symbol: 'USDC',
  decimals: 6,
} as const satisfies Token

const BLOCK = 31_415_926
const NOW = 1_800_000_000
const MAX_FEE = 1_016_005_500n
const simulation = { status: 'success', code: null, reason: null, hint: null, blockNumber: BLOCK } as const

type Body = { readonly chainId: ChainId; readonly from: Address } & Readonly<Record<string, unknown>>

/** What differs between plans. */
type Facts = {
  /** Gas that each step uses, by the step's id. An id begins with the name of the action. */
  readonly gas: Readonly<Record<string, bigint>>
  /** Arguments of the calls that the body does not have. */
  readonly args?: Readonly<Record<string, string>>
  readonly cost?: { readonly premium: string | null; readonly platformFee: string | null; readonly total: string }
  /** What each step pays: gross and fee. */
  readonly pays?: readonly (readonly [bigint, bigint])[]
  readonly created?: Readonly<Record<string, number>>
  /** The last second at which the plan is accepted. */
  readonly until?: number
}

/** The arguments of an event that the engine priced and signed. */
const quoted = {
  ...{ underlying: 'USD/GHS', strike: '12000000', payoutCap: '13500000', premiumRate: '42347', strikeAbove: true },
  ...{ expiry: String(NOW + 7_776_000), initialRate: '11400000', quoteTimestamp: String(NOW) },
  ...{ signature: `0x${'5f'.repeat(64)}1b`, quoteNonce: `0x${'5f'.repeat(32)}` },
} as unknown as Readonly<Record<string, string>>

const facts: Readonly<Record<string, Facts>> = {
  'create-event': {
    ...{ gas: { 'create-event': 612_345n }, args: quoted, created: { eventId: 1, depositId: 1 }, until: NOW + 120 },
    cost: { premium: null, platformFee: null, total: '75005000000' },
  },
  deposit: {
    ...{ gas: { deposit: 272_113n }, created: { depositId: 2 }, until: NOW + 7_776_000 },
    cost: { premium: null, platformFee: null, total: '1000000000' },
  },
  'buy-protection': {
    ...{ gas: { 'buy-protection': 367_261n }, created: { positionId: 5 }, until: NOW + 601 },
    args: { maxCost: '231150000', deadline: String(NOW + 601) },
    cost: { premium: '230000000', platformFee: '1150000', total: '231150000' },
  },
  'claim-payout': { gas: { 'claim-payout': 104_212n }, pays: [[438_596_491n, 4_385_964n]] },
  'claim-premiums': { gas: { 'claim-premiums': 98_431n }, pays: [[334_103_300n, 6_682_066n]] },
  'withdraw-capital': { gas: { 'withdraw-capital': 101_870n }, pays: [[1_000_000_000n, 0n]] },
  'withdraw-creator-earnings': { gas: { 'withdraw-creator-earnings': 82_310n }, pays: [[115_000n, 0n]] },
  'set-pool-settings': { gas: { 'set-pool-settings': 48_902n } },
  'submit-rate': { gas: { 'submit-rate': 142_777n } },
  'claim-all': {
    gas: { 'claim-payout-1': 104_212n, 'claim-premiums-1': 98_431n },
    args: { positionId: '1', depositId: '1' },
    pays: [[438_596_491n, 4_385_964n], [334_103_300n, 6_682_066n]], // biome-ignore format: one row for each step
  },
  'revoke-approval': { gas: { 'revoke-approval': 31_240n }, args: { spender: DIAMOND, amount: '0' } },
}

const camel = (name: string): string => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

/** The call of a step. */
const callOf = (id: string, body: Body, args: Facts['args']) => {
  const isRevocation = id === 'revoke-approval'
  const name = isRevocation ? 'approve' : camel(id.replace(/-\d+$/, ''))
  const builder = builderOf(name as Parameters<typeof builderOf>[0])
  const given: Readonly<Record<string, unknown>> = { ...body, ...args }
  const names = ['chainId', ...builder.arguments.map(({ name }) => name), ...(isRevocation ? ['token'] : [])]
  return encode(builder, DIAMOND, builder.body.parse(Object.fromEntries(names.map((name) => [name, given[name]]))))
}

const hex = (value: bigint | number): string => `0x${value.toString(16)}`

const requestOf = (body: Body, { to, data }: Pick<BuiltTx, 'to' | 'data'>, nth: number, gas: bigint) => ({
  ...{ type: '0x2', chainId: hex(body.chainId), nonce: hex(5 + nth), from: body.from, to, data, value: '0x0' },
  ...{ gas: hex(gas), maxFeePerGas: hex(MAX_FEE), maxPriorityFeePerGas: hex(1_000_000_000) },
})

const payoutOf = ([gross, fee]: readonly [bigint, bigint]) => ({
  ...{ gross: gross.toString(), fee: fee.toString(), net: (gross - fee).toString() },
  ...token,
})

/** Makes the plan of an action for an example body. */
export const examplePlan = (action: string, example: unknown) => {
  const body = example as Body
  const { gas = {}, args, cost, pays = [], created = {}, until = null } = facts[action] ?? {}
  const steps = Object.entries(gas).map(([id, used], nth) => {
    const call = callOf(id, body, args)
    const limit = (used * 13n) / 8n
    const [paid] = pays.slice(nth)
    return {
      ...{ id, transaction: { ...call, estimatedGas: used.toString(), simulation } },
      ...{ request: requestOf(body, call, nth, limit), simulation, payout: paid ? payoutOf(paid) : null, limit },
    }
  })
  const calls = steps.map(({ transaction }) => transaction)
  const total = steps.reduce((sum, { limit }) => sum + limit, 0n) * MAX_FEE
  const sum = pays.reduce<readonly [bigint, bigint]>(
    ([gross, fee], [more, kept]) => [gross + more, fee + kept],
    [0n, 0n],
  )
  const change = sum[0] - sum[1] - BigInt(cost?.total ?? 0)
  const { chainId, from } = body
  return {
    ...{ action, chainId, from, block: { number: BLOCK, hash: `0x${'5f'.repeat(32)}`, timestamp: NOW } },
    ...{ method: 'eth_simulateV1', summary: summaryOf(calls, token, (at) => (at === token.token ? token : undefined)) },
    ...{ executable: true, issues: [] },
    cost: cost ? { ...cost, maxCost: cost.total, exact: true, ...token } : null,
    payout: pays.length > 0 ? payoutOf(sum) : null,
    steps: steps.map(({ limit: _, ...step }) => step),
    walletCalls: {
      ...{ version: '2.0.0', chainId: hex(chainId), from, atomicRequired: false },
      calls: calls.map(({ to, data }) => ({ to, data, value: '0x0' })),
    },
    effects: {
      created: { ...created, predicted: true },
      balanceChanges: (change === 0n ? [] : [[from, change] as const, [DIAMOND, -change] as const]).map(
        ([account, amount]) => ({ account, ...token, amount: amount.toString() }),
      ),
    },
    gasCost: { execution: total.toString(), dataFee: '0', total: total.toString(), symbol: 'ETH' },
    validUntil: { blockNumber: BLOCK + 1, timestamp: until },
    remaining: 0,
    digest: digestOf(
      chainId,
      from,
      steps.map(({ id, transaction }) => ({ id, transaction, action: null, subject: null })),
    ),
  }
}
