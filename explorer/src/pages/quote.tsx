import { costOf, type Schemas } from 'fx-protection-client'
import { useEffect, useState } from 'preact/hooks'
import { Link, useSearchParams } from 'wouter-preact'
import { rangeOf, readFields } from '../act/actions.ts'
import { failedOf } from '../act/entity.tsx'
import { FieldInput } from '../act/field-input.tsx'
import { fieldProblems } from '../act/field-problems.ts'
import { changedValues, fieldOf, inputTime, type Value, type Values } from '../act/fields.ts'
import { useApi, usePost, useSettled } from '../api/queries.ts'
import { payoffOf } from '../charts/payoff.ts'
import { PayoffChart } from '../charts/payoff-chart.tsx'
import { Pill, Tile } from '../parts/facts.tsx'
import { Past, pastPricesUrl } from '../parts/past.tsx'
import { Empty, Loading, Problem, Read } from '../parts/state.tsx'
import { Amount, Rate } from '../parts/values.tsx'
import { Breakdown } from '../quote/breakdown.tsx'
import { unsignedText } from '../quote/engine-values.ts'
import { cautions, chartRange, createLink, firstExpiry, firstRange, quoteFields, spotRequest } from '../quote/range.ts'
import { studyText } from '../quote/study.ts'
import { exactShare } from '../text/amount.ts'
import { timeText } from '../text/time.ts'
import { useSession } from '../wallet/session.ts'
import { chooseWallet } from '../wallet/wallet-button.tsx'

type Quote = Schemas['PricingQuote']
type Reading = Readonly<Record<string, Value>>

/** Amounts of a quote are in whole tokens of any kind: they are shown like dollars. */
const USD = { symbol: 'USD', decimals: 6 }

/** Whether a quote is signed, and why not. */
const Signature = ({ quote, isConnected }: { readonly quote: Quote; readonly isConnected: boolean }) => {
  const { attestation, breakdown } = quote
  if (attestation !== null)
    return (
      <p>
        <Pill tone="good">signed</Pill> The protocol accepts this price until {timeText(Number(attestation.expiresAt))}.
        A plan to create the event asks for a new signature.
      </p>
    )
  return (
    <p>
      <Pill tone={isConnected ? 'warn' : 'plain'}>not signed</Pill>{' '}
      {isConnected ? (
        unsignedText(breakdown.attestation?.reason ?? undefined)
      ) : (
        <>
          A quote is signed for the wallet that creates the event.{' '}
          <button type="button" class="small plain" onClick={chooseWallet}>
            Connect a wallet
          </button>
        </>
      )}
    </p>
  )
}

/** What ranges like that of the quote paid in the past. */
const Study = ({ breakdown }: Pick<Quote, 'breakdown'>) => {
  const text = studyText(breakdown)
  return text === undefined ? null : (
    <p>
      <Pill>past</Pill> {text} {breakdown.study != null && <a href={pastPricesUrl}>About past prices</a>}
    </p>
  )
}

const Price = ({
  quote,
  read,
  chainId,
}: {
  readonly quote: Quote
  readonly read: Reading
  readonly chainId: number
}) => {
  const fees = useApi('/v1/hedge/fees', { chainId })
  const range = chartRange(read, quote.breakdown.spot)
  const notional = BigInt(read.notional ?? 0)
  return (
    <Read of={fees} lines={8}>
      {({ data }) => <Terms {...{ quote, range, notional, fees: data }} />}
    </Read>
  )
}

type TermsProps = {
  readonly quote: Quote
  readonly range: ReturnType<typeof chartRange>
  readonly notional: bigint
  readonly fees: Schemas['FeeConfig']
}

const Terms = ({ quote, range, notional, fees }: TermsProps) => {
  const cost = costOf({ premiumRate: quote.premiumRateFixed6 }, notional, fees)
  const payoff = payoffOf(range, notional, cost, fees)
  return (
    <>
      <div class="tiles">
        <Tile name="Premium" note={`${exactShare(quote.premiumRateFixed6)} of the notional`}>
          <Amount value={cost.premium} of={USD} />
        </Tile>
        <Tile name="Pays at most">
          <Amount value={payoff.most} of={USD} />
        </Tile>
        <Tile name="Rate today">
          <Rate value={range.initialRate} />
        </Tile>
        <Tile name="Break-even at">
          {payoff.breakEven === null ? 'no rate' : <Rate value={payoff.breakEven} derived />}
        </Tile>
      </div>
      <PayoffChart event={range} payoff={payoff} token={USD} rateName="today" />
    </>
  )
}

const CREATE = 'Create an event with these terms'

/** A price of the engine for a range, with every number behind it. */
export const QuotePage = () => {
  const [search, setSearch] = useSearchParams()
  const [values, setValues] = useState<Values>(() =>
    Object.fromEntries(
      quoteFields.flatMap((name) => (search.has(name) ? [[name, search.get(name)?.slice(0, 64)]] : [])),
    ),
  )
  const [expiry] = useState(() => firstExpiry(Date.now() / 1_000))
  const set = (changed: Values): void => setValues((before) => changedValues(before, changed))
  const session = useSession()
  const chainsRead = useApi('/v1/chains', {})
  const chains = chainsRead.data?.data ?? []
  const health = useApi('/v1/pricing/health', {})
  const pairs = health.data?.data.pairs ?? []
  const firstPair = pairs.find(({ stale }) => stale !== true)?.pair ?? pairs[0]?.pair
  const pair = values.underlying ?? firstPair ?? ''
  const isSpotAsked = pair !== '' && !values.strike
  const low = usePost('/v1/pricing/quote', isSpotAsked ? spotRequest(pair, expiry) : null)
  const high = usePost('/v1/pricing/quote', isSpotAsked && low.isError ? spotRequest(pair, expiry, true) : null)
  const spot = low.isError ? high : low
  const rate = spot.isPlaceholderData ? undefined : spot.data?.data.breakdown.spot
  const chain = chains.find(({ chainId }) => `${chainId}` === values.chainId) ?? chains[0]
  const full: Values = {
    ...{ notional: '10000', expiry: inputTime(expiry) },
    ...(rate !== undefined && firstRange(rate, values.strikeAbove !== 'false')),
    ...values,
    ...{ underlying: pair, chainId: `${chain?.chainId ?? ''}` },
  }
  const filled = readFields(quoteFields, full, USD.decimals, () => true)
  const read = 'read' in filled ? filled.read : null
  const creator = session.state === 'connected' ? session.account : undefined
  const signing = chain && creator && { chainId: chain.chainId, diamondAddress: chain.diamond, creator }
  const body = read && { ...rangeOf(read, USD.decimals), ...signing }
  const settled = useSettled({ body, read })
  const made = usePost('/v1/pricing/quote', settled.body)
  const isCurrent = JSON.stringify(body) === JSON.stringify(settled.body) && !made.isPlaceholderData
  const isWaiting = body !== null && made.error === null && !isCurrent
  const failed = settled.body === null ? null : made.error
  const problems = 'problems' in filled ? filled.problems : fieldProblems(failed, quoteFields)
  const isWrong = Object.values(problems).some(Boolean)
  const unread = failedOf(chainsRead, health)
  const quote = settled.body === null || made.error !== null || made.isPlaceholderData ? undefined : made.data?.data

  const settledValues = useSettled(values)
  useEffect(() => {
    const given = Object.entries(settledValues).flatMap(([name, value]) =>
      value ? [[name, value] as [string, string]] : [],
    )
    setSearch(new URLSearchParams(given), { replace: true })
  }, [settledValues])

  const choices = {
    chainId: Object.fromEntries(chains.map(({ chainId, name }) => [`${chainId}`, name])),
    underlying: Object.fromEntries(
      pairs.map((each) => [each.pair, each.stale === true ? `${each.pair} (old rates)` : each.pair]),
    ),
  }
  return (
    <>
      <h1>Quote</h1>
      <p class="lead">
        What protection against a rate is worth, by the pricing engine. The payout grows from the strike to the cap.
      </p>
      <div class="act-columns">
        <form class="card act-form" onSubmit={(submitted) => submitted.preventDefault()} aria-label="Quote">
          {unread && (
            <div class="wide">
              <Problem {...unread} />
            </div>
          )}
          {quoteFields.map((name) => (
            <FieldInput
              key={name}
              name={name}
              value={full[name] ?? fieldOf(name).initial ?? ''}
              set={(value) =>
                set({
                  [name]: value,
                  // Another pair or direction has another range.
                  ...((name === 'underlying' || name === 'strikeAbove') && { strike: undefined, payoutCap: undefined }),
                })
              }
              choices={name === 'chainId' || name === 'underlying' ? choices[name] : undefined}
              problem={problems[name]}
              required
              disabled={false}
            />
          ))}
          <p class="actions wide">
            {quote !== undefined && isCurrent && !isWrong ? (
              <Link class="button" href={createLink(full)}>
                {CREATE}
              </Link>
            ) : (
              <button type="button" disabled>
                {CREATE}
              </button>
            )}
          </p>
        </form>
        <section class="card plan" aria-label="Price" aria-busy={isWaiting}>
          <h2>The price {isWaiting && <small>updating…</small>}</h2>
          {isWrong ? (
            <Empty>Correct the marked field.</Empty>
          ) : failed !== null ? (
            <Problem error={failed} retry={() => void made.refetch()} />
          ) : quote !== undefined && settled.read !== null && chain !== undefined ? (
            <>
              <Price quote={quote} read={settled.read} chainId={chain.chainId} />
              <Study breakdown={quote.breakdown} />
              <Signature quote={quote} isConnected={creator !== undefined} />
              {cautions(quote.breakdown).map((text) => (
                <p key={text} class="caution">
                  <Pill tone="warn">data</Pill> {text}
                </p>
              ))}
            </>
          ) : spot.error !== null && pair !== '' ? (
            <Problem error={spot.error} retry={() => void spot.refetch()} />
          ) : read !== null || (unread === null && (pair === '' || spot.isFetching)) ? (
            <Loading lines={8} />
          ) : (
            <Empty>Fill in the form to get a price.</Empty>
          )}
        </section>
      </div>
      {settled.read !== null && made.error === null && !isWrong && (
        <Past terms={rangeOf(settled.read, USD.decimals)} token={USD} />
      )}
      {quote !== undefined && (
        <section class="card">
          <h2>How it is priced</h2>
          <Breakdown quote={quote} />
        </section>
      )}
    </>
  )
}
