import { z } from 'zod'
import { BodyChainId } from '../protocol/chains.ts'
import { Address20, Bool } from '../protocol/wire.ts'
import { parsePair } from './pair.ts'

/*
 * What the engine is asked and answers, for both ends of the wire. Answers may carry more than is listed here.
 */

/** A number of more than 15 digits, six of them after the point, is not exact any more. */
const MOST = 1e9

const positive = (description: string) =>
  z
    .number({ error: 'expected a number' })
    .min(1e-6, { error: 'expected a number above 0, of at most six decimals' })
    .max(MOST, { error: `expected a number of at most ${MOST}` })
    .meta({ description })

const attested = ['chainId', 'diamondAddress', 'creator'] as const

export const QuoteRequest = z
  .strictObject({
    pair: z
      .string({ error: 'expected a pair BASE/QUOTE' })
      .min(3, { error: 'expected a pair BASE/QUOTE', abort: true })
      .refine((text) => parsePair(text) !== undefined, {
        error: 'expected a pair BASE/QUOTE of two currency codes, as in USD/GHS',
      })
      .meta({ description: 'BASE/QUOTE; rates are QUOTE per 1 BASE', example: 'USD/GHS' }),
    strike: positive('Entry edge of the payout zone').meta({ example: 12 }),
    payoutCap: positive('Far edge of the payout zone').meta({ example: 13.5 }),
    expiryUnixSeconds: z.int({ error: 'expected Unix seconds' }).positive().meta({ example: 1_800_000_000 }),
    notional: positive('Whole payment-token units').meta({ example: 10_000 }),
    strikeAbove: Bool.meta({ description: 'true: protection against a rise of the rate; false: against a fall' }),
    chainId: BodyChainId.optional(),
    diamondAddress: Address20.optional(),
    creator: Address20.optional(),
  })
  .superRefine((request, context) => {
    const missing = attested.filter((name) => request[name] === undefined)
    if (missing.length === 0 || missing.length === attested.length) return
    for (const name of missing) {
      context.addIssue({
        code: 'custom',
        path: [name],
        message: `expected together with the others of ${attested.join(', ')}`,
      })
    }
  })
  .meta({ id: 'QuoteRequest' })

export type QuoteRequest = z.output<typeof QuoteRequest>

const Account = z.string().regex(/^0x[0-9a-fA-F]{40}$/)
const Digits = z.string().regex(/^\d+$/)

export const Attestation = z
  .object({
    signature: z.string().regex(/^0x[0-9a-f]{130}$/),
    quoteTimestamp: Digits,
    quoteNonce: z.string().regex(/^0x[0-9a-f]{64}$/),
    signerAddress: Account,
    expiresAt: Digits.meta({ description: 'Unix seconds; the last second at which the protocol takes the signature' }),
  })
  .meta({ id: 'QuoteAttestation' })

export type Attestation = z.output<typeof Attestation>

export const Quote = z
  .object({
    premiumRate: z.number(),
    premiumUsd: z.number(),
    maxPayoutUsd: z.number(),
    premiumRateFixed6: Digits.meta({ description: 'What createEvent takes as premiumRate', example: '27322' }),
    attestation: Attestation.nullable(),
    breakdown: z.looseObject({}).meta({ description: 'Everything the premium follows from' }),
  })
  .meta({ id: 'PricingQuote' })

export type Quote = z.output<typeof Quote>

export const Health = z
  .object({
    usdRate: z.looseObject({ rate: z.number(), recordDate: z.string(), fetchedAt: z.int() }),
    pricingEngineSigner: Account.nullable(),
    pairs: z.array(
      z.looseObject({ pair: z.string(), tier: z.string(), useEmpiricalDrift: z.boolean(), historicalCloses: z.int() }),
    ),
  })
  .meta({ id: 'PricingHealth' })

export const Signer = z.object({ signerAddress: Account.nullable() }).meta({ id: 'PricingSigner' })

export type Health = z.output<typeof Health>
