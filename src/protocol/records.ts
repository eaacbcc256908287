import { z } from 'zod'
import type { Output } from './abi/outputs.ts'
import { type ChainId, type Deployment, OfChain } from './chains.ts'
import type { EntityViews, Kind } from './entities.ts'
import {
  Account,
  Amount,
  clamped,
  Decimal,
  decimal,
  Id,
  Integer,
  integer,
  Rate,
  type Readable,
  scales,
  TokenAddress,
  UnixSeconds,
} from './fields/response-fields.ts'
import type { Profile } from './profiles.ts'
import { statusNumbers, statusText, statusTextOf } from './statuses.ts'

/*
 * The payloads of the reads: for each its wire schema, and the pure function that computes it from the outputs of the
 * protocol's views, whatever their source: a node, or columns of the index. Ids, times and counts are JSON integers,
 * every amount, price and rate a decimal string.
 */

/** Decimals of a token. */
const Decimals = z.int().min(0).max(255)

export const ChainRecord = z
  .object({
    chainId: OfChain,
    name: z.string(),
    symbol: z.string(),
    diamond: Account,
    usdc: Account,
    usdt: Account.nullable(),
    rpcUrl: z.string(),
    paymentDecimals: z.object({ USDC: Decimals, USDT: Decimals.optional() }),
  })
  .meta({
    id: 'Chain',
  })

/** A chain as clients see it; `rpcUrl` is the public one. */
export const chainRecord = (deployment: Deployment): z.output<typeof ChainRecord> => {
  const { chainId, name, symbol, diamond, usdc, usdt, publicRpcUrl, paymentDecimals } = deployment
  // A token that is not configured has no decimals either.
  const decimals = usdt === null ? { USDC: paymentDecimals.USDC } : paymentDecimals
  return { chainId, name, symbol, diamond, usdc, usdt, rpcUrl: publicRpcUrl, paymentDecimals: decimals }
}

export const FeeConfig = z
  .object({
    chainId: OfChain,
    creationFee: Amount,
    hedgerFeeRate: Rate,
    payoutFeeRate: Rate,
    lpProfitFeeRate: Rate,
    creatorLoyaltyRate: Rate,
  })
  .meta({ id: 'FeeConfig' })

/** The fees of new events: a flat amount and four 1e6 rates. */
export const feeConfig = (
  chainId: ChainId,
  fees: Readable<Output<'getHedgeFeeConfig'>>,
): z.output<typeof FeeConfig> => ({
  chainId,
  creationFee: decimal(fees.eventCreationFee),
  hedgerFeeRate: decimal(fees.hedgerFeeRate),
  payoutFeeRate: decimal(fees.hedgerPayoutFeeRate),
  lpProfitFeeRate: decimal(fees.lpProfitFeeRate),
  creatorLoyaltyRate: decimal(fees.creatorLoyaltyRate),
})

export const EventCore = z.object({
  id: Id,
  creator: Account,
  name: z.string(),
  underlying: z.string(),
  strike: Rate,
  payoutCap: Rate,
  premiumRate: Rate,
  initialRate: Rate,
  expiryDate: UnixSeconds,
  strikeAbove: z.boolean(),
  poolOpen: z.boolean(),
  allowExternalLp: z.boolean(),
  paymentToken: TokenAddress,
  status: Integer.meta({ description: statusNumbers('event') }),
  statusText: statusTextOf('event'),
})

/** An event's core record with the cap and the token it is paid in. */
export const eventCore = (
  views: Readable<Pick<EntityViews<'event'>, 'core' | 'range' | 'paymentToken'>>,
): z.output<typeof EventCore> => ({
  id: integer(views.core.id),
  creator: views.core.creator,
  name: views.core.name,
  underlying: views.core.underlying,
  strike: decimal(views.core.strike),
  payoutCap: decimal(views.range.payoutCap),
  premiumRate: decimal(views.core.premiumRate),
  initialRate: decimal(views.core.initialRate),
  expiryDate: clamped(views.core.expiryDate),
  strikeAbove: views.core.strikeAbove,
  poolOpen: views.core.poolOpen,
  allowExternalLp: views.core.allowExternalLp,
  paymentToken: views.paymentToken,
  status: views.core.status,
  statusText: statusText('event', views.core.status),
})

export const EventStats = z
  .object({
    settledAt: UnixSeconds.meta({ description: 'Unix seconds; 0 until settled' }),
    triggered: z.boolean(),
    settlementPrice: Rate,
    totalLiquidity: Amount,
    totalExposure: Amount,
    totalMaxPayout: Amount,
    totalPremiums: Amount,
    creatorEarnings: Amount,
    lpCount: Integer,
    hedgerCount: Integer,
  })
  .meta({ id: 'EventStats' })

/** The states of an event, of which it has one; a triggered event is settled as well. */
export const eventStates = ['open', 'expired', 'settled', 'triggered'] as const

/** The terms of an event on which a payout depends, and its settlement. */
const payoffFields = {
  strike: EventCore.shape.strike,
  payoutCap: EventCore.shape.payoutCap,
  initialRate: EventCore.shape.initialRate,
  strikeAbove: EventCore.shape.strikeAbove,
  settledAt: EventStats.shape.settledAt,
  triggered: EventStats.shape.triggered,
  settlementPrice: EventStats.shape.settlementPrice,
}

export const EventSummary = z
  .object({
    id: Id,
    name: EventCore.shape.name,
    underlying: EventCore.shape.underlying,
    ...payoffFields,
    direction: z.enum(['above', 'below']).meta({ description: 'The side of the strike on which the event pays out' }),
    expiryDate: UnixSeconds,
    state: z.enum(eventStates).meta({
      description:
        '`open`: not expired; `expired`: expired and not settled; `triggered`: settled in the payout zone; `settled`: settled outside of it',
    }),
  })
  .meta({ id: 'EventSummary' })

/** The outputs of views that say what an event pays out, with the time of their block in Unix seconds. */
export type EventTerms = Readable<{
  readonly core: Pick<Output<'getHedgeEventCore'>, 'id' | 'name' | 'underlying' | 'expiryDate'>
  readonly range: Output<'getHedgeEventRange'>
  readonly stats: Pick<Output<'getHedgeEventStats'>, 'settledAt' | 'triggered' | 'settlementPrice'>
  readonly time: bigint
}>

/** What the rows of an event's deposits and positions show of it. */
export const eventSummary = ({ core, range, stats, time }: EventTerms): z.output<typeof EventSummary> => {
  const { triggered } = stats
  const [expiryDate, settledAt] = [clamped(core.expiryDate), clamped(stats.settledAt)]
  const settled = triggered ? 'triggered' : 'settled'
  return {
    id: integer(core.id),
    name: core.name,
    underlying: core.underlying,
    ...eventRange(range),
    settledAt,
    triggered,
    settlementPrice: decimal(stats.settlementPrice),
    direction: range.strikeAbove ? 'above' : 'below',
    expiryDate,
    state: settledAt > 0 ? settled : clamped(time) < expiryDate ? 'open' : 'expired',
  }
}

/** What the value of an open event's positions follows from, in the words of the pricing engine. */
export const valueTerms = (summary: z.output<typeof EventSummary>) => {
  const { underlying, strike, payoutCap, initialRate, strikeAbove, expiryDate, state } = summary
  const pair = underlying.toUpperCase()
  return { state, range: { pair, strike, payoutCap, initialRate, strikeAbove, expiryUnixSeconds: expiryDate } }
}

/** An event's settlement and totals. */
export const eventStats = (stats: Readable<Output<'getHedgeEventStats'>>): z.output<typeof EventStats> => ({
  settledAt: clamped(stats.settledAt),
  triggered: stats.triggered,
  settlementPrice: decimal(stats.settlementPrice),
  totalLiquidity: decimal(stats.totalLiquidity),
  totalExposure: decimal(stats.totalExposure),
  totalMaxPayout: decimal(stats.totalMaxPayout),
  totalPremiums: decimal(stats.totalPremiums),
  creatorEarnings: decimal(stats.creatorEarnings),
  lpCount: clamped(stats.lpCount),
  hedgerCount: clamped(stats.hedgerCount),
})

export const EventRange = z
  .object({
    strike: Rate,
    payoutCap: Rate,
    initialRate: Rate,
    strikeAbove: z.boolean(),
  })
  .meta({ id: 'EventRange' })

/** What an event's pay-off depends on. */
export const eventRange = (range: Readable<Output<'getHedgeEventRange'>>): z.output<typeof EventRange> => ({
  strike: decimal(range.strike),
  payoutCap: decimal(range.payoutCap),
  initialRate: decimal(range.initialRate),
  strikeAbove: range.strikeAbove,
})

export const Utilization = z
  .object({
    totalLiquidity: Amount,
    totalExposure: Amount,
    availableCapacity: Amount.meta({
      description: 'Additional notional the pool can still write; 0 while it is closed and from expiry on',
    }),
    utilizationRate: Decimal.meta({ description: '1e8 fixed point' }).register(scales, { scale: 8 }),
  })
  .meta({ id: 'Utilization' })

/** The utilization of a pool. `availableCapacity` is notional, whatever the unit of the deployment's view. */
export const utilization = (
  event: Readable<Parameters<Profile['capacity']>[0] & { readonly utilization: Output<'getPoolUtilization'> }>,
  profile: Profile,
): z.output<typeof Utilization> => {
  const { core, range, time, utilization: view } = event
  const capacity = profile.capacity({
    core: { status: core.status, poolOpen: core.poolOpen, expiryDate: BigInt(core.expiryDate) },
    utilization: { availableCapacity: BigInt(view.availableCapacity) },
    range: {
      strike: BigInt(range.strike),
      payoutCap: BigInt(range.payoutCap),
      initialRate: BigInt(range.initialRate),
      strikeAbove: range.strikeAbove,
    },
    time: BigInt(time),
  })
  return {
    totalLiquidity: decimal(view.totalLiquidity),
    totalExposure: decimal(view.totalExposure),
    availableCapacity: decimal(capacity),
    utilizationRate: decimal(view.utilizationPercent),
  }
}

export const Position = z.object({
  id: Id,
  eventId: Id,
  hedger: Account,
  notional: Amount,
  premiumPaid: Amount,
  platformFeePaid: Amount,
  payoutAmount: Amount.meta({ description: 'Claimable when greater than 0 and not claimed' }),
  status: Integer.meta({ description: statusNumbers('position') }),
  statusText: statusTextOf('position'),
  claimed: z.boolean(),
})

/** The status of a position whose event is not settled yet. */
export const ACTIVE = 0

/**
 * A purchase. Some deployments return the worst case as `payoutAmount` until settlement; the record has 0 until then.
 */
export const position = ({ position: view }: Readable<EntityViews<'position'>>): z.output<typeof Position> => ({
  id: integer(view.id),
  eventId: integer(view.eventId),
  hedger: view.hedger,
  notional: decimal(view.notional),
  premiumPaid: decimal(view.premiumPaid),
  platformFeePaid: decimal(view.platformFeePaid),
  payoutAmount: view.status === ACTIVE ? '0' : decimal(view.payoutAmount),
  status: view.status,
  statusText: statusText('position', view.status),
  claimed: view.claimed,
})

export const Deposit = z.object({
  id: Id,
  eventId: Id,
  lp: Account,
  amount: Amount,
  shares: Decimal,
  premiumsEarned: Amount,
  premiumsClaimed: Amount,
  withdrawn: z.boolean(),
})

/**
 * An LP deposit. `premiumsEarned` is claimed + pending, both of one block, so that earned - claimed is the claimable
 * amount: some deployments update their own value only with a claim.
 */
export const deposit = ({ deposit: view, pending }: Readable<EntityViews<'deposit'>>): z.output<typeof Deposit> => ({
  id: integer(view.id),
  eventId: integer(view.eventId),
  lp: view.lp,
  amount: decimal(view.amount),
  shares: decimal(view.shares),
  premiumsEarned: decimal(BigInt(view.premiumsClaimed) + BigInt(pending)),
  premiumsClaimed: decimal(view.premiumsClaimed),
  withdrawn: view.withdrawn,
})

/** The views that the record of each kind is made of. */
export type RecordViews = {
  readonly event: Parameters<typeof eventCore>[0]
  readonly deposit: Parameters<typeof deposit>[0]
  readonly position: Parameters<typeof position>[0]
}

/** The record of an entity, by its views. */
export const entityRecord: { readonly [K in Kind]: (views: RecordViews[K]) => object } = {
  event: eventCore,
  deposit,
  position,
}
