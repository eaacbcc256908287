import type { Schemas } from 'fx-protection-client'
import { Link } from 'wouter-preact'
import { useChainName } from '../api/chains.ts'
import { useApi } from '../api/queries.ts'
import { byToken } from '../charts/by-token.ts'
import { SeriesChart } from '../charts/series-chart.tsx'
import { ActivityTable } from '../parts/activity.tsx'
import { EventsTable } from '../parts/events-table.tsx'
import { Tile } from '../parts/facts.tsx'
import { Empty, Read } from '../parts/state.tsx'
import { useTitle } from '../parts/title.ts'
import { Amount } from '../parts/values.tsx'
import { toNumber } from '../text/amount.ts'
import { chainText } from '../text/terms.ts'

type Point = Schemas['ProtocolPoint']

const lines = [
  ['Liquidity', 'liquidity'],
  ['Notional', 'exposure'],
  ['Premiums', 'premiums'],
  ['Payouts', 'payouts'],
] as const

const TokenTotals = ({ points }: { readonly points: readonly [Point, ...Point[]] }) => {
  const last = points.at(-1) ?? points[0]
  const chain = useChainName(last.chainId)
  const decimals = last.decimals ?? 0
  return (
    <section class="card">
      <h2>
        {chainText(last.symbol ?? 'Token', 12)} on {chain}
      </h2>
      <div class="tiles pairs">
        {lines.map(([name, metric]) => (
          <Tile key={name} name={name}>
            <Amount value={last[metric] ?? 0n} of={last} symbol={false} digits="short" />
          </Tile>
        ))}
      </div>
      <SeriesChart
        label={`Liquidity and notional in ${last.symbol} on ${chain} by week`}
        times={points.map(({ time }) => time)}
        lines={lines.slice(0, 2).map(([name, metric]) => ({
          name,
          values: points.map((point) => toNumber(point[metric] ?? 0n, decimals)),
        }))}
        height={180}
      />
    </section>
  )
}

/** Totals per chain and token, open events and the latest activity. */
export const HomePage = () => {
  useTitle()
  const totals = useApi(
    '/v1/series',
    { interval: 'week', metric: lines.map(([, metric]) => metric).join(',') as 'liquidity' },
    { live: true },
  )
  const events = useApi(
    '/v1/hedge/events',
    {
      ...{ state: 'open', poolOpen: 'true', capacityFrom: '1' },
      ...{ sort: 'expiry', order: 'asc', include: 'stats,utilization', limit: 8 },
    } as never,
    { live: true },
  )
  const activity = useApi('/v1/activity', { limit: 10 }, { live: true })
  return (
    <>
      <h1>Protection against exchange rates</h1>
      <p class="lead">
        An <em>event</em> pays if a currency pair is beyond its strike on a day. Liquidity providers fund it and earn
        the premiums; hedgers buy protection from its pool.
      </p>
      <Read of={totals} shape="cards">
        {({ data }) =>
          data.length === 0 ? (
            <Empty>There are no deposits yet.</Empty>
          ) : (
            <div class="cards">
              {byToken(data).map((points) => (
                <TokenTotals key={`${points[0].chainId} ${points[0].token}`} points={points} />
              ))}
            </div>
          )
        }
      </Read>
      <h2>
        Open events <Link href="/events">all events</Link>
      </h2>
      <Read of={events} lines={8} shape="rows">
        {({ data }) =>
          data.length === 0 ? (
            <Empty>No event can be bought now.</Empty>
          ) : (
            <EventsTable rows={data} label="Open events" />
          )
        }
      </Read>
      <h2>Latest activity</h2>
      <Read of={activity} lines={10} shape="rows">
        {({ data }) =>
          data.length === 0 ? (
            <Empty>Nothing has happened.</Empty>
          ) : (
            <ActivityTable rows={data} label="Latest activity" />
          )
        }
      </Read>
    </>
  )
}
