import type { Plan } from 'fx-protection-client'
import { useChains } from '../api/chains.ts'
import { serviceUrl } from '../base.ts'
import { type Fact, Facts, Pill, Tile } from '../parts/facts.tsx'
import { Account, Amount } from '../parts/values.tsx'
import { weiText } from '../text/amount.ts'
import { chainText } from '../text/terms.ts'
import { relativeText, timeText } from '../text/time.ts'
import { type Approval, approvalsOf, createdText, guideOf, issuesOf } from './plan-text.ts'

type Of = { readonly plan: Plan }

/** A text of the API with its names in backticks as code. */
const Marked = ({ text }: { readonly text: string }) => (
  <>
    {chainText(text, 400)
      .split('`')
      .map((part, index) => (index % 2 === 0 ? part : <code key={part}>{part}</code>))}
  </>
)

/** Reasons against a plan, and what to do about each. */
const Issues = ({ plan }: Of) => {
  const issues = issuesOf(plan)
  if (issues.length === 0) return null
  return (
    <section class={plan.executable ? 'issues' : 'issues bad'} aria-label="Issues">
      <h3>{plan.executable ? 'Before you sign' : 'Why it would fail'}</h3>
      <ul class="plain">
        {issues.map(({ code, message, hint, blocking, step }) => (
          <li key={`${code} ${step}`}>
            <Pill tone={blocking ? 'bad' : 'warn'}>{code.replaceAll('_', ' ')}</Pill> <Marked text={message} />{' '}
            <span class="muted">
              <Marked text={hint} />
            </span>{' '}
            <a href={`${serviceUrl}${guideOf(code)}`} class="nowrap">
              What this means
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}

const ApprovalText = (approval: Approval) => {
  const { amount, symbol } = approval
  if (amount !== null && amount > 0n) return <Amount digits="exact" value={amount} of={approval} />
  return (
    <span>
      {amount === null ? 'without a limit, of' : 'taken back, of'} {chainText(symbol ?? 'a token', 12)}{' '}
    </span>
  )
}

const isFact = (fact: Fact): boolean => fact[1] !== null

const factsOf = (plan: Plan): readonly Fact[] => {
  const { cost, payout, effects, validUntil, steps, block, method, remaining } = plan
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
      'Approval needed',
      approvals.length === 0 ? null : approvals.map((approval) => <ApprovalText key={approval.amount} {...approval} />),
    ],
    ['Creates', created === '' ? null : created],
    ['Transactions', steps.length],
    ['Claims left for another plan', remaining === 0 ? null : remaining],
    [
      'Sign before',
      validUntil.timestamp === null ? null : (
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

const Calls = ({ plan: { steps, digest } }: Of) => (
  <details>
    <summary>Calls to be signed</summary>
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
export const PlanView = ({ plan }: Of) => {
  const { summary, cost, payout, gasCost } = plan
  return (
    <>
      <p class="summary">{chainText(summary, 600)}</p>
      <Issues plan={plan} />
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
