import { z } from 'zod'
import { upstream } from '../../lib/errors.ts'
import { type Quote, QuoteRequest } from '../../pricing/messages.ts'
import { Bool } from '../../protocol/fields/request-fields.ts'
import { amountText, formatAmount, type Terms, termsText } from '../../protocol/sentence.ts'
import { builderOf } from '../../tx/compiled.ts'
import { callAction } from '../draft/definition.ts'
import { bodyOfCall, type Intent } from '../draft/request-body.ts'
import type { Prepared } from '../draft/situation.ts'
import type { CallAction } from '../steps/call-action.ts'
import { type Issue, issue } from '../steps/issue.ts'

/** The arguments that a quote has. */
const quoted = ['underlying', 'strike', 'payoutCap', 'premiumRate', 'expiry', 'initialRate', 'strikeAbove'] as const

/** The arguments that only a signed event has, with the values of an event without a signature. */
const unsigned = { signature: '0x', quoteTimestamp: 0n, quoteNonce: `0x${'0'.repeat(64)}` } as const
const signatureFields = Object.keys(unsigned)

/** What the engine is asked; the plan adds who creates the event, and where. */
const PlannedQuote = z
  .strictObject(QuoteRequest.shape)
  .omit({ chainId: true, diamondAddress: true, creator: true })
  .extend({
    signed: Bool.optional().meta({
      description:
        'Whether to ask for a signature; true by default. With an explicit true, a quote that the engine does not sign makes the plan not executable',
    }),
  })
type PlannedQuote = z.output<typeof PlannedQuote>

/** The engine's terms in the form of `createEvent`, 1e6 fixed point. */
const FixedTerms = z.object({
  initialRateFixed6: z.string().regex(/^\d{1,78}$/),
  strikeFixed6: z.string().regex(/^\d{1,78}$/),
  payoutCapFixed6: z.string().regex(/^\d{1,78}$/),
})

/** Why a quote is not signed. */
const UnsignedReason = z.object({ attestation: z.object({ reason: z.string() }) })

const call = {
  function: 'createEvent',
  entity: null,
  spends: {
    total: ({ initialLiquidity }, _, { eventCreationFee }) => eventCreationFee + (initialLiquidity as bigint),
  },
  creates: 'eventId',
  checks: [],
  sentence([params], { unit, total }) {
    const event = params as Terms & { readonly premiumRate: bigint; readonly initialLiquidity: bigint }
    const { premiumRate, initialLiquidity } = event
    const seeded = initialLiquidity === 0n ? '' : `, and seed it with ${amountText(initialLiquidity, unit)}`
    const cost = total === null ? '' : `: costs ${amountText(total, unit)}`
    return `create an event that sells protection against ${termsText(event)}, for ${formatAmount(premiumRate, 4)} % of the notional${seeded}${cost}`
  },
} as const satisfies CallAction

const { fields } = builderOf(call.function)

const body = bodyOfCall(call, {
  ...Object.fromEntries([...quoted, ...signatureFields].map((name) => [name, (fields[name] ?? z.never()).optional()])),
  quote: PlannedQuote.optional().meta({
    description: `The range that the engine prices. The plan takes ${quoted.join(', ')} and the signature from its answer`,
  }),
}).superRefine(
  (intent, context) => {
    const hasQuote = intent.quote !== undefined
    for (const path of [...quoted, ...(hasQuote ? signatureFields : [])]) {
      if ((intent[path] !== undefined) !== hasQuote) continue
      const message = hasQuote ? 'leave it out: the quote has it' : 'is required unless there is a quote'
      context.addIssue({ code: 'custom', path: [path], message })
    }
  },
  // Whether the terms are complete is judged once each field is valid. Zod would skip this only for some faults.
  { when: ({ issues }) => issues.length === 0 },
)

/** The issue of a quote without a signature, unless none was asked for; `signed` is that of the request. */
const unsignedIssues = ({ attestation, breakdown }: Quote, signed: boolean | undefined): Issue[] => {
  if (attestation !== null || signed === false) return []
  const reason = UnsignedReason.safeParse(breakdown).data?.attestation.reason ?? 'no reason given'
  const hint = 'Set `quote.signed` to false to create the event without a signature.'
  const message = `the pricing engine did not sign its quote: ${reason}`
  return [issue('unsigned_quote', message, hint, { blocking: signed === true })]
}

const argumentsOf = (quote: Quote, asked: PlannedQuote): Prepared => {
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

/** Without the fields that are undefined. */
const defined = (given: Intent): Record<string, unknown> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))

export const createEvent = callAction({
  summary: 'create an event and seed its pool',
  description:
    'Creates an event from its terms, or from a `quote` that the pricing engine prices and signs. The cost is the creation fee plus the seed capital. The wallet becomes the first liquidity provider.',
  ...call,
  body,
  async prepare(pricing, intent, { chainId, diamond }) {
    const asked = intent.quote as PlannedQuote | undefined
    if (asked === undefined) return { arguments: { ...unsigned, ...defined(intent) }, expiresAt: null, issues: [] }
    const { signed = true, ...range } = asked
    const creator = intent.from
    const quote = await pricing.quote({ ...range, ...(signed && { chainId, diamondAddress: diamond, creator }) })
    return argumentsOf(quote, asked)
  },
})
