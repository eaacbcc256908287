import { z } from 'zod'
import { MAX_RANGES, valueRefusals } from '../../pricing/messages.ts'
import { OfChain } from '../../protocol/chains.ts'
import { Payout } from '../../protocol/claim-fees.ts'
import type { Kind } from '../../protocol/entities.ts'
import { Amount, Id, Integer, Rate, TokenAddress, UnixSeconds } from '../../protocol/fields/response-fields.ts'
import {
  Deposit,
  EventCore,
  EventRange,
  EventStats,
  EventSummary,
  Position,
  Utilization,
} from '../../protocol/records.ts'
import { Valuation } from '../../protocol/valuation.ts'
import { revertedField } from '../freshness/reverted.ts'

export const BlockNumber = Integer.meta({ description: 'Block number' })
export const Hash = z.string().regex(/^0x[0-9a-f]{64}$/)

/** The token of a row's amounts. */
export const tokenFields = {
  token: TokenAddress.meta({ description: 'The token of all amounts' }),
  symbol: z.string().nullable().meta({ description: 'Symbol of the token; null when it has none' }),
  decimals: z
    .int()
    .min(0)
    .max(255)
    .nullable()
    .meta({ description: 'Decimals of the token; null when the token does not report them' }),
}

/** Where and when a record was created. */
const createdFields = {
  createdBlock: BlockNumber.meta({ description: 'The block it was created in' }),
  createdTx: Hash.nullable().meta({
    description:
      'The transaction that created it; null when the index found it in the state of the chain and not in a log',
  }),
  createdAt: UnixSeconds.nullable().meta({
    description: 'The time it was created at; null when the index found it in the state of the chain and not in a log',
  }),
  createdLogIndex: Integer.nullable().meta({
    description: 'The index of the log in its block that created it; null when `createdTx` is',
  }),
}

/** The fields of a row that are not in its record. */
const rowFields = {
  chainId: OfChain,
  ...createdFields,
  ...tokenFields,
  stats: EventStats.optional().meta({ description: "The event's stats; with `include=stats`" }),
  utilization: Utilization.optional().meta({ description: "The event's pool utilization; with `include=utilization`" }),
  range: EventRange.optional().meta({ description: "The event's payout range; with `include=range`" }),
}

const UNKNOWN_LOG = 'null before that, and while its log is not known (`meta.completeFrom` of the activity)'

/** The fields of the log that ended what a record is for. */
const endings = {
  event: {
    settledBlock: BlockNumber.nullable().meta({ description: `The block that settled the event; ${UNKNOWN_LOG}` }),
    settledTx: Hash.nullable().meta({ description: `The transaction that settled the event; ${UNKNOWN_LOG}` }),
  },
  deposit: {
    withdrawnAt: UnixSeconds.nullable().meta({ description: `The time its capital was withdrawn at; ${UNKNOWN_LOG}` }),
    withdrawnTx: Hash.nullable().meta({ description: `The transaction that withdrew its capital; ${UNKNOWN_LOG}` }),
  },
  position: {
    claimedAt: UnixSeconds.nullable().meta({ description: `The time its payout was claimed at; ${UNKNOWN_LOG}` }),
    claimedTx: Hash.nullable().meta({ description: `The transaction that claimed its payout; ${UNKNOWN_LOG}` }),
  },
} as const satisfies Readonly<Record<Kind, z.ZodRawShape>>

const UNKNOWN_RECORD = 'null while the index does not have the record or is out of reach'

/** What single records have in addition to the state of the chain: the fields of rows. */
const indexedFields = {
  chainId: OfChain,
  ...createdFields,
  createdBlock: createdFields.createdBlock
    .nullable()
    .meta({ description: `The block it was created in; ${UNKNOWN_RECORD}, as then are the fields after it` }),
  ...tokenFields,
  token: tokenFields.token.nullable().meta({ description: 'The token of all amounts; null when `createdBlock` is' }),
}

/** A single record of each kind. */
export const details = {
  event: z.object({ ...EventCore.shape, ...indexedFields, ...endings.event }).meta({ id: 'Event' }),
  deposit: z.object({ ...Deposit.shape, ...indexedFields, ...endings.deposit }).meta({ id: 'Deposit' }),
  position: z.object({ ...Position.shape, ...indexedFields, ...endings.position }).meta({ id: 'Position' }),
} as const satisfies Readonly<Record<Kind, z.ZodObject>>

export const EventRow = z.object({ ...EventCore.shape, ...rowFields, ...endings.event }).meta({ id: 'EventRow' })

const memberFields = {
  ...rowFields,
  event: EventSummary.optional().meta({ description: 'The event; with `include=event`' }),
}

export const DepositRow = z
  .object({
    ...Deposit.shape,
    ...memberFields,
    valuation: Valuation.optional().meta({
      description: "What the deposit is worth, by its event's pool; with `include=valuation`",
    }),
    ...endings.deposit,
  })
  .meta({ id: 'DepositRow' })

/** Why a position has no value. */
export const valueReasons = [
  ...valueRefusals,
  'settled',
  'stale_rates',
  'engine_unavailable',
  'too_many_events',
] as const

const PositionValue = z.object({
  amount: Amount.meta({
    description:
      "What the rest of the protection is worth, in the token's units, before the fee on payouts; never above the worst-case payout",
  }),
  asOf: UnixSeconds.meta({ description: 'The time it was valued at, in Unix seconds' }),
  spot: Rate.meta({ description: 'The rate of the pair that it was valued at' }),
  spotDate: z.string().meta({ description: 'The day of that rate' }),
  stale: z.boolean().meta({ description: 'True when the history of the pair is too old to sign a quote on' }),
  synthetic: z.boolean().meta({ description: 'True for invented rates, as the sandbox has them' }),
  usdRateFallback: z.boolean().meta({ description: "True when the dollar's interest rate is the configured one" }),
})

export const PositionRow = z
  .object({
    ...Position.shape,
    ...memberFields,
    ...endings.position,
    payout: Payout.nullable().optional().meta({
      description: 'The payout before and after its fee; null until the event is settled; with `include=payout`',
    }),
    value: PositionValue.nullable().optional().meta({
      description:
        'The present value of the position while its event is open; null when `valueReason` has a reason; with `include=value` or `include=stale-value`',
    }),
    valueReason: z
      .enum(valueReasons)
      .nullable()
      .optional()
      .meta({
        description: `Why \`value\` is null. \`expired\`, \`settled\`: the event is not open; \`stale_rates\`: the engine's rates of the pair are too old to sign a quote on, and \`include=stale-value\` shows the value; \`unsupported_pair\`: the engine has no rates of the pair; \`unsupported_terms\`: its model does not cover the rates or the expiry; \`engine_unavailable\`: the engine did not answer within a second; \`too_many_events\`: the response has positions of more than ${MAX_RANGES} open events. With \`include=value\` or \`include=stale-value\``,
      }),
  })
  .meta({ id: 'PositionRow' })

/** A row as a list shows it. With the inclusion `value`, it has the terms of its event until it is valued. */
export type Row = z.output<typeof EventRow> | z.output<typeof DepositRow> | z.output<typeof PositionRow>

export const LagSeconds = Integer.nullable().meta({
  description: 'How far the index is behind the chain, in seconds; null while the worker has not seen the chain',
})

/** The block that a list is as of, on one chain. */
const AsOf = z
  .object({
    chainId: OfChain,
    blockNumber: BlockNumber,
    blockHash: Hash,
    blockTimestamp: UnixSeconds,
    lagSeconds: LagSeconds,
    reorgedSince: z.boolean().meta({
      description:
        'True when a reorg since the first page removed blocks that the list is as of: start again from the first page to be sure of every row',
    }),
  })
  .meta({ id: 'AsOf', description: 'The block that the list is as of. No page has rows created after it' })

export const ListingMeta = z
  .object({
    limit: z.int().positive(),
    hasMore: z.boolean(),
    nextCursor: z.string().nullable(),
    asOf: z.array(AsOf),
    missing: z.array(Id).optional().meta({ description: 'The requested `ids` that do not exist' }),
    total: Integer.optional().meta({ description: 'Number of rows on all pages; with `count=true`' }),
    ...revertedField,
  })
  .meta({ id: 'ListingMeta' })

export type ListingMeta = z.output<typeof ListingMeta>
