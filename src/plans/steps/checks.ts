import { type Address, isAddressEqual } from 'viem'
import { OPEN, type ProfileName } from '../../protocol/profiles.ts'
import type { Check } from './call-action.ts'
import type { Facts } from './facts.ts'
import { catalogueIssue, type Issue } from './issue.ts'
import type { Step } from './step.ts'

/* Checks that several actions share. */

export const isSettled = ({ core }: Facts): boolean => core !== undefined && core.status !== OPEN

export const isExpired = ({ core }: Facts, _: Address, time: bigint): boolean =>
  core !== undefined && time >= core.expiryDate

export const isMissing = (id: bigint | undefined): boolean => (id ?? 0n) === 0n

export const eventFound: Check = { code: 'event_not_found', fails: (facts) => isMissing(facts.core?.id) }

export const notSettled: Check = { code: 'event_settled', fails: isSettled }

export const notOpen: Check = { code: 'event_not_settled', fails: ({ core }) => core?.status === OPEN }

/** The check that the wallet owns what the call is about. */
export const ownedBy = (code: string, ownerIn: (facts: Facts) => Address | undefined): Check => ({
  code,
  fails(facts, from) {
    const owner = ownerIn(facts)
    return owner !== undefined && !isAddressEqual(owner, from)
  },
})

export const ofCreator = ownedBy('not_creator', ({ core }) => core?.creator)

export const ownDeposit: readonly Check[] = [
  { code: 'deposit_not_found', fails: (facts) => isMissing(facts.deposit?.id) },
  ownedBy('not_your_deposit', ({ deposit }) => deposit?.lp),
]

/** The first reason why a call would revert, by the facts of its entity at `time` (Unix seconds). */
export const checkIssues = (
  { id, action }: Step,
  facts: Facts,
  { from, time, profile }: { readonly from: Address; readonly time: bigint; readonly profile: ProfileName },
): Issue[] => {
  const failed = action?.checks.find(
    (check) => (check.profile ?? profile) === profile && check.fails(facts, from, time),
  )
  return failed === undefined ? [] : [catalogueIssue(id, failed.code)]
}
