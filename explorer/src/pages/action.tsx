import { costOf, formatAmount, type Plan, type PostPath, type Schemas } from 'fx-protection-client'
import { useEffect, useState } from 'preact/hooks'
import { Link, useSearchParams } from 'wouter-preact'
import { type ActionName, actions, bodyOf, fieldsOf, isAction, isRequired } from '../act/actions.ts'
import { EventOfAction, failedOf, OwnEntity, useEventOf, useOffered } from '../act/entity.tsx'
import {
  type Execution,
  executeOnce,
  forgetOutcome,
  isRunning,
  lastEnd,
  useExecution,
  useInterrupted,
} from '../act/execution.ts'
import { type Choices, FieldInput } from '../act/field-input.tsx'
import { fieldProblems } from '../act/field-problems.ts'
import { changedValues, type FieldName, fieldOf, type Values } from '../act/fields.ts'
import { Interrupted } from '../act/interrupted.tsx'
import { type EventRow, eventLabel } from '../act/labels.ts'
import { PlanView } from '../act/plan-view.tsx'
import { Progress } from '../act/progress.tsx'
import type { Chain } from '../api/chains.ts'
import { useApi, usePost, useSettled } from '../api/queries.ts'
import { payoffOf } from '../charts/payoff.ts'
import { PayoffChart } from '../charts/payoff-chart.tsx'
import { Empty, Loading, Problem, Read } from '../parts/state.tsx'
import { isAddress } from '../text/address.ts'
import { parseDecimal } from '../text/input.ts'
import { chainText } from '../text/terms.ts'
import { useSession } from '../wallet/session.ts'
import { chooseWallet } from '../wallet/wallet-button.tsx'
import { NotFoundPage } from './not-found.tsx'

/** How often an open plan is made again: its nonces, ids and amounts are those of a block. */
const PLAN_MS = 15_000

/** The choice of a record that is not listed. */
const BY_NUMBER = 'number'

/** The most characters of a value in the address of the page. */
const MOST_VALUE = 256

/** The payment tokens of a chain, by address. */
const tokensOf = (chain: Chain | undefined): Readonly<Record<string, string>> => ({
  ...(chain && { [chain.usdc]: 'USDC' }),
  ...(chain?.usdt && { [chain.usdt]: 'USDT' }),
})

type Token = { readonly symbol: string | null; readonly decimals: number | null }

const paymentTokenOf = (chain: Chain | undefined, address: string | undefined): Token | undefined => {
  const symbol = tokensOf(chain)[address ?? '']
  const decimals = symbol && chain?.paymentDecimals[symbol as 'USDC']
  return symbol === undefined || decimals === undefined ? undefined : { symbol, decimals: Number(decimals) }
}

/** The payoff of a purchase: of the plan when there is one. */
const Payoff = ({ event, notional, plan }: { event: EventRow; notional: bigint; plan: Plan | undefined }) => {
  const fees = useApi('/v1/hedge/fees', { chainId: event.chainId })
  const { premium, platformFee, total } = plan?.cost ?? {}
  const planned =
    premium != null && platformFee != null && total !== undefined ? { premium, platformFee, total } : undefined
  return (
    <section class="card">
      <h2>What it pays</h2>
      <Read of={fees} lines={6}>
        {({ data }) => {
          const cost = planned ?? costOf(event, notional, data)
          return <PayoffChart event={event} payoff={payoffOf(event, notional, cost, data)} token={event} />
        }}
      </Read>
    </section>
  )
}

type SignProps = {
  readonly plan: Plan
  readonly isCurrent: boolean
  readonly chain: Chain | undefined
  readonly execution: Execution | null
  readonly take: () => void
}

/** The button that signs a plan. */
const Sign = ({ plan, isCurrent, chain, execution, take }: SignProps) => {
  const session = useSession()
  if (session.state !== 'connected')
    return (
      <button type="button" onClick={chooseWallet}>
        Connect a wallet to sign
      </button>
    )
  if (session.account.toLowerCase() !== plan.from.toLowerCase())
    return (
      <p>
        The plan is for another account than that of the wallet.{' '}
        <button type="button" class="small" onClick={take}>
          Plan for {session.account.slice(0, 6)}…{session.account.slice(-4)}
        </button>
      </p>
    )
  const isReady = isCurrent && plan.executable && chain !== undefined && execution === null
  return (
    <>
      <button
        type="button"
        disabled={!isReady}
        onClick={() => {
          if (chain !== undefined) void executeOnce(plan, session, chain)
        }}
      >
        Sign in {session.wallet.name}
      </button>
      {chain && session.chainId !== chain.chainId && (
        <p class="muted">The wallet is on another chain: it is asked to switch to {chain.name} first.</p>
      )}
    </>
  )
}

/** The values that the address of the page has for an action. */
const valuesOf = (action: ActionName, search: URLSearchParams): Values =>
  Object.fromEntries(
    [...actions[action].fields, 'from'].flatMap((name) => {
      const value = search.get(name)
      return value === null ? [] : [[name, value.slice(0, MOST_VALUE)]]
    }),
  )

/** Keeps the values in the address of the page, so that it can be shared. */
const useShared = (values: Values): void => {
  const [, setSearch] = useSearchParams()
  const settled = useSettled(values)
  useEffect(() => {
    const given = Object.entries(settled).flatMap(([name, value]) => (value ? [[name, value] as [string, string]] : []))
    setSearch(new URLSearchParams(given), { replace: true })
  }, [settled])
}

const Form = ({ action }: { readonly action: ActionName }) => {
  const { title, about, entity } = actions[action]
  const [search] = useSearchParams()
  const [values, setValues] = useState(() => valuesOf(action, search))
  const set = (changed: Values): void => setValues((before) => changedValues(before, changed))
  useShared(values)
  const session = useSession()
  const execution = useExecution()
  const interrupted = useInterrupted()
  const running = isRunning(execution)
  // What has ended on another page is not shown on this one.
  useEffect(forgetOutcome, [])

  const chainsRead = useApi('/v1/chains', {})
  const chains: readonly Chain[] = chainsRead.data?.data ?? []
  const connected = session.state === 'connected' ? session : undefined
  const known = chains.find(({ chainId }) => chainId === connected?.chainId) ?? chains[0]
  const chainId = values.chainId ?? `${known?.chainId ?? ''}`
  const chain = chains.find((each) => `${each.chainId}` === chainId)
  const from = values.from ?? connected?.account ?? ''
  const idField = entity && (`${entity}Id` as const)
  const id = (idField && values[idField]) ?? ''
  const { event, isMissing, request } = useEventOf(chainId, entity === 'event' ? id : '')
  const offered = useOffered(action, chainId, from)
  const [byNumber, setByNumber] = useState(false)
  const health = useApi('/v1/pricing/health', {}, { enabled: action === 'create-event' })

  const firstToken = chain?.usdc ?? ''
  // Settings that a person does not change stay as they are, so they have to be known.
  const isOfSettings = action === 'set-pool-settings'
  const settings = isOfSettings && event
  const isUnknown = isOfSettings && !event && (values.poolOpen === undefined || values.allowExternalLp === undefined)
  const full: Values = {
    ...(settings && { poolOpen: `${settings.poolOpen}`, allowExternalLp: `${settings.allowExternalLp}` }),
    paymentToken: firstToken,
    token: firstToken,
    ...values,
    chainId,
  }
  const token: Token | undefined = entity === 'event' ? event : paymentTokenOf(chain, full.paymentToken)
  const filled = bodyOf(action, full, token === undefined ? null : (token.decimals ?? 0))
  const body = 'body' in filled && isAddress(from) && !isUnknown ? { ...filled.body, from } : null
  const settled = useSettled(body)
  const path = `/v1/plans/${action}` as PostPath
  const made = usePost(path, settled as never, running ? {} : { everyMs: PLAN_MS })
  const plan = settled === null ? undefined : (made.data as { readonly data: Plan } | undefined)?.data
  const isAfter = made.dataUpdatedAt > lastEnd()
  const isSame = JSON.stringify(body) === JSON.stringify(settled) && !made.isPlaceholderData
  const isCurrent = isSame && isAfter && made.error === null
  const isWaiting = body !== null && execution === null && made.error === null && !isCurrent
  const shown = fieldsOf(action, values)
  const problems = 'problems' in filled ? filled.problems : settled === null ? {} : fieldProblems(made.error, shown)
  const isWrong = Object.values(problems).some(Boolean)
  useEffect(() => {
    if (execution === null && settled !== null && !isAfter) void made.refetch()
  }, [execution === null])

  const pairs: readonly Schemas['PricingHealth']['pairs'][number][] = health.data?.data.pairs ?? []
  const isOfEngine = (values.pricing ?? 'engine') === 'engine'
  const choices: Choices = {
    chainId: Object.fromEntries(chains.map((each) => [`${each.chainId}`, each.name])),
    paymentToken: tokensOf(chain),
    token: tokensOf(chain),
    ...(isOfEngine && pairs.length > 0 && { underlying: Object.fromEntries(pairs.map(({ pair }) => [pair, pair])) }),
  }
  const unitOf = (name: FieldName): string | undefined =>
    fieldOf(name).kind === 'amount' && token ? chainText(token.symbol ?? 'tokens', 12) : undefined
  const advanced = shown.filter((name) => fieldOf(name).advanced)
  const idChoices = byNumber
    ? undefined
    : offered.choices && {
        ...offered.choices,
        ...(event && { [id]: eventLabel(event) }),
        ...{ [BY_NUMBER]: 'Another one, by its number…' },
      }
  const change = (name: FieldName, value: string): void => {
    if (name === 'chainId') set({ chainId: value, ...(idField && { [idField]: undefined }) })
    else if (name !== idField) set({ [name]: value })
    else if (value === BY_NUMBER) setByNumber(true)
    else set({ chainId, [name]: value })
  }
  const inputOf = (name: FieldName) => (
    <FieldInput
      key={name}
      name={name}
      value={full[name] ?? fieldOf(name).initial ?? ''}
      set={(value) => change(name, value)}
      choices={name === idField ? idChoices : choices[name]}
      hint={name === idField ? offered.hint : undefined}
      wide={name === idField}
      problem={name === 'eventId' && isMissing ? 'This chain has no such event.' : problems[name]}
      unit={unitOf(name)}
      required={isRequired(action, name, values)}
      disabled={running}
    />
  )
  const failed = failedOf(chainsRead, offered.request, request)
  const notional =
    action === 'buy-protection' && event ? parseDecimal(values.notional ?? '', event.decimals ?? 0) : null

  return (
    <>
      <p class="crumbs">
        <Link href="/act">Act</Link> / {title}
      </p>
      <h1>{title}</h1>
      <p class="lead">{about}</p>
      <div class="act-columns">
        <form class="card act-form" onSubmit={(submitted) => submitted.preventDefault()} aria-label={title}>
          {failed && (
            <div class="wide">
              <Problem {...failed} />
            </div>
          )}
          {shown.filter((name) => !fieldOf(name).advanced).map(inputOf)}
          <div class={`field wide ${from !== '' && !isAddress(from) ? 'wrong' : ''}`}>
            <label for="field-from">Wallet</label>
            <input
              id="field-from"
              value={from}
              maxLength={42}
              placeholder="0x…"
              spellcheck={false}
              autocomplete="off"
              disabled={running}
              aria-describedby="field-from-hint"
              onInput={({ currentTarget }) => set({ from: currentTarget.value.trim() })}
              onBlur={({ currentTarget }) => currentTarget.value.trim() === '' && set({ from: undefined })}
            />
            <small id="field-from-hint" class="hint">
              {connected
                ? 'The account that signs. Another one can be simulated.'
                : 'Connect a wallet, or type an address to see what would happen.'}
            </small>
          </div>
          {advanced.length > 0 && (
            <details class="wide" open={advanced.some((name) => values[name])}>
              <summary>Options</summary>
              <div class="act-form">{advanced.map(inputOf)}</div>
            </details>
          )}
        </form>
        <section class="card plan" aria-label="Plan" aria-busy={isWaiting}>
          <h2>What would happen {isWaiting && <small>updating…</small>}</h2>
          {made.error !== null && settled !== null && !isWrong && (
            <Problem error={made.error} retry={() => void made.refetch()} />
          )}
          {execution !== null ? (
            <>
              <PlanView plan={execution.plan} event={event} />
              <Progress execution={execution} />
            </>
          ) : isWrong ? (
            <Empty>Correct the marked field.</Empty>
          ) : plan !== undefined ? (
            <>
              <PlanView
                plan={plan}
                event={event}
                protect={event && ((amount) => set({ notional: formatAmount(amount, event.decimals ?? 0) }))}
              />
              <div class="sign">
                {interrupted === null ? (
                  <Sign {...{ plan, isCurrent, chain, execution }} take={() => set({ from: undefined })} />
                ) : (
                  <Interrupted execution={interrupted} />
                )}
              </div>
            </>
          ) : settled === null ? (
            <Empty>Fill in the form to see what it costs, what changes, and whether it would succeed.</Empty>
          ) : (
            made.error === null && <Loading lines={8} />
          )}
        </section>
        <div>
          {event && <EventOfAction event={event} />}
          {(entity === 'position' || entity === 'deposit') && <OwnEntity {...{ kind: entity, chainId, id }} />}
          {event && notional !== null && (
            <Payoff event={event} notional={notional} plan={isCurrent && plan?.action === action ? plan : undefined} />
          )}
        </div>
      </div>
    </>
  )
}

/** An action as a form, with its simulation, until it is done. */
export const ActionPage = ({ action }: { readonly action: string }) =>
  isAction(action) ? <Form key={action} action={action} /> : <NotFoundPage />
