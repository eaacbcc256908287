import { z } from 'zod'
import { BodyChainId } from '../../protocol/chains.ts'
import { Address20, Bool } from '../../protocol/fields/request-fields.ts'
import { builderOf } from '../../tx/compiled.ts'
import type { CallAction } from '../steps/call-action.ts'

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

/** The fields of plans that set the arguments `maxCost` and `deadline`. */
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

/** A parsed body. */
export type Intent = z.output<z.ZodObject<typeof common & typeof forced & typeof ofPurchases & typeof ofSpending>> &
  Readonly<Record<string, unknown>>

type Fields = Readonly<Record<string, z.ZodType>>

/** A body of these fields and those of every plan. */
export const requestBody = (fields: Fields): z.ZodType<Intent> =>
  z.strictObject({ ...common, ...fields, ...forced }) as unknown as z.ZodType<Intent>

type Call = Pick<CallAction, 'function' | 'spends'>

/** The arguments that a plan works out: the request does not have them. */
const derived = ['maxCost', 'deadline']

/** True for a call with a greatest cost and a deadline. */
export const isLimited = ({ function: name }: Call): boolean => derived.every((it) => it in builderOf(name).fields)

/** A body with the arguments of a call, and the fields of `more` after them. */
export const bodyOfCall = (call: Call, more: Fields = {}): z.ZodType<Intent> => {
  const given = Object.entries(builderOf(call.function).fields).filter(([name]) => !derived.includes(name))
  return requestBody({
    ...Object.fromEntries(given),
    ...more,
    ...(isLimited(call) && ofPurchases),
    ...(call.spends && ofSpending),
  })
}
