import { z } from 'zod'
import { states } from '../db/listing-filters.ts'
import { MAX_ROWS } from '../db/listings.ts'
import { PathChainId } from '../protocol/chains.ts'
import { inclusions } from '../protocol/rows.ts'
import { Address20, PageLimit, PathInteger } from '../protocol/wire.ts'
import { consistency } from './consistency.ts'
import { finalities } from './finality.ts'

/** Wallets of a request at most. */
export const MAX_WALLETS = 100

/** Several values in one parameter, separated by commas; `example` as in a URL. A fault of one is a fault of the parameter. */
export const listOf = <T>(item: z.ZodType<T, string>, max: number, example: string) =>
  z
    .string({ error: 'expected values separated by commas' })
    .transform((text, context): T[] => {
      const parts = text.split(',')
      const parsed = parts.slice(0, max).map((part) => item.safeParse(part))
      const fault = parsed.find(({ success }) => !success)?.error?.issues[0]?.message
      const message = parts.length > max ? `expected at most ${max} values` : fault
      if (message !== undefined) context.addIssue({ code: 'custom', message })
      return parsed.flatMap(({ success, data }) => (success ? [data] : []))
    })
    .meta({ type: 'string', description: `Separated by commas, at most ${max}`, example })

/** One of some words. */
export const choice = <const T extends readonly string[]>(values: T) =>
  z.enum(values, { error: `expected one of ${values.join(', ')}` })

const Flag = z
  .string()
  .refine((text) => text === 'true' || text === 'false', { error: 'expected true or false' })
  .transform((text) => text === 'true')
  .meta({ type: 'boolean', example: true })

const WALLET = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

/** What every list takes. */
const common = {
  chainId: listOf(PathChainId, 2, '8453,56').optional().meta({ description: 'Both chains, merged, when omitted' }),
  limit: PageLimit(MAX_ROWS).optional().meta({ description: 'Rows a page; 50 when omitted' }),
  cursor: z.string().optional().meta({ description: '`meta.nextCursor` of the page before' }),
  order: choice(['asc', 'desc']).optional().meta({ description: 'Oldest or newest first; `desc` when omitted' }),
  ids: listOf(PathInteger, MAX_ROWS, '1,2').optional().meta({
    description:
      'These alone, in this order, of one chain; others are in `meta.missing`. Goes with `include` and `finality` only',
  }),
  include: listOf(choice(inclusions), 3, 'stats,range')
    .optional()
    .meta({ description: "Also these records of the row's event" }),
  finality: choice(finalities)
    .optional()
    .meta({ description: 'Rows created in blocks at least so final; what they hold is the newest' }),
  count: Flag.optional().meta({ description: 'Whether to count the rows of all pages' }),
  ...consistency,
}

const Wallets = listOf(Address20, MAX_WALLETS, WALLET)

export const EventsQuery = z.object({
  ...common,
  sort: choice(['created', 'expiry']).optional().meta({ description: '`created` when omitted' }),
  creator: Wallets.optional(),
  underlying: z.string().min(1).max(100).optional().meta({ example: 'USD/GHS' }),
  paymentToken: Address20.optional(),
  strikeAbove: Flag.optional(),
  poolOpen: Flag.optional(),
  state: choice(states)
    .optional()
    .meta({ description: 'Not expired; expired and not settled; settled; settled and triggered' }),
  expiryFrom: PathInteger.optional().meta({ description: 'Unix seconds, included' }),
  expiryTo: PathInteger.optional().meta({ description: 'Unix seconds, included' }),
})

export const DepositsQuery = z.object({
  ...common,
  wallet: Wallets.optional(),
  eventId: PathInteger.optional(),
  claimable: Flag.optional().meta({ description: 'Premiums, or capital after settlement, can be claimed now' }),
  withdrawn: Flag.optional(),
})

export const PositionsQuery = z.object({
  ...common,
  wallet: Wallets.optional(),
  eventId: PathInteger.optional(),
  claimable: Flag.optional().meta({ description: 'A payout can be claimed now' }),
  claimed: Flag.optional(),
})

/** A parsed query of any list. */
export type ListingQuery = z.output<typeof EventsQuery> &
  z.output<typeof DepositsQuery> &
  z.output<typeof PositionsQuery>
