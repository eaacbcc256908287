import type { Row, Schemas } from 'fx-protection-client'
import { useState } from 'preact/hooks'
import { preparingMs, useBacktest } from '../api/backtest.ts'
import { serviceUrl } from '../base.ts'
import { yearsOf } from '../charts/years.ts'
import { YearsChart } from '../charts/years-chart.tsx'
import {
  bestYear,
  eachText,
  eventTerms,
  isPair,
  type PastTerms,
  pastText,
  percentOf,
  ratesText,
  rejectionText,
} from '../quote/past.ts'
import { ratioText } from '../text/amount.ts'
import type { Token } from '../text/money.ts'
import { chainText } from '../text/terms.ts'
import { dayOf, durationText } from '../text/time.ts'
import { Facts, Tile } from './facts.tsx'
import { Empty, Loading, Problem } from './state.tsx'

/** The page of the documentation on past prices. */
export const pastPricesUrl = `${serviceUrl}/v1/docs/pricing#past-prices`

type Backtest = Schemas['Backtest']

const Figures = ({ past, token }: { readonly past: Backtest; readonly token: Token }) => {
  const { ratio, paidShare, modelProbability, refused } = past.summary
  const [year, note] = bestYear(past)
  return (
    <>
      <p class="summary">
        <strong>{pastText(past, token)}</strong>
      </p>
      <p class="muted">
        {eachText(past, token)} <a href={pastPricesUrl}>About past prices</a>
      </p>
      {ratio !== null && (
        <>
          <div class="tiles">
            <Tile name="Paid for each 1 of premium" note="1 is fair; payouts discounted to the purchase">
              {ratioText(ratio)}
            </Tile>
            {paidShare !== null && modelProbability !== null && (
              <Tile name="Months that paid" note={`the model expected ${percentOf(modelProbability)}`}>
                {percentOf(paidShare)}
              </Tile>
            )}
            <Tile name="Year that paid most" note={note}>
              {year}
            </Tile>
          </div>
          <YearsChart years={yearsOf(past.series)} token={token} />
        </>
      )}
      <Facts
        facts={[
          [
            'Refused months',
            refused === 0
              ? 'none'
              : `${refused}: mostly because the payout is more than 100 times the premium, or less than it`,
          ],
          ['Closes', `${chainText(past.source)}, until ${dayOf(past.closesEnd)}`],
          ['Interest rates', ratesText(past.rates)],
        ]}
      />
    </>
  )
}

/** The state of a backtest that was asked for. */
const Answer = ({ terms, token }: { readonly terms: PastTerms; readonly token: Token }) => {
  const { data, error, failureReason, refetch } = useBacktest(terms)
  if (data !== undefined) return <Figures past={data.data} token={token} />
  const rejection = rejectionText(error)
  if (rejection !== undefined) return <Empty>{rejection}</Empty>
  const waitMs = preparingMs(error ?? failureReason)
  if (error !== null && waitMs === undefined) return <Problem error={error} retry={() => void refetch()} />
  if (waitMs === undefined) return <Loading shape="small-chart" />
  return (
    <div role="status" class="empty">
      <p>
        The history of {chainText(terms.pair, 16)} is {error !== null && 'still '}being prepared
        {error === null && `, which takes some seconds. It is asked for again every ${durationText(waitMs / 1_000)}`}.
      </p>
      {error !== null && (
        <button type="button" class="small" onClick={() => void refetch()}>
          Ask again
        </button>
      )}
    </div>
  )
}

/** What a range would have cost and paid in the past. It is asked for by a button: the first time takes seconds. */
export const Past = ({ terms, token }: { readonly terms: PastTerms; readonly token: Token }) => {
  const [asked, setAsked] = useState('')
  const key = JSON.stringify(terms)
  return (
    <section class="card past">
      <h2>What it would have paid</h2>
      {asked === key ? (
        <Answer key={key} terms={terms} token={token} />
      ) : (
        <>
          <p>
            What the same range would have cost and paid if it had been bought at the end of every month of the past, at
            the engine's price of that day.
          </p>
          <button type="button" class="plain" onClick={() => setAsked(key)}>
            Look at the past
          </button>
        </>
      )}
    </section>
  )
}

/** The same for an open event, at its range and the days that are left; nothing for a pair that no engine has. */
export const EventPast = ({ event }: { readonly event: Row<'/v1/hedge/events'> }) => {
  if (!isPair(event.underlying)) return null
  const terms = eventTerms(event)
  if (terms !== null) return <Past terms={terms} token={{ symbol: event.symbol, decimals: 6 }} />
  return (
    <section class="card past">
      <h2>What it would have paid</h2>
      <Empty>There are past prices of ranges with a cap only. This event pays all or nothing.</Empty>
    </section>
  )
}
