import { zeroAddress } from 'viem'
import { z } from 'zod'
import { BodyChainId } from '../protocol/chains.ts'
import { Address20, Bool } from '../protocol/fields/request-fields.ts'
import { expected } from '../protocol/fields/units.ts'
import { parsePair } from './pair.ts'

/*
 * The engine's requests and answers, shared by the API and the engine. Answers may carry more fields than are listed
 * here.
 */

/** Maximum amount: a double with six decimals is exact to 15 digits in total. */
const MAX_AMOUNT = 1e9

const positive = (description: string) =>
  z
    .number({
      error: ({ input }) => `expected a number${typeof input === 'string' ? ' without quotes' : ''}, such as 11.4`,
    })
    .min(1e-6, { error: 'expected a number above 0, of at most six decimals' })
    .max(MAX_AMOUNT, { error: `expected a number of at most ${MAX_AMOUNT}, without scale: 11.4 and not 11400000` })
    .meta({ description })

const PairName = z
  .string({ error: 'expected a pair BASE/QUOTE, such as USD/GHS' })
  .min(3, { error: 'expected a pair BASE/QUOTE, such as USD/GHS', abort: true })
  .max(7, { error: 'expected a pair BASE/QUOTE, such as USD/GHS', abort: true })
  .refine((text) => parsePair(text) !== undefined, {
    error: 'expected a pair BASE/QUOTE of two currency codes in upper case, such as USD/GHS',
  })
  .meta({ description: 'BASE/QUOTE; rates are QUOTE per 1 BASE' })

const attested = ['chainId', 'diamondAddress', 'creator'] as const

export const QuoteRequest = z
  .strictObject({
    pair: PairName,
    strike: positive('Entry edge of the payout zone'),
    payoutCap: positive('Far edge of the payout zone'),
    expiryUnixSeconds: z.int({ error: ({ input }) => expected('seconds', input, false) }).positive(),
    notional: positive('Whole payment-token units'),
    strikeAbove: Bool.meta({ description: 'true: protection against a rise of the rate; false: against a fall' }),
    chainId: BodyChainId.optional(),
    diamondAddress: Address20.optional(),
    creator: Address20.refine((address) => address !== zeroAddress, {
      error: 'expected the address that will send createEvent, not the zero address',
    }).optional(),
  })
  .superRefine((request, context) => {
    const missing = attested.filter((name) => request[name] === undefined)
    if (missing.length === 0 || missing.length === attested.length) return
    for (const name of missing) {
      context.addIssue({
        code: 'custom',
        path: [name],
        message: `is required when any of ${attested.join(', ')} is given`,
      })
    }
  })
  .meta({
    id: 'QuoteRequest',
    description: `The range to price. Give ${attested.join(', ')} together to request a signed quote, or leave out all three.`,
  })

export type QuoteRequest = z.output<typeof QuoteRequest>

const Account = z.string().regex(/^0x[0-9a-fA-F]{40}$/)
const Digits = z.string().regex(/^\d+$/)

export const Attestation = z.object({
  signature: z.string().regex(/^0x[0-9a-f]{130}$/),
  quoteTimestamp: Digits.meta({ description: 'Unix seconds' }),
  quoteNonce: z.string().regex(/^0x[0-9a-f]{64}$/),
  signerAddress: Account,
  expiresAt: Digits.meta({
    description: 'Unix seconds; the last second at which the protocol accepts the signature',
  }),
})

export type Attestation = z.output<typeof Attestation>

const Rate = z.number()
const Reason = z.string().nullable()

/** Free-form: an engine may return more. This engine's fields are enough to compute the premium again by hand. */
export const Breakdown = z
  .looseObject({
    pair: z.string(),
    spot: Rate,
    strike: Rate,
    payoutCap: Rate,
    rangeWidth: Rate,
    T_years: z.number().meta({ description: 'Years of 365 days' }),
    T_days: z.number(),
    notional: z.number().meta({ description: 'Whole payment-token units' }),
    direction: z.enum(['upward', 'downward']),
    coveragePercent: z.number().meta({ description: 'The greatest payout in percent of the notional' }),
    method: z.string(),
    pairClassification: z.looseObject({
      tier: z.string(),
      useEmpiricalDrift: z.boolean(),
      notes: z.string(),
    }),
    attestation: z
      .looseObject({
        reason: Reason.meta({ description: 'Why the quote is not signed; null when it is' }),
      })
      .optional()
      .meta({
        description:
          'A signed quote also has `clock`, `newestBlock` and `marginSeconds`: its `quoteTimestamp` is `marginSeconds` before the earlier of the two times',
      }),
    inputs: z.looseObject({
      r: z.number(),
      q: z.number().nullable().meta({ description: 'null when the drift is empirical' }),
      mu: z.number(),
      qEffective: z.number(),
      sigma: z.number(),
      sigmaFrom: z
        .enum(['model', 'floor'])
        .optional()
        .meta({ description: "What decided `sigma`: the forecast, or the tier's floor above it" }),
      sigmaRealizedRaw: z.number(),
      volMarkup: z.number(),
      garch: z.looseObject({
        sigma0: z.number(),
        sigmaLongRun: z.number(),
        persistence: z.number(),
        sigmaIntegrated: z.number(),
      }),
      jump: z.looseObject({
        lambda: z.number().meta({ description: 'Jumps a year' }),
        jumpMean: z.number(),
        jumpStd: z.number(),
      }),
    }),
    localRates: z
      .looseObject({
        asOf: z.string().meta({ description: 'YYYY-MM-DD' }),
        stale: z.boolean().meta({ description: 'More than 92 days old' }),
      })
      .nullable()
      .optional()
      .meta({ description: 'The interest rates behind the drift; null where it follows the closes' }),
    study: z
      .looseObject({
        tier: z.string(),
        crosses: z.boolean().meta({ description: 'True for pairs without the dollar' }),
        horizonDays: z.int().meta({ description: 'The nearest horizon of the study' }),
        direction: z.enum(['fall', 'rise', 'both']).meta({
          description: 'Protection against a fall or a rise of the riskier leg; `both` where neither leg is riskier',
        }),
        firstYear: z.int().meta({ description: 'The year of the first quotes' }),
        dates: z.int().meta({ description: 'Months with a quote' }),
        ratio: z.number().meta({ description: 'Discounted payouts over premiums: 1 is fair' }),
        interval: z.array(z.number()).meta({ description: 'The interval that 90 % of resamples fall in: low, high' }),
        rates: z.string().meta({ description: 'The interest rates behind the drift, as in a backtest' }),
        closesEnd: z.string().meta({ description: 'The last day of the closes, as YYYY-MM-DD' }),
      })
      .nullable()
      .optional()
      .meta({
        id: 'PricingStudy',
        description:
          'What the study of past prices found for ranges of this tier, horizon and direction; null where it supports none',
      }),
    studyReason: Reason.optional().meta({ description: 'Why `study` is null; null when it is not' }),
  })
  .meta({ id: 'PricingBreakdown', description: 'The inputs and intermediate results that determine the premium' })

export const Quote = z
  .object({
    premiumRate: z.number().meta({ description: 'Fraction of notional' }),
    premiumUsd: z.number().meta({ description: 'Whole payment-token units' }),
    maxPayoutUsd: z.number().meta({ description: 'Whole payment-token units' }),
    premiumRateFixed6: Digits.meta({ description: 'The value for premiumRate in createEvent' }),
    attestation: Attestation.nullable().meta({
      description:
        'The signature; null when it was not requested or the engine does not sign: `breakdown.attestation` has the reason',
    }),
    breakdown: Breakdown,
  })
  .meta({ id: 'PricingQuote' })

export type Quote = z.output<typeof Quote>

/** Whole payment-token units; null where a quote was refused. */
const Amount = z.number().nullable()

export const Backtest = z
  .object({
    pair: z.string(),
    direction: z.enum(['upward', 'downward']),
    horizonDays: z.int().positive().meta({ description: 'Days from each quote to its expiry' }),
    strikeToSpot: Rate.meta({ description: 'The strike as a multiple of the spot, the same for every month' }),
    payoutCapToSpot: Rate.meta({ description: 'The cap as a multiple of the spot, the same for every month' }),
    notional: z.number(),
    source: z.string().meta({ description: 'The publisher of the closes' }),
    closesEnd: z.string().meta({ description: 'The last day of the bundled closes, as YYYY-MM-DD' }),
    rates: z.enum(['known']).meta({
      description:
        'The interest rates behind the drift. `known`: on each date only a table of that date or before, and drift 0 where there is none',
    }),
    summary: z
      .object({
        firstDate: z.string().meta({ description: 'The first month of the series' }),
        lastDate: z.string().meta({ description: 'The last month whose expiry the closes reach' }),
        dates: z.int().nonnegative().meta({ description: 'Months with a quote' }),
        refused: z.int().nonnegative().meta({
          description:
            'Months in which the engine refuses the range: mostly because its payout is more than 100 times the premium, or less than it',
        }),
        unpriced: z.int().nonnegative().meta({
          description:
            'Months from the first to the last without enough closes for a price, which the series leaves out',
        }),
        premiumsUsd: z.number().meta({ description: 'Sum of the premiums' }),
        payoutsUsd: z.number().meta({ description: 'Sum of the payouts' }),
        ratio: z.number().nullable().meta({
          description:
            'Payouts, discounted to the day of the quote, over premiums: 1 is fair. Null without a premium, as the next fields',
        }),
        paidShare: z.number().nullable().meta({ description: 'Share of the quotes that paid' }),
        modelProbability: z.number().nullable().meta({ description: 'Mean probability in the model that they pay' }),
        worstYear: z
          .object({ year: z.int(), ratio: z.number() })
          .nullable()
          .meta({ description: 'The year of quotes with the highest ratio, of those with six months or more' }),
      })
      .meta({ id: 'BacktestSummary', description: 'All months together' }),
    series: z
      .array(
        z
          .object({
            date: z.string().meta({ description: 'The last trading day of the month, as YYYY-MM-DD' }),
            spot: Rate,
            premiumUsd: Amount,
            payoutUsd: Amount,
            paid: z.boolean().nullable(),
          })
          .meta({ id: 'BacktestMonth', description: 'What the range cost and paid, bought at the end of one month' }),
      )
      .meta({ description: 'One entry for each month with enough closes, oldest first' }),
  })
  .meta({
    id: 'Backtest',
    description: 'What a range in proportion to the spot would have cost and paid at each month of the bundled closes',
  })

export type Backtest = z.output<typeof Backtest>

/** Most ranges in one request for values: one for each row of the longest page. */
export const MAX_RANGES = 200

/** A rate in the protocol's millionths. A number holds 15 digits exactly. */
const Millionths = z
  .string()
  .regex(/^(0|[1-9]\d{0,14})$/, { error: 'expected a rate in millionths of at most 15 digits' })
const PositiveMillionths = Millionths.refine((text) => text !== '0', { error: 'expected a rate above 0' })

/** The largest rate divided by the smallest one. */
const MAX_RATE = 1e15

/** The payout range of an event; `payoutCap` 0 is a single-strike event. */
export const ValueRange = z.strictObject({
  pair: PairName,
  strike: PositiveMillionths,
  payoutCap: Millionths,
  initialRate: PositiveMillionths,
  strikeAbove: Bool,
  expiryUnixSeconds: z.int({ error: ({ input }) => expected('seconds', input, false) }).positive(),
})

export type ValueRange = z.output<typeof ValueRange>

export const ValuesRequest = z.strictObject({
  ranges: z
    .array(ValueRange)
    .min(1)
    .max(MAX_RANGES, { error: `expected at most ${MAX_RANGES} ranges` }),
})

export type ValuesRequest = z.output<typeof ValuesRequest>

/** Why a range has no value. */
export const valueRefusals = ['expired', 'unsupported_pair', 'unsupported_terms'] as const

const RangeValue = z.union([
  z.object({
    /** The present value of the payout as a fraction of the notional. The bound is that of the rates. */
    rate: z.number().min(0).max(MAX_RATE),
    /** The rate of the pair that it was valued at. */
    spotFixed6: Digits,
    /** YYYY-MM-DD. */
    spotDate: z.string(),
    /** As in a quote's breakdown: the history is too old to sign on, rates are invented, the dollar rate is a fallback. */
    stale: z.boolean(),
    synthetic: z.boolean(),
    usdRateFallback: z.boolean(),
  }),
  z.object({ reason: z.enum(valueRefusals) }),
])

export type RangeValue = z.output<typeof RangeValue>

/** The values of ranges, in their order, at the time `asOf` (Unix seconds). */
export const Values = z.object({ asOf: z.int().nonnegative(), values: z.array(RangeValue) })

export type Values = z.output<typeof Values>

/** `signing` of an engine's health, in addition to the fields of the specification. */
export const Signing = z.object({
  chains: z.array(
    z.object({
      chainId: z.int(),
      /** The only diamond of the chain that quotes are signed for. */
      diamondAddress: Account.nullable(),
      /**
       * Time of the newest block that the engine read (Unix seconds). The next field is the clock's lead over it in
       * seconds.
       */
      newestBlock: z.int().nullable(),
      clockAheadSeconds: z.int().nullable(),
      /** Why no quote is signed for the chain; null when quotes are signed. */
      reason: Reason,
    }),
  ),
  /** Rates that are fallbacks or too old: quotes that depend on them are not signed. */
  rates: z.array(z.string()),
})

export const Health = z
  .looseObject({
    usdRate: z.looseObject({
      rate: z.number(),
      recordDate: z.string(),
      fetchedAt: z.int().meta({ description: 'Unix milliseconds' }),
    }),
    pricingEngineSigner: Account.nullable(),
    pairs: z.array(
      z.looseObject({
        pair: z.string(),
        tier: z.string(),
        useEmpiricalDrift: z.boolean(),
        historicalCloses: z.int(),
      }),
    ),
  })
  .meta({
    id: 'PricingHealth',
    description:
      'Also `signing`, null in advisory mode: for each of its `chains` the `reason` why no quote is signed (null when quotes are signed), and the `rates` that prevent a signature',
  })

export const Signer = z.object({ signerAddress: Account.nullable() }).meta({ id: 'PricingSigner' })

export type Health = z.output<typeof Health>
