import type { Address } from 'viem'
import { z } from 'zod'
import { Decimal } from '../../protocol/fields/response-fields.ts'
import { revertByCode } from '../../protocol/reverts/catalogue.ts'

/** A reason against a plan, or what else a wallet should know before it signs. */
export const Issue = z.object({
  code: z
    .string()
    .regex(/^[a-z_]+$/)
    .meta({
      description:
        'A code of `GET /v1/reverts`, or `insufficient_gas_funds`, `contract_account`, `nothing_to_claim`, `unsigned_quote`, `not_a_token`, `token_changed`, `not_simulated`, `event_expires_soon`',
    }),
  message: z.string().min(1),
  hint: z.string(),
  blocking: z.boolean().meta({
    description: 'True when the plan reverts because of it, or does not do what the request asks for',
  }),
  step: z.string().optional().meta({ description: 'The id of the step' }),
  have: Decimal.optional(),
  need: Decimal.optional(),
})

export type Issue = z.output<typeof Issue>

/** An issue that does not block, unless `more` has it so. */
export const issue = (code: string, message: string, hint: string, more: Partial<Issue> = {}): Issue => ({
  code,
  message,
  hint,
  blocking: false,
  ...more,
})

/** The issue of a step that reverts, or may do so. */
export const stepIssue = (step: string, code: string, message: string, hint: string): Issue =>
  issue(code, message, hint, { blocking: true, step })

/** The issue of a step that reverts for a reason of the catalogue. */
export const catalogueIssue = (step: string, reason: string): Issue => {
  const { code, cause, hint } = revertByCode(reason)
  return stepIssue(step, code, cause, hint)
}

/** The issue of a step that approves what does not answer as a token: the call may succeed and mean nothing. */
export const notAToken = (step: string, token: Address): Issue =>
  stepIssue(step, 'not_a_token', `no token answers at ${token}`, 'Check the address of the token and `chainId`.')
