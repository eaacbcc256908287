import { MAX_UINT256, max, min, mulDivDown } from '../../lib/fixed.ts'
import { timeText } from '../../protocol/sentence.ts'
import type { CallAction } from '../steps/call-action.ts'
import type { Facts } from '../steps/facts.ts'
import { type Issue, issue } from '../steps/issue.ts'
import { actionStep, approval, type Step } from '../steps/step.ts'
import { baseOf, type Draft, tokensOf } from './contents.ts'
import { type Price, priceOf } from './price.ts'
import { isLimited } from './request-body.ts'
import { argumentsOf, type Situation } from './situation.ts'

/** Seconds until a purchase reverts, unless the request has another value. */
const DEADLINE_SECONDS = 600

const BPS_ONE = 10_000n

/** The approvals before a step that takes up to `amount`. */
const approvalsOf = ({ allowance, needsReset, token }: Price, amount: bigint, { intent, chain }: Situation): Step[] => {
  const { deployment } = chain
  if (allowance !== null && allowance >= amount) return []
  const isReset = needsReset && allowance !== 0n
  return [
    ...(isReset ? [approval('reset-approval', token, 0n, deployment)] : []),
    approval('approve', token, intent.approval === 'unlimited' ? MAX_UINT256 : amount, deployment),
  ]
}

/** The last second at which an event can be bought; null for one that does not exist, whose expiry is 0. */
const lastSecondOf = ({ core }: Facts): bigint | null =>
  core === undefined || core.expiryDate === 0n ? null : core.expiryDate - 1n

/** Seconds before the expiry in which a purchase may well not be mined in time. */
const NEAR_SECONDS = 60n

/** The issue of a purchase that is planned shortly before the event expires. */
const nearExpiry = (end: bigint | null, time: bigint): Issue[] => {
  if (end === null || end < time || end - time >= NEAR_SECONDS) return []
  const message = `the event expires at ${timeText(end + 1n)}, ${end + 1n - time} s after the time of the plan: a later block refuses the purchase`
  return [issue('event_expires_soon', message, 'Send the transactions at once, or choose an event that expires later.')]
}

/** The earlier of the end of a signature and the last second before a new event's expiry; null without both. */
const earlier = (until: bigint | null, expiry: unknown): bigint | null => {
  if (typeof expiry !== 'bigint') return until
  return min(until ?? expiry, max(expiry - 1n, 0n))
}

/** Drafts an action that pulls tokens: prices it first, for its approval and its maximum cost. */
export const draftSpending = async (situation: Situation, action: CallAction): Promise<Draft> => {
  const { name, intent, prepared, chain, time } = situation
  const body = argumentsOf(situation)
  const { price, facts, createdId } = await priceOf(situation, action)
  const limited = isLimited(action)
  const total = price?.total ?? 0n
  const slack = limited ? BigInt(intent.maxCostBps ?? 0) : 0n
  // An absurd amount has a cost that no argument can hold. Its call reverts for its own reason.
  const maxCost = min(total + mulDivDown(total, slack, BPS_ONE), MAX_UINT256)
  const end = lastSecondOf(facts)
  const wanted = time + BigInt(intent.deadlineSeconds ?? DEADLINE_SECONDS)
  // Never after the expiry. After the expiry it is the time of the plan, so that the simulation shows why it is too late.
  const deadline = end === null ? wanted : max(min(wanted, end), time)
  const step = actionStep(name, action, { ...body, maxCost, deadline }, chain.deployment)
  const steps = [...(price === null ? [] : approvalsOf(price, maxCost, situation)), step]
  return {
    ...baseOf(situation),
    steps,
    price,
    maxCost,
    createdId,
    tokens: price === null ? tokensOf(chain) : [price.token],
    facts: steps.map((each) => (each === step ? facts : {})),
    validUntil: limited ? min(deadline, end ?? deadline) : earlier(prepared.expiresAt, body.expiry),
    issues: limited ? nearExpiry(end, time) : [],
  }
}
