import { type Executed, greatestPayout, type Plan } from 'fx-protection-client'
import { exactAmount, exactShare, weiText } from '../text/amount.ts'
import { moneyText, type Token, unitOf } from '../text/money.ts'
import { callParts } from '../text/sentences.ts'
import { chainText, conditionText } from '../text/terms.ts'
import { dateText } from '../text/time.ts'
import type { EventRow } from './labels.ts'
import { sentenceText } from './sentence.ts'

type Step = Plan['steps'][number]
type Issue = Plan['issues'][number]

/** An allowance that a plan sets. */
export type Approval = {
  readonly token: string
  readonly symbol: string | null
  readonly decimals: number | null
  /** In units of the token; null for an allowance without a limit, 0 for one that is removed. */
  readonly amount: bigint | null
}

/** From this amount on an allowance is as good as without a limit: no token has so many units. */
const UNLIMITED = 1n << 255n

const approvalOf = ({ transaction: { to, function: name, args } }: Step, { tokens }: Plan): Approval | null => {
  if (name !== 'approve') return null
  const amount = BigInt(String(Object(args).amount ?? 0))
  const token = tokens.find((each) => each.token.toLowerCase() === to.toLowerCase())
  const { symbol = null, decimals = null } = token ?? {}
  return { token: to, symbol, decimals, amount: amount >= UNLIMITED ? null : amount }
}

/** The allowances that a plan sets, in their order. */
export const approvalsOf = (plan: Plan): readonly Approval[] =>
  plan.steps.flatMap((step) => approvalOf(step, plan) ?? [])

/** The issues of a plan that are not shown elsewhere: the approval itself has the one of the allowance. */
export const issuesOf = ({ issues, steps }: Plan): readonly Issue[] =>
  issues.filter(
    ({ code, blocking }) =>
      blocking || code !== 'insufficient_allowance' || steps.every((step) => step.transaction.function !== 'approve'),
  )

/** Codes of plans; all others are reasons why a contract reverts. */
const ofPlans: readonly string[] = [
  ...['insufficient_allowance', 'insufficient_gas_funds', 'contract_account', 'unsigned_quote', 'event_expires_soon'],
  ...['not_simulated', 'not_a_token', 'token_changed', 'nothing_to_claim'],
]

type Args = Readonly<Record<string, string | number | boolean | null>>

/** What a plan is shown with: the event that it is about, and the token of its amounts. */
type About = { readonly event: EventRow | undefined; readonly token: Token }

const unitsOf = (value: unknown): bigint => BigInt(String(value ?? 0))

/** Sentences of calls whose arguments need the terms of an event, by function; null without them. */
const sentences: Readonly<Record<string, (args: Args, about: About) => string | null>> = {
  buyProtection: ({ notional }, { event }) => {
    if (event === undefined) return null
    const most = greatestPayout(event, unitsOf(notional))
    return `Protects ${moneyText(unitsOf(notional), event)} against ${conditionText(event)} on ${dateText(event.expiryDate)}. It pays at most ${moneyText(most, event)}.`
  },
  createEvent: ({ underlying, strike, strikeAbove, expiry, premiumRate, initialLiquidity }, { token }) => {
    const terms = { underlying: String(underlying), strike: unitsOf(strike), strikeAbove: strikeAbove === true }
    const liquidity = moneyText(unitsOf(initialLiquidity), token)
    return `Offers protection against ${conditionText({ ...terms, payoutCap: 0n })} on ${dateText(Number(expiry))} for ${exactShare(unitsOf(premiumRate))} of the notional, with ${liquidity} of liquidity.`
  },
  setPoolSettings: ({ poolOpen, allowExternalLp }) =>
    `The pool would be ${poolOpen === true ? 'open' : 'closed'}, and take deposits from ${allowExternalLp === true ? 'anyone' : 'its creator only'}.`,
}

/** The event, where it is that of the plan: a form may already show another one. */
const ownEvent = ({ chainId, steps }: Plan, event: EventRow | undefined): EventRow | undefined =>
  event?.chainId === chainId &&
  steps.some(({ transaction }) => String(Object(transaction.args).eventId) === `${event.id}`)
    ? event
    : undefined

/** What a plan does, in a sentence; null for approvals alone, for several calls, and without the event. */
export const planText = (plan: Plan, shown: EventRow | undefined): string | null => {
  const event = ownEvent(plan, shown)
  const [call, ...others] = plan.steps.filter(({ transaction }) => transaction.function !== 'approve')
  if (call === undefined || others.length > 0) return null
  const { function: name, args } = call.transaction
  const token = event ?? plan.cost ?? { symbol: null, decimals: null }
  const sentence = Object.hasOwn(sentences, name) ? sentences[name] : undefined
  if (sentence !== undefined) return sentence(args as Args, { event, token })
  const parts = callParts(name, args as Args, { chainId: plan.chainId, protocol: call.transaction.to, token })
  return parts.map((part) => (typeof part === 'string' ? part : part.text)).join('')
}

/** An issue in words, with the most that can be protected instead where that is the issue. */
type IssueText = { readonly text: string; readonly most?: bigint }

const lacking = (has: string, needs: string): IssueText => ({ text: `The wallet has ${has}, and needs ${needs}.` })

/** What a wallet or a pool lacks, by the code of the issue; undefined where the numbers are not known. */
const shortages: Readonly<
  Record<string, (issue: Issue, plan: Plan, event: EventRow | undefined) => IssueText | undefined>
> = {
  exceeds_capacity: (_, __, event) => {
    const most = event?.utilization?.availableCapacity
    if (event === undefined || most === undefined) return undefined
    if (most === 0n) return { text: 'This pool can protect nothing more.' }
    return { text: `This pool can protect at most ${moneyText(most, event)}.`, most }
  },
  insufficient_balance: ({ have, need }, { cost }) => {
    if (have === undefined || need === undefined || cost === null) return undefined
    const shown = (amount: bigint): string => `${exactAmount(amount, cost.decimals ?? 0)} ${unitOf(cost)}`
    return lacking(shown(have), shown(need))
  },
  insufficient_gas_funds: ({ have, need }, { gasCost }) => {
    if (have === undefined || need === undefined || gasCost === null) return undefined
    const symbol = chainText(gasCost.symbol, 12)
    return lacking(`${weiText(have)} ${symbol}`, `up to ${weiText(need)} ${symbol} for the gas`)
  },
}

/** An issue for people. Hints with names of fields in backticks are for programs: they are left out. */
export const issueText = (issue: Issue, plan: Plan, event: EventRow | undefined): IssueText => {
  const { code, message, hint } = issue
  const known = Object.hasOwn(shortages, code) ? shortages[code]?.(issue, plan, ownEvent(plan, event)) : undefined
  if (known !== undefined) return known
  return { text: chainText(`${sentenceText(message)}${hint.includes('`') ? '' : ` ${hint}`}`.replaceAll('`', ''), 400) }
}

/** The part of the guide that explains a code, relative to the address of the service. */
export const guideOf = (code: string): string =>
  `/v1/docs/guide/errors#${ofPlans.includes(code) ? 'issues' : 'reverts'}`

/** What a plan would create, in words: `event 14, deposit 31`. */
export const createdText = ({ eventId, positionId, depositId }: Plan['effects']['created']): string =>
  [
    ['event', eventId],
    ['position', positionId],
    ['deposit', depositId],
  ]
    .filter(([, id]) => id !== undefined)
    .map((made) => made.join(' '))
    .join(', ')

type Created = { readonly kind: 'event' | 'position' | 'deposit'; readonly id: number }

const created = (kind: Created['kind'], ids: readonly number[]): readonly Created[] => ids.map((id) => ({ kind, id }))

/** What an execution created, for links. */
export const createdBy = ({
  eventIds,
  positionIds,
  depositIds,
}: Pick<Executed, 'eventIds' | 'positionIds' | 'depositIds'>): readonly Created[] => [
  ...created('event', eventIds),
  ...created('position', positionIds),
  ...created('deposit', depositIds),
]
