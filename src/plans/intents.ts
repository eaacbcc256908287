import { z } from 'zod'
import { QuoteRequest } from '../pricing/messages.ts'
import { BodyChainId } from '../protocol/chains.ts'
import { Address20, Bool, TokenDestination } from '../protocol/request-fields.ts'
import { builderOf } from '../tx/compiled.ts'
import { type Action, actions } from './actions.ts'

/* The bodies of plans: what a wallet wants. */

const integer = (min: number, max: number, description: string) => {
  const error = `expected an integer from ${min} to ${max}`
  return z.int({ error }).min(min, { error }).max(max, { error }).optional().meta({ description })
}

/** The first fields of every plan. */
const common = {
  chainId: BodyChainId,
  from: Address20.meta({ description: 'The wallet that will send the transactions' }),
}

/** The last field of every plan. */
const forced = {
  force: Bool.optional().meta({ description: 'Returns requests for a plan that would revert, too; false by default' }),
}

/** The fields of plans that set these arguments. */
const ofPurchases = {
  deadlineSeconds: integer(1, 86_400, 'Seconds until a purchase reverts; 600 by default'),
  maxCostBps: integer(
    0,
    10_000,
    'How far the cost of a purchase may rise above the planned one, in basis points; 0 by default',
  ),
}

/** The fields of plans that approve. */
const ofSpending = {
  approval: z
    .enum(['exact', 'unlimited'], { error: 'expected exact or unlimited' })
    .optional()
    .meta({ description: 'The allowance that an approval sets; `exact`, the maximum cost, by default' }),
}

/** The fields of an action's plan that are no arguments of its function. */
const optionsOf = ({ spends, derived }: Action) => ({
  ...(derived.length > 0 && ofPurchases),
  ...(spends && ofSpending),
  ...forced,
})

/** A parsed body. */
export type Intent = z.output<z.ZodObject<typeof common & typeof forced & typeof ofPurchases & typeof ofSpending>> &
  Readonly<Record<string, unknown>>

/** The arguments of `createEvent` that a quote has. */
const quoted = ['underlying', 'strike', 'payoutCap', 'premiumRate', 'expiry', 'initialRate', 'strikeAbove'] as const

/** The arguments that only a signed event has, with the values of an event without a signature. */
export const unsigned = { signature: '0x', quoteTimestamp: 0n, quoteNonce: `0x${'0'.repeat(64)}` } as const

/** What the engine is asked; the plan adds who creates the event, and where. */
export const PlannedQuote = z
  .strictObject(QuoteRequest.shape)
  .omit({ chainId: true, diamondAddress: true, creator: true })
  .extend({
    signed: Bool.optional().meta({
      description:
        'Whether to ask for a signature; true by default. With an explicit true, a quote that the engine does not sign makes the plan not executable',
    }),
  })

/** The schemas of an action's arguments, without those that the plan works out. */
const argumentsOf = ({ function: name, derived }: Action): Record<string, z.ZodType> => {
  const fields = Object.entries(builderOf(name).fields)
  return Object.fromEntries(fields.filter(([argument]) => !derived.includes(argument)))
}

const optional = (fields: Readonly<Record<string, z.ZodType>>, names: readonly string[]): Record<string, z.ZodType> =>
  Object.fromEntries(names.map((name) => [name, (fields[name] ?? z.never()).optional()]))

const createEvent = (): z.ZodType<Intent> => {
  const fields = argumentsOf(actions['create-event'])
  return z
    .strictObject({
      ...common,
      ...fields,
      ...optional(fields, [...quoted, ...Object.keys(unsigned)]),
      quote: PlannedQuote.optional().meta({
        description: `The range that the engine prices. The plan takes ${quoted.join(', ')} and the signature from its answer`,
      }),
      ...optionsOf(actions['create-event']),
    })
    .superRefine(
      (body: Readonly<Record<string, unknown>>, context) => {
        const hasQuote = body.quote !== undefined
        for (const path of [...quoted, ...(hasQuote ? Object.keys(unsigned) : [])]) {
          if ((body[path] !== undefined) !== hasQuote) continue
          const message = hasQuote ? 'leave it out: the quote has it' : 'is required unless there is a quote'
          context.addIssue({ code: 'custom', path: [path], message })
        }
      },
      // Whether the terms are complete is judged once each field is valid. Zod would skip this only for some faults.
      { when: ({ issues }) => issues.length === 0 },
    ) as unknown as z.ZodType<Intent>
}

const ofAction = (action: Action): z.ZodType<Intent> =>
  z.strictObject({ ...common, ...argumentsOf(action), ...optionsOf(action) }) as unknown as z.ZodType<Intent>

/** The bodies of plans by their names in the path. */
export const intents: Readonly<Record<string, z.ZodType<Intent>>> = {
  ...Object.fromEntries(Object.entries(actions).map(([name, action]) => [name, ofAction(action)])),
  'create-event': createEvent(),
  'claim-all': z.strictObject({ ...common, ...forced }),
  'revoke-approval': z.strictObject({ ...common, token: TokenDestination, ...forced }),
}
