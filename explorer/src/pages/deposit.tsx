import type { Row, Schemas } from 'fx-protection-client'
import { Link } from 'wouter-preact'
import { useChainName } from '../api/chains.ts'
import { useApi } from '../api/queries.ts'
import { SeriesChart } from '../charts/series-chart.tsx'
import { ChainName } from '../parts/chain.tsx'
import { Facts, Pill, Tile } from '../parts/facts.tsx'
import { depositState } from '../parts/holdings.tsx'
import { Empty, Read } from '../parts/state.tsx'
import { Timeline } from '../parts/timeline.tsx'
import { useTitle } from '../parts/title.ts'
import { Account, Amount, Share, Transaction } from '../parts/values.tsx'
import { shareText, toNumber } from '../text/amount.ts'
import { claimPath } from '../text/claims.ts'
import { depositLife, depositText, intervalOf, resultOf } from '../text/life.ts'
import { chainText, conditionText } from '../text/terms.ts'
import { timeText } from '../text/time.ts'

type Deposit = Row<'/v1/hedge/deposits'>
type Of = { readonly deposit: Deposit; readonly event: Schemas['EventSummary'] }

const lines = [
  ['Worth at least', 'value'],
  ['Capital that is left', 'capital'],
  ['Premiums earned', 'premiumsEarned'],
] as const

const Series = ({ deposit: { chainId, id, decimals, createdAt } }: Of) => {
  const age = createdAt === null ? Number.POSITIVE_INFINITY : Date.now() / 1_000 - createdAt
  const series = useApi('/v1/hedge/deposits/{chainId}/{id}/series', {
    ...{ chainId, id, interval: intervalOf(age) },
    metric: 'value,capital,premiumsEarned',
  })
  return (
    <section class="card">
      <h2>Over time</h2>
      <Read of={series} shape="chart">
        {({ data, meta }) => (
          <SeriesChart
            label={`Value, capital and premiums of the deposit by ${meta.interval}`}
            times={data.map(({ time }) => time)}
            lines={lines.map(([name, metric]) => ({
              name,
              values: data.map((point) => toNumber(point[metric] ?? 0n, decimals ?? 0)),
            }))}
          />
        )}
      </Read>
    </section>
  )
}

const Actions = ({ deposit: { chainId, id, lp, premiumsEarned, premiumsClaimed, withdrawn }, event }: Of) => {
  const hasPremiums = premiumsEarned > premiumsClaimed
  const hasCapital = !withdrawn && event.settledAt !== 0
  if (!hasPremiums && !hasCapital) return null
  return (
    <p class="actions">
      {hasPremiums && (
        <Link class="button" href={claimPath({ kind: 'premiums', chainId, id }, lp)}>
          Claim premiums
        </Link>
      )}
      {hasCapital && (
        <Link class="button" href={claimPath({ kind: 'capital', chainId, id }, lp)}>
          Withdraw capital
        </Link>
      )}
    </p>
  )
}

const Page = ({ deposit, event }: Of) => {
  const { chainId, id, eventId, valuation } = deposit
  const chain = useChainName(chainId)
  useTitle(`Deposit ${id} on ${chain}: ${conditionText(event)}`)
  const own = useApi('/v1/activity', {
    ...{ chainId, depositId: id, limit: 100 },
    type: 'premiums.claimed,capital.withdrawn',
  })
  const settlement = useApi('/v1/activity', { chainId, eventId, limit: 10, type: 'event.settled' })
  const activity = [...(own.data?.data ?? []), ...(settlement.data?.data ?? [])]
  const [word, tone] = depositState(deposit.withdrawn, event.state)
  const withdrawn = activity.find(({ type }) => type === 'capital.withdrawn')?.netAmount ?? null
  const result = resultOf(deposit, deposit.withdrawn ? withdrawn : valuation?.capital)
  return (
    <>
      <p class="crumbs">
        <Link href={`/event/${chainId}/${eventId}`}>
          {chain} / event {eventId}
        </Link>{' '}
        / deposit {id}
      </p>
      <h1>
        Deposit {id} <Pill tone={tone}>{word}</Pill>
      </h1>
      <p class="lead">{depositText(deposit, event)}</p>
      <Actions deposit={deposit} event={event} />
      <div class="tiles">
        <Tile name="Deposited">
          <Amount value={deposit.amount} of={deposit} />
        </Tile>
        {deposit.withdrawn && (
          <Tile name="Capital withdrawn">
            {withdrawn !== null ? <Amount value={withdrawn} of={deposit} /> : own.isPending ? '…' : 'not known'}
          </Tile>
        )}
        {valuation && !deposit.withdrawn && (
          <>
            <Tile name={event.settledAt === 0 ? 'Capital, at least' : 'Capital'}>
              <Amount value={valuation.capital} of={deposit} />
            </Tile>
            <Tile name={event.settledAt === 0 ? 'Payouts may take' : 'Payouts took'}>
              <Amount value={valuation.atRisk} of={deposit} />
            </Tile>
          </>
        )}
        <Tile name="Premiums earned">
          <Amount value={deposit.premiumsEarned} of={deposit} />
        </Tile>
        <Tile name="Premiums claimed">
          <Amount value={deposit.premiumsClaimed} of={deposit} />
        </Tile>
        {event.settledAt === 0
          ? valuation && (
              <Tile
                name="Yield so far"
                note={valuation.yieldPerYear !== null && `${shareText(valuation.yieldPerYear)} if repeated all year`}
              >
                <Share value={valuation.yield} />
              </Tile>
            )
          : result !== undefined && (
              <Tile name="Result" note={`${shareText(result.share)} of the deposit, before fees`}>
                <Amount value={result.amount} of={deposit} />
              </Tile>
            )}
      </div>
      <div class="columns">
        <Series deposit={deposit} event={event} />
        <section class="card">
          <h2>Its life</h2>
          <Timeline label="Life of the deposit" chainId={chainId} steps={depositLife(deposit, event, activity)} />
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
            ['Provider', <Account key="lp" address={deposit.lp} />],
            ['Expiry', timeText(event.expiryDate)],
            ['Deposited in', <Transaction key="tx" chainId={chainId} hash={deposit.createdTx} />],
          ]}
        />
      </section>
    </>
  )
}

/** A deposit: what it is, what it is worth, and its life. */
export const DepositPage = ({ chainId, id }: { readonly chainId: string; readonly id: string }) => {
  useTitle(`Deposit ${id.slice(0, 20)}`)
  const deposits = useApi('/v1/hedge/deposits', { chainId, ids: id, include: 'event,valuation' }, { live: true })
  return (
    <Read of={deposits} shape="page">
      {({ data: [deposit] }) =>
        deposit?.event === undefined ? (
          <>
            <h1>No such deposit</h1>
            <Empty>
              There is no deposit {id.slice(0, 20)} on <ChainName id={Number(chainId)} />.{' '}
              <Link href="/events">Events</Link>
            </Empty>
          </>
        ) : (
          <Page deposit={deposit} event={deposit.event} />
        )
      }
    </Read>
  )
}
