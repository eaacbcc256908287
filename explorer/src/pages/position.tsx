import { greatestPayout, type Row, type Schemas } from 'fx-protection-client'
import { Link } from 'wouter-preact'
import { useChainName } from '../api/chains.ts'
import { useApi } from '../api/queries.ts'
import { payoffOf } from '../charts/payoff.ts'
import { PayoffChart } from '../charts/payoff-chart.tsx'
import { ChainName } from '../parts/chain.tsx'
import { Facts, Pill, Tile } from '../parts/facts.tsx'
import { positionStates } from '../parts/holdings.tsx'
import { Empty, Read } from '../parts/state.tsx'
import { Timeline } from '../parts/timeline.tsx'
import { useTitle } from '../parts/title.ts'
import { Account, Amount, Rate, Transaction } from '../parts/values.tsx'
import { claimPath } from '../text/claims.ts'
import { canClaim, outcomeText, paidFor, positionLife, positionText } from '../text/life.ts'
import { chainText, conditionText } from '../text/terms.ts'
import { timeText } from '../text/time.ts'

type Position = Row<'/v1/hedge/positions'>
type Event = Schemas['EventSummary']
type Of = { readonly position: Position; readonly event: Event }

const Payoff = ({ position, event }: Of) => {
  const fees = useApi('/v1/hedge/fees', { chainId: position.chainId })
  const cost = { premium: position.premiumPaid, platformFee: position.platformFeePaid, total: paidFor(position) }
  return (
    <section class="card">
      <h2>What it pays</h2>
      <Read of={fees} shape="chart">
        {({ data }) => {
          const payoff = payoffOf(event, position.notional, cost, data)
          const settledAt = event.settledAt === 0 ? null : event.settlementPrice
          return (
            <>
              <PayoffChart event={event} payoff={payoff} token={position} settledAt={settledAt} />
              <div class="tiles">
                <Tile name="Pays at most">
                  <Amount value={greatestPayout(event, position.notional)} of={position} />
                </Tile>
                <Tile name="Break-even at">
                  {payoff.breakEven === null ? 'no rate' : <Rate value={payoff.breakEven} derived />}
                </Tile>
              </div>
            </>
          )
        }}
      </Read>
    </section>
  )
}

/** Why the engine gives no value, in words. */
const noValue: Readonly<Record<NonNullable<NonNullable<Position['valueReason']>>, string>> = {
  expired: 'The event has expired.',
  settled: 'The event is settled.',
  stale_rates: 'The rates of the pricing engine are too old.',
  unsupported_pair: 'The pricing engine has no rates of this pair.',
  unsupported_terms: 'The model of the pricing engine does not cover these terms.',
  engine_unavailable: 'The pricing engine does not answer.',
  too_many_events: 'Too many events were asked for.',
}

/** What the position is worth while its event is open. */
const Value = ({ position: { chainId, id } }: Of) => {
  const valued = useApi('/v1/hedge/positions', { chainId, ids: `${id}`, include: 'value' })
  const row = valued.data?.data[0]
  if (row?.value == null) {
    const reason = row?.valueReason
    return <Tile name="Worth now">{reason == null ? '…' : <small>{noValue[reason] ?? 'Not known.'}</small>}</Tile>
  }
  const { amount, spot, spotDate, synthetic } = row.value
  return (
    <Tile
      name="Worth now"
      note={
        <>
          by the pricing engine, at <Rate value={spot} derived /> on {spotDate}
          {synthetic && ', an invented rate'}
        </>
      }
    >
      <Amount value={amount} of={row} />
    </Tile>
  )
}

const Page = ({ position, event }: Of) => {
  const { chainId, id, eventId, statusText } = position
  const chain = useChainName(chainId)
  useTitle(`Position ${id} on ${chain}: ${conditionText(event)}`)
  const settlement = useApi('/v1/activity', {
    ...{ chainId, eventId, limit: 10 },
    type: 'event.settled,payouts.recovered',
  })
  const activity = settlement.data?.data ?? []
  const [word, tone] = positionStates[statusText] ?? positionStates.unknown
  const isClaimable = canClaim(position, activity)
  const net = position.payout?.net ?? null
  const received = position.claimed ? net : 0n
  return (
    <>
      <p class="crumbs">
        <Link href={`/event/${chainId}/${eventId}`}>
          {chain} / event {eventId}
        </Link>{' '}
        / position {id}
      </p>
      <h1>
        Position {id} <Pill tone={tone}>{word}</Pill>
      </h1>
      <p class="lead">
        {positionText(position, event)} {outcomeText(position, event, activity)}
      </p>
      {isClaimable && (
        <p class="actions">
          <Link class="button" href={claimPath({ kind: 'payout', chainId, id }, position.hedger)}>
            Claim
          </Link>
        </p>
      )}
      <div class="tiles">
        <Tile name="Paid" note="premium and fee">
          <Amount value={paidFor(position)} of={position} />
        </Tile>
        <Tile name="Received">{received === null ? 'not known' : <Amount value={received} of={position} />}</Tile>
        <Tile name="Can be claimed" note={isClaimable && net !== null ? 'after the fee' : undefined}>
          <Amount value={isClaimable ? (net ?? position.payoutAmount) : 0n} of={position} />
        </Tile>
        {event.state === 'open' && <Value position={position} event={event} />}
        {position.claimed && received !== null && (
          <Tile name="Result" note="received less paid">
            <Amount value={received - paidFor(position)} of={position} />
          </Tile>
        )}
      </div>
      <div class="columns">
        <Payoff position={position} event={event} />
        <section class="card">
          <h2>Its life</h2>
          <Timeline label="Life of the position" chainId={chainId} steps={positionLife(position, event, activity)} />
        </section>
      </div>
      <section class="card">
        <h2>Terms</h2>
        <Facts
          facts={[
            [
              'Event',
              <Link key="event" href={`/event/${chainId}/${eventId}`}>
                {chainText(event.name)}
              </Link>,
            ],
            ['Hedger', <Account key="hedger" address={position.hedger} />],
            ['Notional', <Amount key="notional" value={position.notional} of={position} />],
            ['Premium', <Amount key="premium" value={position.premiumPaid} of={position} />],
            ['Fee on the premium', <Amount key="fee" value={position.platformFeePaid} of={position} />],
            ['Strike', <Rate key="strike" value={event.strike} />],
            ['Cap', event.payoutCap === 0n ? 'none: all or nothing' : <Rate key="cap" value={event.payoutCap} />],
            ['Expiry', timeText(event.expiryDate)],
            ['Bought in', <Transaction key="tx" chainId={chainId} hash={position.createdTx} />],
          ]}
        />
      </section>
    </>
  )
}

/** A position: what it is, what it pays, and its life. */
export const PositionPage = ({ chainId, id }: { readonly chainId: string; readonly id: string }) => {
  useTitle(`Position ${id.slice(0, 20)}`)
  const positions = useApi('/v1/hedge/positions', { chainId, ids: id, include: 'event,payout' }, { live: true })
  return (
    <Read of={positions} shape="page">
      {({ data: [position] }) =>
        position?.event === undefined ? (
          <>
            <h1>No such position</h1>
            <Empty>
              There is no position {id.slice(0, 20)} on <ChainName id={Number(chainId)} />.{' '}
              <Link href="/events">Events</Link>
            </Empty>
          </>
        ) : (
          <Page position={position} event={position.event} />
        )
      }
    </Read>
  )
}
