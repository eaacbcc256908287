import type { ActionDefinition } from '../draft/definition.ts'
import { buyProtection } from './buy-protection.ts'
import { claimAll } from './claim-all.ts'
import { claimPayout } from './claim-payout.ts'
import { claimPremiums } from './claim-premiums.ts'
import { createEvent } from './create-event.ts'
import { deposit } from './deposit.ts'
import { revokeApproval } from './revoke-approval.ts'
import { setPoolSettings } from './set-pool-settings.ts'
import { submitRate } from './submit-rate.ts'
import { withdrawCapital } from './withdraw-capital.ts'
import { withdrawCreatorEarnings } from './withdraw-creator-earnings.ts'

/** The actions of plans by their names in the path. To add an action, add its definition. */
export const actions = {
  'create-event': createEvent,
  deposit,
  'buy-protection': buyProtection,
  'claim-payout': claimPayout,
  'claim-premiums': claimPremiums,
  'withdraw-capital': withdrawCapital,
  'withdraw-creator-earnings': withdrawCreatorEarnings,
  'set-pool-settings': setPoolSettings,
  'submit-rate': submitRate,
  'claim-all': claimAll,
  'revoke-approval': revokeApproval,
} as const satisfies Readonly<Record<string, ActionDefinition>>

/** The name of an action in the path. */
export type ActionName = keyof typeof actions
