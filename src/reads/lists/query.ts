import { z } from 'zod'
import { MAX_ROWS } from '../../db/queries/listings.ts'
import { MAX_CHAINS, PathChainId } from '../../protocol/chains.ts'
import { Address20, PageLimit, PathInteger, PathSeconds, QueryAmount } from '../../protocol/fields/request-fields.ts'
import { eventStates } from '../../protocol/records.ts'
import { depositInclusions, type Inclusion, inclusions, positionInclusions } from '../../protocol/rows.ts'
import { consistency } from '../freshness/consistency.ts'
import { finalities } from '../freshness/finality.ts'
import { atField } from '../history/at.ts'

/** Most wallets in one request. */
export const MAX_WALLETS = 100

/** A parameter with comma-separated values. One invalid value makes the parameter invalid. */
export const listOf = <T>(item: z.ZodType<T, string>, max: number) =>
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
    .meta({ type: 'string', description: `Comma-separated values, at most ${max}` })

/** One of several fixed values. */
export const choice = <const T extends readonly string[]>(values: T) =>
  z.enum(values, { error: `expected one of ${values.join(', ')}` })

/**
 * Several of some fixed values, each of which counts once. OpenAPI has no enumeration for values in one text, so the
 * description has them as `x-items`, which the types of the client follow from.
 */
export const choices = <const T extends readonly string[]>(values: T) =>
  listOf(choice(values), values.length)
    .overwrite((list) => [...new Set(list)])
    .meta({ 'x-items': { type: 'string', enum: [...values] } })

/** A boolean, sent as text. */
export const Flag = z
  .string()
  .refine((text) => text === 'true' || text === 'false', { error: 'expected true or false' })
  .transform((text) => text === 'true')
  .meta({ type: 'boolean' })

/** Most rows of a list in one CSV answer. */
export const MAX_CSV_ROWS = 100_000

const LIMIT = `expected an integer from 1 to ${MAX_ROWS}, or to ${MAX_CSV_ROWS} with format=csv`

/** The format of a list or a series. */
export const formatField = {
  format: choice(['json', 'csv']).optional().meta({
    description: 'The format of the response; `csv` also with `Accept: text/csv`, and `json` by default',
  }),
}

/** The parameters of every list of the index. */
const pageFields = {
  chainId: listOf(PathChainId, MAX_CHAINS)
    .optional()
    .meta({ description: 'The chains, comma-separated; all chains, merged into one list, when omitted' }),
  limit: PageLimit(MAX_CSV_ROWS, LIMIT)
    .optional()
    .meta({
      description: `Rows per page, 1 to ${MAX_ROWS}; 50 by default. Rows of a CSV answer, 1 to ${MAX_CSV_ROWS}, which is the default`,
    }),
  ...formatField,
  cursor: z.string().optional().meta({ description: '`meta.nextCursor` of the previous page' }),
  order: choice(['asc', 'desc']).optional().meta({ description: 'Sort order; `desc` by default' }),
}

/** The query of a list of the index, with parameters of its own. Only CSV takes a limit above the rows of a page. */
export const listQuery = <S extends z.ZodRawShape>(own: S) =>
  z
    .object({ ...pageFields, ...own })
    .refine((query) => Object(query).format === 'csv' || Object(query).limit <= MAX_ROWS, {
      path: ['limit'],
      error: LIMIT,
      // Also when other parameters are invalid.
      when: ({ value }) => typeof Object(value).limit === 'number',
    })

/** Rows per page when a request does not say how many. */
export const DEFAULT_LIMIT = 50

/** The parameters of every list of records, whose rows can show what `included` names. */
const commonFields = <const T extends readonly Inclusion[]>(included: T, description: string) => ({
  ids: listOf(PathInteger, MAX_ROWS).optional().meta({
    description:
      'Return only the rows with these ids, in this order; ids that do not exist are in `meta.missing`. Requires one `chainId`, and can be combined with `include`, `finality` and `format` only',
  }),
  include: choices(included).optional().meta({ description }),
  finality: choice(finalities).optional().meta({
    description:
      'Return rows created in blocks of at least this finality; `latest` by default. The state of the rows is always the newest',
  }),
  ...atField,
  count: Flag.optional().meta({ description: 'Return the number of rows on all pages as `meta.total`' }),
  ...consistency,
})

const EVENT_RECORDS = "Records of the row's event to include in each row"

export const Wallets = listOf(Address20, MAX_WALLETS)

export const EventsQuery = listQuery({
  ...commonFields(inclusions, EVENT_RECORDS),
  sort: choice(['created', 'expiry'])
    .optional()
    .meta({ description: 'Sort by creation or by expiry; `created` by default' }),
  creator: Wallets.optional().meta({ description: `Return events created by these addresses, at most ${MAX_WALLETS}` }),
  underlying: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .meta({ description: 'The currency pair of the event, in upper or lower case' }),
  paymentToken: Address20.optional().meta({ description: 'The payment token of the event' }),
  symbol: z
    .string()
    .min(1)
    .max(32)
    .optional()
    .meta({ description: 'The symbol of the payment token of the event, in upper or lower case' }),
  strikeAbove: Flag.optional().meta({ description: 'The value of `strikeAbove` of the event' }),
  poolOpen: Flag.optional().meta({
    description:
      '`true`: the pool takes deposits: `poolOpen` is true and the event is not settled; `false`: it takes none',
  }),
  capacityFrom: QueryAmount.optional().meta({
    description:
      'Return events whose pool can still write at least this notional, in units of the payment token: `utilization.availableCapacity`',
  }),
  state: choice(eventStates).optional().meta({
    description:
      '`open`: not expired; `expired`: expired and not settled; `settled`; `triggered`: settled and triggered',
  }),
  expiryFrom: PathSeconds.optional().meta({ description: 'Earliest expiry, in Unix seconds, inclusive' }),
  expiryTo: PathSeconds.optional().meta({ description: 'Latest expiry, in Unix seconds, inclusive' }),
})

/** Further parameters of the lists of deposits and of positions. */
const holdingFields = (claimable: string) => ({
  wallet: Wallets.optional().meta({ description: `Return rows of these wallets, at most ${MAX_WALLETS}` }),
  eventId: PathInteger.optional().meta({ description: 'Return rows of this event' }),
  claimable: Flag.optional().meta({ description: claimable }),
})

export const DepositsQuery = listQuery({
  ...commonFields(depositInclusions, `${EVENT_RECORDS}, and its \`valuation\``),
  ...holdingFields(
    'Return deposits of which premiums, or capital after settlement, can be claimed now (`true`) or not (`false`)',
  ),
  withdrawn: Flag.optional().meta({ description: 'The value of `withdrawn` of the deposit' }),
})

export const PositionsQuery = listQuery({
  ...commonFields(
    positionInclusions,
    `${EVENT_RECORDS}; \`payout\`: the payout of the position before and after its fee; \`value\`: the present value of the position, from the pricing engine, null where its rates are stale; \`stale-value\`: the same, also from stale rates. A response with either has no \`ETag\` and must not be stored`,
  ),
  ...holdingFields('Return positions of which a payout can be claimed now (`true`) or not (`false`)'),
  claimed: Flag.optional(),
})

/** A parsed query of any list. */
export type ListingQuery = Partial<
  z.output<typeof EventsQuery> & z.output<typeof DepositsQuery> & z.output<typeof PositionsQuery>
>
