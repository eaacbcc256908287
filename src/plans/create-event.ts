import type { Address } from 'viem'
import { z } from 'zod'
import { upstream } from '../lib/errors.ts'
import type { PricingClient } from '../pricing/client.ts'
import type { Quote } from '../pricing/messages.ts'
import type { Deployment } from '../protocol/chains.ts'
import { type Intent, type PlannedQuote, unsigned } from './intents.ts'

/** The engine's terms in the form of `createEvent`, 1e6 fixed point. */
const FixedTerms = z.object({
  initialRateFixed6: z.string().regex(/^\d{1,78}$/),
  strikeFixed6: z.string().regex(/^\d{1,78}$/),
  payoutCapFixed6: z.string().regex(/^\d{1,78}$/),
})

/** The arguments of `createEvent` that a quote sets, and the last second at which its signature is valid. */
export type Terms = { readonly arguments: Readonly<Record<string, unknown>>; readonly expiresAt: bigint | null }

/** What actions without a quote have. */
export const NO_TERMS: Terms = { arguments: {}, expiresAt: null }

const termsOf = ({ premiumRateFixed6, attestation, breakdown }: Quote, asked: z.output<typeof PlannedQuote>): Terms => {
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
  if (asked === undefined) return { arguments: { ...unsigned, ...defined(intent) }, expiresAt: null }
  const { signed = true, ...range } = asked
  const quote = await pricing.quote({ ...range, ...(signed && { chainId, diamondAddress: diamond, creator }) })
  return termsOf(quote, asked)
}

/** Without the fields that are undefined. */
const defined = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
