import type { Row, Schemas } from 'fx-protection-client'
import { useApi } from '../api/queries.ts'
import { Gauge } from '../charts/gauge.tsx'
import { SeriesChart } from '../charts/series-chart.tsx'
import { percentText, toNumber } from '../text/amount.ts'
import { stillToClaim } from '../text/life.ts'
import { unitOf } from '../text/money.ts'
import { shareOf } from './events-table.tsx'
import { Tile } from './facts.tsx'
import { Read } from './state.tsx'
import { Amount } from './values.tsx'

type Of = { readonly event: Row<'/v1/hedge/events'> }
type OfStats = Of & { readonly stats: Schemas['EventStats'] }

/** How much of a pool is taken, and how much can still be bought. */
const PoolNow = ({ event, stats }: OfStats) =>
  event.utilization === undefined ? null : (
    <>
      <Gauge share={shareOf(event.utilization.utilizationRate)} label="Utilization of the pool" />
      <p class="muted">
        Utilization {percentText(event.utilization.utilizationRate)}: that part of the liquidity is reserved for the
        worst-case payout.
      </p>
      <div class="tiles pairs">
        <Tile name="Liquidity">
          <Amount value={stats.totalLiquidity} of={event} symbol={false} />
        </Tile>
        <Tile name="Notional" note="bought so far">
          <Amount value={stats.totalExposure} of={event} symbol={false} />
        </Tile>
        <Tile name="Capacity" note="can still be bought">
          <Amount value={event.utilization.availableCapacity} of={event} symbol={false} />
        </Tile>
        <Tile name="Premiums">
          <Amount value={stats.totalPremiums} of={event} symbol={false} />
        </Tile>
      </div>
    </>
  )

/** What became of the pool of a settled event. */
const PoolAfter = ({ event, stats }: OfStats) => {
  const { chainId, id } = event
  const payouts = useApi('/v1/hedge/events/{chainId}/{id}/series', {
    ...{ chainId, id, from: `${stats.settledAt}`, interval: 'week' },
    metric: 'payouts',
  })
  const recoveries = useApi('/v1/activity', { chainId, eventId: id, type: 'payouts.recovered', limit: 1 } as never)
  const withdrawals = useApi('/v1/hedge/deposits', {
    ...{ chainId, eventId: id, withdrawn: 'true', count: 'true', limit: 1 },
  } as never)
  const paid = payouts.data?.data.at(-1)?.payouts ?? null
  const recovered = recoveries.data?.data
  const withdrawn = withdrawals.data?.meta.total
  return (
    <div class="tiles pairs">
      <Tile name="Liquidity" note="at the settlement">
        <Amount value={stats.totalLiquidity} of={event} symbol={false} />
      </Tile>
      <Tile name="Notional" note="at the settlement">
        <Amount value={stats.totalExposure} of={event} symbol={false} />
      </Tile>
      <Tile name="Paid out">{paid === null ? '–' : <Amount value={paid} of={event} symbol={false} />}</Tile>
      <Tile name="Still to be claimed">
        {paid === null || recovered === undefined ? (
          '–'
        ) : (
          <Amount value={stillToClaim(stats, paid, recovered.length > 0)} of={event} symbol={false} />
        )}
      </Tile>
      <Tile name="Premiums">
        <Amount value={stats.totalPremiums} of={event} symbol={false} />
      </Tile>
      <Tile name="Deposits withdrawn">{withdrawn === undefined ? '–' : `${withdrawn} of ${stats.lpCount}`}</Tile>
    </div>
  )
}

/** The pool of an event: how full it is, or what became of it, and its past until the settlement. */
export const Pool = ({ event }: Of) => {
  const { stats } = event
  const isSettled = event.status !== 0
  const series = useApi('/v1/hedge/events/{chainId}/{id}/series', {
    ...{ chainId: event.chainId, id: event.id, interval: 'day' },
    ...(isSettled && stats && { to: `${stats.settledAt}` }),
    metric: 'liquidity,exposure,maxPayout,premiums' as 'liquidity',
  })
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
      <h2>The pool, in {unitOf(event)}</h2>
      {stats && (isSettled ? <PoolAfter event={event} stats={stats} /> : <PoolNow event={event} stats={stats} />)}
      <Read of={series} shape="chart">
        {({ data }) => (
          <SeriesChart
            label={`Liquidity, worst-case payout and premiums of the pool by day${isSettled ? ' until the settlement' : ''}`}
            times={data.map(({ time }) => time)}
            lines={[
              { name: 'Liquidity', values: amounts(({ liquidity }) => liquidity, data) },
              { name: 'Worst-case payout', values: amounts(({ maxPayout }) => maxPayout, data) },
              { name: 'Premiums', values: amounts(({ premiums }) => premiums, data) },
            ]}
          />
        )}
      </Read>
    </section>
  )
}
