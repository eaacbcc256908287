import type { Plan } from 'fx-protection-client'
import { useChains } from '../api/chains.ts'
import { serviceUrl } from '../base.ts'
import { type Fact, Facts, Tile } from '../parts/facts.tsx'
import { Account, Amount } from '../parts/values.tsx'
import { weiText } from '../text/amount.ts'
import { chainText } from '../text/terms.ts'
import { relativeText, timeText } from '../text/time.ts'
import type { EventRow } from './labels.ts'
import { type Approval, approvalsOf, createdText, guideOf, issuesOf, issueText, planText } from './plan-text.ts'

type Of = { readonly plan: Plan }

type Props = Of & {
  /** The event that the plan is about. */
  readonly event?: EventRow | undefined
  /** Changes the amount that is protected. */
  readonly protect?: ((amount: bigint) => void) | undefined
}

/** Reasons against a plan, and what to do about each. */
const Issues = ({ plan, event, protect }: Props) => {
  const issues = issuesOf(plan)
  if (issues.length === 0) return null
  return (
    <section class={plan.executable ? 'issues' : 'issues bad'} aria-label="Issues">
      <h3>{plan.executable ? 'Before you sign' : 'Why it would fail'}</h3>
      <ul class="plain">
        {issues.map((issue) => {
          const { text, most } = issueText(issue, plan, event)
          return (
            <li key={`${issue.code} ${issue.step}`}>
              {text}{' '}
              {most !== undefined && protect !== undefined && (
                <button type="button" class="small plain" onClick={() => protect(most)}>
                  Use this amount
                </button>
              )}{' '}
              <a href={`${serviceUrl}${guideOf(issue.code)}`} class="nowrap">
                What this means
              </a>
            </li>
          )
        })}
      </ul>
    </section>
  )
}

const ApprovalText = (approval: Approval) => {
  const { amount, symbol } = approval
  if (amount !== null && amount > 0n) return <Amount digits="exact" value={amount} of={approval} />
  return (
    <span>
      {amount === null ? 'without a limit' : 'removed'}, {chainText(symbol ?? 'a token', 12)}{' '}
    </span>
  )
}

const isFact = (fact: Fact): boolean => fact[1] !== null

const factsOf = (plan: Plan): readonly Fact[] => {
  const { cost, payout, effects, executable, validUntil, steps, block, method, remaining } = plan
  const approvals = approvalsOf(plan)
  const created = createdText(effects.created)
  const amountOf = (value: bigint | null | undefined, of: typeof cost | typeof payout) =>
    value == null || of === null ? null : <Amount digits="exact" value={value} of={of} />
  const fee = payout === null || payout.fee === 0n ? null : payout
  const facts: readonly Fact[] = [
    ['Premium', amountOf(cost?.premium, cost)],
    ['Fee', amountOf(cost?.platformFee ?? fee?.fee, cost ?? payout)],
    ['At most', cost?.maxCost === cost?.total ? null : amountOf(cost?.maxCost, cost)],
    ['Before the fee', amountOf(fee?.gross, payout)],
    [
      'Allowance',
      approvals.length === 0 ? null : approvals.map((approval) => <ApprovalText key={approval.amount} {...approval} />),
    ],
    ['Creates', created === '' ? null : created],
    ['Transactions', steps.length],
    ['Claims left for another plan', remaining === 0 ? null : remaining],
    [
      'Sign before',
      validUntil.timestamp === null || !executable ? null : (
        <span title={timeText(validUntil.timestamp)}>{relativeText(validUntil.timestamp)}</span>
      ),
    ],
    ['Simulated', method === null ? 'not possible' : `on block ${block.number}`],
  ]
  return facts.filter(isFact)
}

/** The tokens that a plan moves: those of the wallet first. */
const Effects = ({ plan: { chainId, effects, from } }: Of) => {
  const diamond = useChains().find((chain) => chain.chainId === chainId)?.diamond
  const isOwn = (account: string): boolean => account.toLowerCase() === from.toLowerCase()
  const changes = effects.balanceChanges.toSorted((a, b) => Number(isOwn(b.account)) - Number(isOwn(a.account)))
  if (changes.length === 0) return null
  return (
    <>
      <h3>What changes</h3>
      <ul class="plain changes">
        {changes.map((change) => (
          <li key={`${change.account} ${change.token}`}>
            {isOwn(change.account) ? (
              'The wallet'
            ) : change.account === diamond ? (
              'The protocol'
            ) : (
              <Account address={change.account} />
            )}
            <span class={change.amount < 0n ? 'loss' : 'gain'}>
              {change.amount > 0n && '+'}
              <Amount digits="exact" value={change.amount} of={change} />
            </span>
          </li>
        ))}
      </ul>
    </>
  )
}

const Calls = ({ plan: { summary, steps, digest } }: Of) => (
  <details>
    <summary>What the wallet signs, exactly</summary>
    <p>{chainText(summary, 600)}</p>
    <ol class="calls">
      {steps.map(({ id, transaction: { to, function: name, args } }) => (
        <li key={id}>
          <strong>{name}</strong> of <span class="hash">{to}</span>
          <Facts
            facts={Object.entries(args as Record<string, unknown>).map(
              ([key, value]): Fact => [
                key,
                <span key={key} class="hash">
                  {chainText(String(value), 300)}
                </span>,
              ],
            )}
          />
        </li>
      ))}
    </ol>
    <p class="muted">
      Digest <span class="hash">{digest}</span>
    </p>
  </details>
)

/** What a plan does, costs, pays and changes, and why it would fail. */
export const PlanView = ({ plan, event, protect }: Props) => {
  const { cost, payout, gasCost } = plan
  const text = planText(plan, event)
  return (
    <>
      {text !== null && <p class="summary">{text}</p>}
      <Issues plan={plan} event={event} protect={protect} />
      <div class="tiles">
        {cost !== null && (
          <Tile name={cost.exact ? 'You pay' : 'You pay about'}>
            <Amount digits="exact" value={cost.total} of={cost} />
          </Tile>
        )}
        {payout !== null && (
          <Tile name="You receive">
            <Amount digits="exact" value={payout.net} of={payout} />
          </Tile>
        )}
        {gasCost !== null && (
          <Tile name="Gas, at most">
            {weiText(gasCost.total)} <small>{chainText(gasCost.symbol, 12)}</small>
          </Tile>
        )}
      </div>
      <Facts facts={factsOf(plan)} />
      <Effects plan={plan} />
      <Calls plan={plan} />
    </>
  )
}
