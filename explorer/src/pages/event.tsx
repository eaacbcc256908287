import type { Row } from 'fx-protection-client'
import { Link } from 'wouter-preact'
import { useChainName } from '../api/chains.ts'
import { useApi } from '../api/queries.ts'
import { ActivityTable } from '../parts/activity.tsx'
import { ChainName } from '../parts/chain.tsx'
import { Calculator, Result } from '../parts/event-payoff.tsx'
import { Pool } from '../parts/event-pool.tsx'
import { EventRows } from '../parts/event-rows.tsx'
import { stateOf } from '../parts/events-table.tsx'
import { type Fact, Facts, Pill } from '../parts/facts.tsx'
import { DepositsTable, PositionsTable } from '../parts/holdings.tsx'
import { EventPast } from '../parts/past.tsx'
import { Empty, Read } from '../parts/state.tsx'
import { useTitle } from '../parts/title.ts'
import { Account, Rate, Time, Transaction } from '../parts/values.tsx'
import { exactShare } from '../text/amount.ts'
import { eventOutcome } from '../text/life.ts'
import { chainText, conditionText, termsText } from '../text/terms.ts'
import { timeText } from '../text/time.ts'

type EventRow = Row<'/v1/hedge/events'>
type Of = { readonly event: EventRow }

/** The rates that oracles submitted. */
const Oracles = ({ event: { chainId, id, status } }: Of) => {
  const submissions = useApi('/v1/oracle/submissions/{chainId}/{eventId}', { chainId, eventId: id }, { live: true })
  return (
    <section class="card">
      <h2>Oracles</h2>
      <Read of={submissions}>
        {({ data }) =>
          data.count === 0 ? (
            <Empty>No oracle has submitted a rate.{status === 0 && ' That is possible after the expiry.'}</Empty>
          ) : (
            <ul class="plain">
              {data.submissions.map(({ oracle, price, timestamp, isStale }) => (
                <li key={oracle}>
                  <Account address={oracle} /> <Rate value={price} /> <Time at={timestamp} />{' '}
                  {isStale && status === 0 && <Pill>too old to count</Pill>}
                </li>
              ))}
            </ul>
          )
        }
      </Read>
    </section>
  )
}

const settlementFacts = ({ chainId, status, stats, settledTx }: EventRow): readonly Fact[] =>
  status === 0 || stats === undefined
    ? []
    : [
        ['Settled at', <Rate key="settled" value={stats.settlementPrice} />],
        ['Settled', <Time key="time" at={stats.settledAt} />],
        ['Settled in', <Transaction key="settledTx" chainId={chainId} hash={settledTx} />],
      ]

const Terms = ({ event }: Of) => (
  <Facts
    facts={[
      ['Strike', <Rate key="strike" value={event.strike} />],
      ['Cap', event.payoutCap === 0n ? 'none: all or nothing' : <Rate key="cap" value={event.payoutCap} />],
      ['Rate at creation', <Rate key="rate" value={event.initialRate} />],
      ['Expiry', timeText(event.expiryDate)],
      ['Premium rate', exactShare(event.premiumRate)],
      ['Deposits', event.allowExternalLp ? 'open to everyone' : 'of the creator only'],
      ['Creator', <Account key="creator" address={event.creator} />],
      ['Created in', <Transaction key="tx" chainId={event.chainId} hash={event.createdTx} />],
      ...settlementFacts(event),
    ]}
  />
)

const Page = ({ event }: Of) => {
  const { chainId, id } = event
  const chain = useChainName(chainId)
  useTitle(`Event ${id} on ${chain}: ${conditionText(event)}`)
  const [word, tone] = stateOf(event, event.stats?.triggered)
  const outcome = eventOutcome(event)
  return (
    <>
      <p class="crumbs">
        <Link href="/events">Events</Link> / {chain} / {id}
      </p>
      <h1>
        {chainText(event.name)} <Pill tone={tone}>{word}</Pill>
      </h1>
      <p class="lead">
        {termsText(event)} <strong>{outcome}</strong>
      </p>
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
      <div class="columns">
        {outcome === '' ? <Calculator event={event} /> : <Result event={event} />}
        <Pool event={event} />
      </div>
      {outcome === '' && <EventPast event={event} />}
      <div class="columns">
        <section class="card">
          <h2>Terms</h2>
          <Terms event={event} />
        </section>
        <Oracles event={event} />
      </div>
      <EventRows
        {...{ event, path: '/v1/hedge/positions', title: 'Positions', count: event.stats?.hedgerCount }}
        empty="No protection has been bought yet."
        table={(rows) => <PositionsTable rows={rows} />}
      />
      <EventRows
        {...{ event, path: '/v1/hedge/deposits', title: 'Deposits', count: event.stats?.lpCount }}
        empty="There are no deposits."
        table={(rows) => <DepositsTable rows={rows} state={event.status === 0 ? 'open' : 'settled'} />}
      />
      <EventRows
        {...{ event, path: '/v1/activity', title: 'Activity', count: undefined }}
        empty="No activity."
        table={(rows) => <ActivityTable rows={rows} label="Activity of the event" oneEvent />}
      />
    </>
  )
}

/** An event: its terms in words, what it pays, its pool, and what happened. */
export const EventPage = ({ chainId, id }: { readonly chainId: string; readonly id: string }) => {
  const events = useApi('/v1/hedge/events', { chainId, ids: id, include: 'stats,utilization' } as never, { live: true })
  return (
    <Read of={events} shape="page">
      {({ data: [event] }) =>
        event === undefined ? (
          <>
            <h1>No such event</h1>
            <Empty>
              There is no event {id} on <ChainName id={Number(chainId)} />. <Link href="/events">All events</Link>
            </Empty>
          </>
        ) : (
          <Page event={event} />
        )
      }
    </Read>
  )
}
