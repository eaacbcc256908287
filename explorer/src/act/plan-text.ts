import type { Executed, Plan } from 'fx-protection-client'

type Step = Plan['steps'][number]
type Issue = Plan['issues'][number]

/** An allowance that a plan sets. */
export type Approval = {
  readonly token: string
  readonly symbol: string | null
  readonly decimals: number | null
  /** In units of the token; null for an allowance without a limit, 0 for one that is taken back. */
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
