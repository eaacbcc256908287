import { costOf, greatestPayout, type Row, type Schemas } from 'fx-protection-client'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { useChainName } from '../api/chains.ts'
import { useApi } from '../api/queries.ts'
import { Gauge } from '../charts/gauge.tsx'
import { payoffOf } from '../charts/payoff.ts'
import { PayoffChart } from '../charts/payoff-chart.tsx'
import { SeriesChart } from '../charts/series-chart.tsx'
import { ActivityTable } from '../parts/activity.tsx'
import { shareOf, stateOf } from '../parts/events-table.tsx'
import { Facts, Pill, Tile } from '../parts/facts.tsx'
import { DepositsTable, PositionsTable } from '../parts/holdings.tsx'
import { Empty, Read } from '../parts/state.tsx'
import { useTitle } from '../parts/title.ts'
import { Account, Amount, Rate, Time, Transaction } from '../parts/values.tsx'
import { percentText, shareText, toNumber } from '../text/amount.ts'
import { parseDecimal } from '../text/input.ts'
import { chainText, conditionText, termsText } from '../text/terms.ts'
import { timeText } from '../text/time.ts'

type EventRow = Row<'/v1/hedge/events'>
type Of = { readonly event: EventRow }

const ONE_THOUSAND = 1_000n

/** The payoff of a notional that the reader chooses. */
const Payoff = ({ event }: Of) => {
  const [text, setText] = useState('10000')
  const fees = useApi('/v1/hedge/fees', { chainId: event.chainId })
  const decimals = event.decimals ?? 0
  const notional = parseDecimal(text, decimals) ?? ONE_THOUSAND * 10n ** BigInt(decimals)
  return (
    <section class="card">
      <h2>What it pays</h2>
      <label class="inline">
        Notional in {chainText(event.symbol ?? 'tokens', 12)}
        <input
          inputMode="decimal"
          value={text}
          maxLength={24}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <Read of={fees} lines={6}>
        {({ data }) => {
          const cost = costOf(event, notional, data)
          const payoff = payoffOf(event, notional, cost, data)
          const settledAt = event.stats?.settledAt ? event.stats.settlementPrice : null
          return (
            <>
              <PayoffChart event={event} payoff={payoff} token={event} settledAt={settledAt} />
              <div class="tiles">
                <Tile name="Costs">
                  <Amount value={cost.total} of={event} />
                </Tile>
                <Tile name="Pays at most">
                  <Amount value={greatestPayout(event, notional)} of={event} />
                </Tile>
                <Tile name="Break-even at">
                  {payoff.breakEven === null ? 'no rate' : <Rate value={payoff.breakEven} />}
                </Tile>
              </div>
            </>
          )
        }}
      </Read>
    </section>
  )
}

/** The pool of an event, now and in the past. */
const Pool = ({ event }: Of) => {
  const series = useApi('/v1/hedge/events/{chainId}/{id}/series', {
    ...{ chainId: event.chainId, id: event.id, interval: 'day' },
    metric: 'liquidity,exposure,maxPayout,premiums' as 'liquidity',
  })
  const { stats, utilization } = event
  const decimals = event.decimals ?? 0
  const amounts = (
    pick: (point: Schemas['EventPoint']) => bigint | null | undefined,
    points: Schemas['EventPoint'][],
  ) =>
    points.map((point) => {
      const value = pick(point)
      return value == null ? null : toNumber(value, decimals)
    })
  return (
    <section class="card">
      <h2>The pool, in {chainText(event.symbol ?? 'tokens', 12)}</h2>
      {stats && utilization && (
        <>
          <Gauge share={shareOf(utilization.utilizationRate)} label="Share of the pool in use" />
          <p class="muted">{percentText(utilization.utilizationRate)} of the liquidity is reserved for payouts</p>
          <div class="tiles">
            <Tile name="Liquidity">
              <Amount value={stats.totalLiquidity} of={event} symbol={false} />
            </Tile>
            <Tile name="Cover sold">
              <Amount value={stats.totalExposure} of={event} symbol={false} />
            </Tile>
            <Tile name="Can still be bought">
              <Amount value={utilization.availableCapacity} of={event} symbol={false} />
            </Tile>
            <Tile name="Premiums">
              <Amount value={stats.totalPremiums} of={event} symbol={false} />
            </Tile>
          </div>
        </>
      )}
      <Read of={series} lines={6}>
        {({ data }) => (
          <SeriesChart
            label="Liquidity, reserved payouts and premiums of the pool by day"
            times={data.map(({ time }) => time)}
            lines={[
              { name: 'Liquidity', values: amounts(({ liquidity }) => liquidity, data) },
              { name: 'Reserved', values: amounts(({ maxPayout }) => maxPayout, data) },
              { name: 'Premiums', values: amounts(({ premiums }) => premiums, data) },
            ]}
          />
        )}
      </Read>
    </section>
  )
}

/** The rates that oracles submitted. */
const Oracles = ({ event: { chainId, id } }: Of) => {
  const submissions = useApi('/v1/oracle/submissions/{chainId}/{eventId}', { chainId, eventId: id }, { live: true })
  return (
    <section class="card">
      <h2>Oracles</h2>
      <Read of={submissions}>
        {({ data }) =>
          data.count === 0 ? (
            <Empty>No oracle has submitted a rate. That is possible after the expiry.</Empty>
          ) : (
            <ul class="plain">
              {data.submissions.map(({ oracle, price, timestamp, isStale }) => (
                <li key={oracle}>
                  <Account address={oracle} /> <Rate value={price} /> <Time at={timestamp} />{' '}
                  {isStale && <Pill>too old to count</Pill>}
                </li>
              ))}
            </ul>
          )
        }
      </Read>
    </section>
  )
}

const Settlement = ({ event }: Of) => {
  const { stats } = event
  if (stats === undefined || stats.settledAt === 0) return null
  return (
    <section class="card">
      <h2>Settlement</h2>
      <p>
        Settled at <Rate value={stats.settlementPrice} /> <Time at={stats.settledAt} />:{' '}
        <strong>{stats.triggered ? 'it pays out' : 'it does not pay'}</strong>. Transaction{' '}
        <Transaction chainId={event.chainId} hash={event.settledTx} />
      </p>
    </section>
  )
}

const Terms = ({ event }: Of) => (
  <Facts
    facts={[
      ['Strike', <Rate key="strike" value={event.strike} />],
      ['Cap', event.payoutCap === 0n ? 'none: all or nothing' : <Rate key="cap" value={event.payoutCap} />],
      ['Rate at creation', <Rate key="rate" value={event.initialRate} />],
      ['Expiry', timeText(event.expiryDate)],
      ['Premium', shareText(event.premiumRate)],
      ['Deposits', event.allowExternalLp ? 'open to everyone' : 'of the creator only'],
      ['Creator', <Account key="creator" address={event.creator} />],
      ['Created in', <Transaction key="tx" chainId={event.chainId} hash={event.createdTx} />],
    ]}
  />
)

const Page = ({ event }: Of) => {
  const { chainId, id } = event
  const chain = useChainName(chainId)
  useTitle(`Event ${id} on ${chain}: ${conditionText(event)}`)
  const [word, tone] = stateOf(event, event.stats?.triggered)
  const positions = useApi('/v1/hedge/positions', { chainId: `${chainId}`, eventId: `${id}`, limit: 10 } as never, {
    live: true,
  })
  const deposits = useApi('/v1/hedge/deposits', { chainId: `${chainId}`, eventId: `${id}`, limit: 10 } as never, {
    live: true,
  })
  const activity = useApi('/v1/activity', { chainId: `${chainId}`, eventId: `${id}`, limit: 10 } as never, {
    live: true,
  })
  return (
    <>
      <p class="crumbs">
        <Link href="/events">Events</Link> / {chain} / {id}
      </p>
      <h1>
        {chainText(event.name)} <Pill tone={tone}>{word}</Pill>
      </h1>
      <p class="lead">{termsText(event)}</p>
      {word === 'open' && (
        <p class="actions">
          <Link class="button" href={`/act/buy-protection?chainId=${chainId}&eventId=${id}`}>
            Buy protection
          </Link>
          <Link class="button plain" href={`/act/deposit?chainId=${chainId}&eventId=${id}`}>
            Provide liquidity
          </Link>
        </p>
      )}
      <Settlement event={event} />
      <div class="columns">
        <Payoff event={event} />
        <Pool event={event} />
      </div>
      <div class="columns">
        <section class="card">
          <h2>Terms</h2>
          <Terms event={event} />
        </section>
        <Oracles event={event} />
      </div>
      <h2>Positions</h2>
      <Read of={positions}>
        {({ data }) =>
          data.length === 0 ? <Empty>No protection has been bought yet.</Empty> : <PositionsTable rows={data} />
        }
      </Read>
      <h2>Deposits</h2>
      <Read of={deposits}>
        {({ data }) => (data.length === 0 ? <Empty>There are no deposits.</Empty> : <DepositsTable rows={data} />)}
      </Read>
      <h2>Activity</h2>
      <Read of={activity}>
        {({ data }) =>
          data.length === 0 ? <Empty>No activity.</Empty> : <ActivityTable rows={data} label="Activity of the event" />
        }
      </Read>
    </>
  )
}

/** An event: its terms in words, what it pays, its pool, and what happened. */
export const EventPage = ({ chainId, id }: { readonly chainId: string; readonly id: string }) => {
  const events = useApi('/v1/hedge/events', { chainId, ids: id, include: 'stats,utilization' } as never, { live: true })
  return (
    <Read of={events} lines={14}>
      {({ data: [event] }) =>
        event === undefined ? (
          <Empty>
            There is no event {id.slice(0, 20)} on chain {chainId.slice(0, 20)}. <Link href="/events">All events</Link>
          </Empty>
        ) : (
          <Page event={event} />
        )
      }
    </Read>
  )
}
