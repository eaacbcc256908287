import { z } from 'zod'
import { OfChain } from '../../protocol/chains.ts'
import { Account, Amount, Id, Integer, TokenAddress, UnixSeconds } from '../../protocol/fields/response-fields.ts'
import { ledgerTypeNames } from '../../protocol/ledger.ts'
import { BlockNumber, Hash, ListingMeta } from '../lists/records.ts'
import { args } from '../transactions/record.ts'

export const Activity = z
  .object({
    chainId: OfChain,
    type: z.enum(ledgerTypeNames).meta({
      description: 'What happened; `unknown` for a log that this version of the service does not know',
    }),
    blockNumber: BlockNumber,
    blockHash: Hash,
    blockTimestamp: UnixSeconds,
    txHash: Hash,
    logIndex: Integer.meta({ description: 'Index of the log in its block' }),
    eventId: Id.nullable().meta({ description: 'The event; null for activity of the protocol itself' }),
    depositId: Id.nullable(),
    positionId: Id.nullable(),
    wallet: Account.nullable().meta({ description: 'The wallet that acted; null where the log names none' }),
    direction: z.enum(['in', 'out']).nullable().meta({
      description: 'Whether the wallet received (`in`) or paid (`out`) `netAmount`; null where it did neither',
    }),
    amount: Amount.nullable().meta({ description: 'Before the fee; null where nothing was paid' }),
    fee: Amount.nullable().meta({
      description: 'The fee of the protocol; null where nothing was paid, and where the fee is not known',
    }),
    netAmount: Amount.nullable().meta({
      description: 'What the wallet paid with the fee, or received without it; null where `amount` or `fee` is',
    }),
    token: TokenAddress.nullable().meta({ description: 'The token of the amounts; null where it is not known' }),
    symbol: z.string().nullable(),
    decimals: z.int().min(0).max(255).nullable(),
    log: z.string().nullable().meta({ description: 'The name of the log; null for an `unknown` one' }),
    args: args('The arguments of the log by their names. Ids and times are integers, other integers decimal strings'),
  })
  .meta({ id: 'Activity' })

export type Activity = z.output<typeof Activity>

export const ActivityMeta = z
  .object({
    ...ListingMeta.omit({ missing: true, total: true }).shape,
    completeFrom: z
      .array(z.object({ chainId: OfChain, blockNumber: BlockNumber }))
      .optional()
      .meta({
        description:
          'The chains whose older logs are still being read, with the block from which on their activity is complete; absent when there are none',
      }),
  })
  .meta({ id: 'ActivityMeta' })

export type ActivityMeta = z.output<typeof ActivityMeta>

/** The body of a page. */
export const ActivityPage = z.object({ data: z.array(Activity), meta: ActivityMeta })
