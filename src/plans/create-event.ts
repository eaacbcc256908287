import type { Address } from 'viem'
import { z } from 'zod'
import { upstream } from '../lib/errors.ts'
import type { PricingClient } from '../pricing/client.ts'
import type { Quote } from '../pricing/messages.ts'
import type { Deployment } from '../protocol/chains.ts'
import { type Intent, type PlannedQuote, unsigned } from './intents.ts'
import type { Issue } from './records.ts'

/** The engine's terms in the form of `createEvent`, 1e6 fixed point. */
const FixedTerms = z.object({
  initialRateFixed6: z.string().regex(/^\d{1,78}$/),
  strikeFixed6: z.string().regex(/^\d{1,78}$/),
  payoutCapFixed6: z.string().regex(/^\d{1,78}$/),
})

/** The arguments of `createEvent` that a quote sets. */
export type Terms = {
  readonly arguments: Readonly<Record<string, unknown>>
  /** The last second at which the signature is valid; null without one. */
  readonly expiresAt: bigint | null
  readonly issues: readonly Issue[]
}

/** What actions without a quote have. */
export const NO_TERMS: Terms = { arguments: {}, expiresAt: null, issues: [] }

/** Why a quote is not signed. */
const UnsignedReason = z.object({ attestation: z.object({ reason: z.string() }) })

/** The issue of a quote without a signature, unless none was asked for; `signed` is that of the request. */
const unsignedIssues = ({ attestation, breakdown }: Quote, signed: boolean | undefined): Issue[] =>
  attestation !== null || signed === false
    ? []
    : [
        {
          code: 'unsigned_quote',
          message: `the pricing engine did not sign its quote: ${UnsignedReason.safeParse(breakdown).data?.attestation.reason ?? 'no reason given'}`,
          hint: 'Set `quote.signed` to false to create the event without a signature.',
          blocking: signed === true,
        },
      ]

const termsOf = (quote: Quote, asked: z.output<typeof PlannedQuote>): Terms => {
  const { premiumRateFixed6, attestation, breakdown } = quote
  const fixed = FixedTerms.safeParse(breakdown)
  if (!fixed.success) throw upstream("the pricing engine's quote has no terms in fixed point", fixed.error)
  return {
    arguments: {
      underlying: asked.pair,
      strike: BigInt(fixed.data.strikeFixed6),
      payoutCap: BigInt(fixed.data.payoutCapFixed6),
      initialRate: BigInt(fixed.data.initialRateFixed6),
      premiumRate: BigInt(premiumRateFixed6),
      expiry: BigInt(asked.expiryUnixSeconds),
      strikeAbove: asked.strikeAbove,
      ...(attestation === null
        ? unsigned
        : {
            signature: attestation.signature,
            quoteTimestamp: BigInt(attestation.quoteTimestamp),
            quoteNonce: attestation.quoteNonce,
          }),
    },
    expiresAt: attestation === null ? null : BigInt(attestation.expiresAt),
    issues: unsignedIssues(quote, asked.signed),
  }
}

/**
 * The arguments of `createEvent` that an intent leaves out: an unsigned event's, or those of the engine's quote. Throws
 * as `PricingClient.quote` does.
 */
export const eventTerms = async (
  pricing: Pick<PricingClient, 'quote'>,
  intent: Intent,
  creator: Address,
  { chainId, diamond }: Deployment,
): Promise<Terms> => {
  const asked = intent.quote as z.output<typeof PlannedQuote> | undefined
  if (asked === undefined) return { ...NO_TERMS, arguments: { ...unsigned, ...defined(intent) } }
  const { signed = true, ...range } = asked
  const quote = await pricing.quote({ ...range, ...(signed && { chainId, diamondAddress: diamond, creator }) })
  return termsOf(quote, asked)
}

/** Without the fields that are undefined. */
const defined = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
