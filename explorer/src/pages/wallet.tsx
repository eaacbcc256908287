import type { Schemas } from 'fx-protection-client'
import type { ComponentChildren } from 'preact'
import { Link, useSearchParams } from 'wouter-preact'
import { useChainName, useChains } from '../api/chains.ts'
import { urlOf } from '../api/command.ts'
import { useApi } from '../api/queries.ts'
import { serviceUrl } from '../base.ts'
import { byToken } from '../charts/by-token.ts'
import { SeriesChart } from '../charts/series-chart.tsx'
import { ActivityTable } from '../parts/activity.tsx'
import { AsOf } from '../parts/as-of.tsx'
import { Claimables } from '../parts/claimables.tsx'
import { Copy } from '../parts/copy.tsx'
import { Tile } from '../parts/facts.tsx'
import { Pager, usePages } from '../parts/pager.tsx'
import { Empty, Loading, Problem, Read } from '../parts/state.tsx'
import { useTitle } from '../parts/title.ts'
import { Amount } from '../parts/values.tsx'
import { WalletDeposits, WalletEvents, WalletPositions } from '../parts/wallet-tables.tsx'
import { isAddress, shortHex } from '../text/address.ts'
import { toNumber } from '../text/amount.ts'
import { type Moment, parseMoment } from '../text/moment.ts'
import { unitOf } from '../text/money.ts'
import { chainText } from '../text/terms.ts'
import { timeText } from '../text/time.ts'
import { claimableOf, type Holding, holdingsOf } from '../text/wallet.ts'

type Portfolio = Schemas['Portfolio']
type Past = { readonly address: string; readonly moment: Moment | null }
type Of = Past & { readonly all: boolean }

const lines = [
  ['Deposited', ({ deposited }: Schemas['WalletPoint']) => deposited ?? 0n],
  ['Can be claimed', claimableOf],
  ['Premiums paid', ({ premiumPaid }: Schemas['WalletPoint']) => premiumPaid ?? 0n],
] as const

type CardProps = {
  readonly holding: Holding
  /** The totals are also of what is settled and claimed, as the lines are. */
  readonly all: boolean
  readonly isLoading: boolean
}

/** What the wallet has in one token, now and in the past. */
const TokenCard = ({ holding, all, isLoading }: CardProps) => {
  const { chainId, total, points, decimals } = holding
  const chain = useChainName(chainId)
  const unit = unitOf(holding)
  const shown = lines
    .map(([name, pick], colour) => ({
      ...{ name, colour },
      values: points.map((point) => toNumber(pick(point), decimals ?? 0)),
    }))
    .filter(({ values }) => values.some((value) => value !== 0))
  return (
    <section class="card">
      <h2>
        {unit} on {chain}
      </h2>
      {total !== null && (
        <div class="tiles pairs">
          <Tile name="Deposited">
            <Amount value={total.deposited} of={holding} symbol={false} />
          </Tile>
          <Tile name="Notional">
            <Amount value={total.notional} of={holding} symbol={false} />
          </Tile>
          <Tile name="Premiums paid" note={!all && 'for open positions'}>
            <Amount value={total.premiumPaid} of={holding} symbol={false} />
          </Tile>
          <Tile name="Can be claimed">
            <Amount value={claimableOf(total)} of={holding} symbol={false} />
          </Tile>
        </div>
      )}
      {isLoading && <Loading shape="small-chart" />}
      {shown.length > 0 && (
        <SeriesChart
          label={`${shown.map(({ name }) => name).join(', ')} in ${unit} on ${chain} by day`}
          times={points.map(({ time }) => time)}
          lines={shown}
          height={170}
        />
      )}
    </section>
  )
}

const Totals = ({ address, moment, all, totals }: Of & { readonly totals: Portfolio['totals'] }) => {
  const series = useApi('/v1/wallets/{addr}/series', {
    ...{ addr: address, interval: 'day' as const },
    ...(moment !== null && { to: moment.at }),
  })
  const holdings = holdingsOf(totals, byToken(series.data?.data ?? []))
  return (
    <>
      <div class="cards">
        {holdings.map((holding) => (
          <TokenCard
            key={`${holding.chainId} ${holding.token}`}
            holding={holding}
            all={all}
            isLoading={series.isPending}
          />
        ))}
      </div>
      {series.isError && <Problem error={series.error} retry={() => void series.refetch()} />}
    </>
  )
}

/** What the answer lacks. */
const Gaps = ({ portfolio }: { readonly portfolio: Portfolio }) => {
  const chains = useChains()
  const nameOf = (id: number): string => chains.find(({ chainId }) => chainId === id)?.name ?? `chain ${id}`
  return (
    <>
      {portfolio.chains
        .filter(({ status }) => status !== 'ok')
        .map(({ chainId, status }) => (
          <p key={chainId} class="notice">
            {status === 'unavailable'
              ? `There are no data of ${nameOf(chainId)} at present.`
              : `The data of ${nameOf(chainId)} may be out of date.`}
          </p>
        ))}
      {!portfolio.complete && (
        <p class="notice">
          This wallet has more rows than are shown here. The totals are of all rows, and the CSV files have all rows.
        </p>
      )}
    </>
  )
}

type SectionProps = { readonly title: string; readonly csv?: string; readonly children: ComponentChildren }

const Section = ({ title, csv, children }: SectionProps) => (
  <>
    <h2>
      {title}{' '}
      {csv !== undefined && (
        <a href={csv} download aria-label={`${title} as CSV`}>
          CSV
        </a>
      )}
    </h2>
    {children}
  </>
)

const Holdings = ({ address, moment, all, portfolio }: Of & { readonly portfolio: Portfolio }) => {
  const { positions, deposits, events, claimables, totals } = portfolio
  const csvOf = (path: string, include: string): string =>
    serviceUrl + urlOf(path, { wallet: address, at: moment?.at, include, format: 'csv' })
  return (
    <>
      <Gaps portfolio={portfolio} />
      <Totals address={address} moment={moment} all={all} totals={totals} />
      <Section title={moment === null ? 'Can be claimed' : 'Could be claimed then'}>
        {claimables.length === 0 ? (
          <Empty>Nothing can be claimed.</Empty>
        ) : (
          <>
            {moment !== null && <p class="muted">A claim takes what is there now, so the past has no buttons.</p>}
            <Claimables wallet={address} rows={claimables} now={moment === null} />
          </>
        )}
        {portfolio.claimablesComplete === false && (
          <p class="notice">The wallet can claim more than is listed here. The totals have the sums of all.</p>
        )}
      </Section>
      <Section title="Positions" csv={csvOf('/v1/hedge/positions', 'event')}>
        {positions.length === 0 ? <Empty>No positions.</Empty> : <WalletPositions rows={positions} />}
      </Section>
      <Section title="Deposits" csv={csvOf('/v1/hedge/deposits', 'event,valuation')}>
        {deposits.length === 0 ? <Empty>No deposits.</Empty> : <WalletDeposits rows={deposits} />}
      </Section>
      {events.length > 0 && (
        <Section title="Created events">
          <WalletEvents rows={events} now={moment?.seconds} />
        </Section>
      )}
    </>
  )
}

const Activity = ({ address, moment }: Past) => {
  const pages = usePages()
  const asked = { wallet: address, ...(moment !== null && { to: moment.at }) }
  const activity = useApi(
    '/v1/activity',
    { ...asked, limit: 20, ...(pages.cursor !== undefined && { cursor: pages.cursor }) },
    { live: moment === null && pages.number === 1 },
  )
  return (
    <Section title="Activity" csv={serviceUrl + urlOf('/v1/activity', { ...asked, format: 'csv' })}>
      <Read of={activity} lines={20} shape="rows">
        {({ data, meta }) => (
          <>
            {data.length === 0 ? (
              <Empty>This wallet has done nothing{moment === null ? '' : ' until then'}.</Empty>
            ) : (
              <ActivityTable rows={data} label="Activity of the wallet" oneWallet />
            )}
            {meta.completeFrom !== undefined && (
              <p class="notice">Older activity is still being read, so that the first rows may be missing.</p>
            )}
            <Pager pages={pages} nextCursor={meta.nextCursor} />
          </>
        )}
      </Read>
    </Section>
  )
}

/** The blocks that an answer is as of, as their times. */
const asOfText = ({ chains }: Portfolio): string => {
  const times = chains.flatMap(({ blockTimestamp }) => (blockTimestamp === null ? [] : [blockTimestamp]))
  return times.length === 0 ? '' : timeText(Math.max(...times))
}

const Wallet = ({ address }: { readonly address: string }) => {
  const [search, setSearch] = useSearchParams()
  const given = parseMoment(search.get('at'))
  const moment = given === 'invalid' ? null : given
  const all = search.get('state') === 'all'
  const set = (name: string) => (value: string | null) =>
    setSearch((before) => {
      const next = new URLSearchParams(before)
      if (value === null) next.delete(name)
      else next.set(name, value)
      return next
    })
  const portfolio = useApi(
    '/v1/wallets/{addr}/portfolio',
    {
      ...{ addr: address, state: all ? ('all' as const) : ('active' as const), include: 'valuation,event' as const },
      ...(moment !== null && { at: moment.at }),
    },
    { live: moment === null, enabled: given !== 'invalid' },
  )
  return (
    <>
      <h1>Wallet</h1>
      <p class="hash wrap">
        {address} <Copy text={address} label="Copy the address" />
      </p>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <AsOf moment={moment} set={set('at')} />
        <label class="check">
          <input
            type="checkbox"
            checked={all}
            onChange={({ currentTarget }) => set('state')(currentTarget.checked ? 'all' : null)}
          />
          Also what is settled and claimed
        </label>
      </form>
      {given === 'invalid' ? (
        <Empty>
          The address of this page has no valid day in <code>at</code>: choose a day above.
        </Empty>
      ) : (
        <>
          <Read of={portfolio} shape="page">
            {({ data }) => (
              <>
                {moment !== null &&
                  (portfolio.isPlaceholderData ? (
                    <Loading lines={1} />
                  ) : (
                    <p class="notice">
                      This is the wallet as it was at {timeText(moment.seconds)}, by the last blocks until then (
                      {asOfText(data)}).
                    </p>
                  ))}
                <Holdings address={address} moment={moment} all={all} portfolio={data} />
              </>
            )}
          </Read>
          <Activity key={moment?.at} address={address} moment={moment} />
        </>
      )}
    </>
  )
}

/** A wallet: what it holds on all chains, what it can claim, and what it did, now or at a moment of the past. */
export const WalletPage = ({ address }: { readonly address: string }) => {
  const isValid = isAddress(address)
  useTitle(isValid ? `Wallet ${shortHex(address)}` : 'Not a wallet')
  if (isValid) return <Wallet key={address} address={address} />
  return (
    <>
      <h1>Not a wallet</h1>
      <Empty>
        The address of a wallet is 0x and 40 hexadecimal digits, and <q>{chainText(address, 50)}</q> is not. Search
        again, or <Link href="/">go to the start</Link>.
      </Empty>
    </>
  )
}
