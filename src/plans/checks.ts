import { type Address, isAddressEqual } from 'viem'
import { OPEN, type ProfileName } from '../protocol/profiles.ts'
import { revertByCode } from '../protocol/reverts/catalogue.ts'
import type { Issue } from './records.ts'
import type { Step } from './step.ts'
import { type Facts, grossOf } from './subjects.ts'

/* What reads alone show about a plan, for chains whose nodes do not simulate. */

type Check = { readonly code: string; fails(facts: Facts, from: Address, time: bigint): boolean }

const isSettled = ({ core }: Facts): boolean => core !== undefined && core.status !== OPEN

const isMissing = (id: bigint | undefined): boolean => (id ?? 0n) === 0n

const eventFound: Check = { code: 'event_not_found', fails: (facts) => isMissing(facts.core?.id) }
const notSettled: Check = { code: 'event_settled', fails: isSettled }
const notOpen: Check = { code: 'event_not_settled', fails: ({ core }) => core?.status === OPEN }
const isExpired = ({ core }: Facts, time: bigint): boolean => core !== undefined && time >= core.expiryDate
const ownDeposit: readonly Check[] = [
  { code: 'deposit_not_found', fails: (facts) => isMissing(facts.deposit?.id) },
  {
    code: 'not_your_deposit',
    fails: ({ deposit }, from) => deposit !== undefined && !isAddressEqual(deposit.lp, from),
  },
]
const ofCreator: Check = {
  code: 'not_creator',
  fails: ({ core }, from) => core !== undefined && !isAddressEqual(core.creator, from),
}

const poolClosed: Check = { code: 'pool_closed', fails: ({ core }) => core?.poolOpen === false }

/** The checks of a function, in the order of the contract. */
const checks: Readonly<Partial<Record<string, readonly Check[]>>> = {
  deposit: [eventFound, notSettled],
  buyProtection: [
    eventFound,
    { code: 'event_expired', fails: (facts, _, time) => isSettled(facts) || isExpired(facts, time) },
    poolClosed,
  ],
  claimPayout: [
    { code: 'position_not_found', fails: (facts) => isMissing(facts.position?.id) },
    {
      code: 'not_your_position',
      fails: ({ position }, from) => position !== undefined && !isAddressEqual(position.hedger, from),
    },
    { code: 'already_claimed', fails: ({ position }) => position?.claimed === true },
    notOpen,
    { code: 'no_payout', fails: (facts) => grossOf.payout(facts) === 0n },
  ],
  claimPremiums: [...ownDeposit, { code: 'no_premiums', fails: (facts) => grossOf.premiums(facts) === 0n }],
  withdrawCapital: [
    ...ownDeposit,
    notOpen,
    { code: 'already_withdrawn', fails: ({ deposit }) => deposit?.withdrawn === true },
  ],
  withdrawCreatorEarnings: [
    eventFound,
    ofCreator,
    { code: 'no_earnings', fails: (facts) => grossOf['creator-earnings'](facts) === 0n },
  ],
  setPoolSettings: [eventFound, ofCreator, notSettled],
  submitRate: [
    eventFound,
    notSettled,
    { code: 'event_not_expired', fails: (facts, _, time) => !isExpired(facts, time) },
  ],
}

/** The functions that another kind of deployment checks otherwise. */
const checksOf: Readonly<Record<ProfileName, typeof checks>> = {
  reference: checks,
  deployed: {
    ...checks,
    buyProtection: [
      eventFound,
      notSettled,
      poolClosed,
      { code: 'event_expired', fails: (facts, _, time) => isExpired(facts, time) },
    ],
  },
}

/** The first reason why a call would revert, by the facts of its subject at `time` (Unix seconds). */
export const checkIssues = (
  { id, transaction }: Step,
  facts: Facts,
  { from, time, profile }: { readonly from: Address; readonly time: bigint; readonly profile: ProfileName },
): Issue[] => {
  const failed = checksOf[profile][transaction.function]?.find((check) => check.fails(facts, from, time))
  if (failed === undefined) return []
  const { code, cause, hint } = revertByCode(failed.code)
  return [{ code, message: cause, hint, blocking: true, step: id }]
}
