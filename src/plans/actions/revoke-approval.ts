import type { Address } from 'viem'
import { TokenDestination } from '../../protocol/fields/request-fields.ts'
import type { ActionDefinition } from '../draft/definition.ts'
import { draftSteps } from '../draft/plain-steps.ts'
import { requestBody } from '../draft/request-body.ts'
import { approval } from '../steps/step.ts'

export const revokeApproval: ActionDefinition = {
  summary: "take back the protocol's allowance of a token",
  description: "Sets the protocol's allowance of a token to 0.",
  body: requestBody({ token: TokenDestination }),
  draft(situation) {
    const token = situation.intent.token as Address
    return draftSteps(situation, [approval(situation.name, token, 0n, situation.chain.deployment)], [token])
  },
}
