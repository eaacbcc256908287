import type { z } from 'zod'
import type { PricingClient } from '../../pricing/client.ts'
import type { Deployment } from '../../protocol/chains.ts'
import type { CallAction } from '../steps/call-action.ts'
import { actionStep } from '../steps/step.ts'
import type { Draft } from './contents.ts'
import { draftSteps } from './plain-steps.ts'
import { bodyOfCall, type Intent } from './request-body.ts'
import { argumentsOf, type Prepared, type Situation } from './situation.ts'
import { draftSpending } from './spending.ts'

/** An action of plans. */
export type ActionDefinition = {
  /** What the wallet does, as it follows "Plan to". */
  readonly summary: string
  /** What the plan does and costs, in sentences. */
  readonly description: string
  readonly body: z.ZodType<Intent>
  /** Completes a request that leaves something out. Throws as the pricing client does. */
  prepare?(pricing: Pick<PricingClient, 'quote'>, intent: Intent, deployment: Deployment): Promise<Prepared>
  /** Throws as `Chain.send` does, and for claims as `portfoliosOf` does. */
  draft(situation: Situation): Promise<Draft>
}

/** Defines an action that is one call: its body has the arguments, and an approval comes before a call that spends. */
export const callAction = (
  call: CallAction & Omit<ActionDefinition, 'body' | 'draft'> & Partial<Pick<ActionDefinition, 'body'>>,
): ActionDefinition & CallAction => ({
  body: bodyOfCall(call),
  ...call,
  async draft(situation) {
    if (call.spends !== undefined) return draftSpending(situation, call)
    const { name, chain } = situation
    return draftSteps(situation, [actionStep(name, call, argumentsOf(situation), chain.deployment)], [])
  },
})
