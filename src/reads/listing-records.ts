import { z } from 'zod'
import { Deposit, EventCore, EventRange, EventStats, Position, Utilization } from '../protocol/records.ts'
import { Account, Id, Integer, OfChain, UnixSeconds } from '../protocol/values.ts'

const BlockNumber = Integer.meta({ description: 'Block number', example: 31_415_926 })
const Hash = z.string().regex(/^0x[0-9a-f]{64}$/)
const hash = `0x${'5f'.repeat(32)}`

/** The token of a row's amounts, and what an amount in it means. */
export const tokenFields = {
  token: Account.meta({
    description: 'The token of all amounts',
    example: '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d',
  }),
  symbol: z.string().nullable().meta({ description: 'Null when the token has none', example: 'USDC' }),
  decimals: z.int().min(0).max(255).nullable().meta({ description: 'Null when the token does not say', example: 18 }),
}

/** What a row has beyond its record. */
const rowFields = {
  chainId: OfChain,
  createdBlock: BlockNumber.meta({ description: 'The block it was created in', example: 31_415_926 }),
  createdTx: Hash.nullable().meta({
    description: 'The transaction that created it; null when it was found in state and not by a log',
    example: hash,
  }),
  ...tokenFields,
  stats: EventStats.optional().meta({ description: "The event's, with `include=stats`" }),
  utilization: Utilization.optional().meta({ description: "The event's, with `include=utilization`" }),
  range: EventRange.optional().meta({ description: "The event's, with `include=range`" }),
}

export const EventRow = z.object({ ...EventCore.shape, ...rowFields }).meta({ id: 'EventRow' })
export const DepositRow = z.object({ ...Deposit.shape, ...rowFields }).meta({ id: 'DepositRow' })
export const PositionRow = z.object({ ...Position.shape, ...rowFields }).meta({ id: 'PositionRow' })

export const LagSeconds = Integer.nullable().meta({
  description: 'Seconds that the index is behind the chain; null while the worker has not seen the chain',
  example: 1,
})

/** What a list is as of, on one chain. */
const AsOf = z
  .object({
    chainId: OfChain,
    blockNumber: BlockNumber,
    blockHash: Hash.meta({ example: hash }),
    blockTimestamp: UnixSeconds,
    lagSeconds: LagSeconds,
    reorgedSince: z.boolean().meta({
      description: 'Blocks up to here left the chain since the first page: start again to be sure of every row',
      example: false,
    }),
  })
  .meta({ id: 'AsOf', description: 'Rows created after this block are not in the list, on no page of it' })

export const ListingMeta = z
  .object({
    limit: z.int().positive().meta({ example: 50 }),
    hasMore: z.boolean().meta({ example: false }),
    nextCursor: z.string().nullable().meta({ example: null }),
    asOf: z.array(AsOf),
    missing: z.array(Id).optional().meta({ description: 'With `ids`: those that do not exist' }),
    total: Integer.optional().meta({ description: 'With `count=true`: rows on all pages', example: 42 }),
  })
  .meta({ id: 'ListingMeta' })

export type ListingMeta = z.output<typeof ListingMeta>
