import type { Address } from 'viem'
import type { Block } from '../../chain/rpc/requests.ts'
import { invalidField, notFound } from '../../lib/errors.ts'
import { max } from '../../lib/fixed.ts'
import type { ChainId } from '../../protocol/chains.ts'
import type { Moment } from '../../protocol/fields/request-fields.ts'
import type { Fold } from '../../protocol/history/fold.ts'
import { foldsAt, type History, historyTo } from '../../protocol/history/history.ts'
import type { Token } from '../../protocol/tokens.ts'
import { blockFields, type Freshness, indexedBlock, indexFreshness, isStale } from '../freshness/freshness.ts'
import { blockAt } from '../history/block-at.ts'
import { type PastEvent, pastEvent, withNodes } from '../history/past.ts'
import type { ListSources } from '../lists/sources.ts'
import type { ReadSources } from '../read.ts'
import { depositFigures, depositStates, eventFigures, eventState } from './figures.ts'
import type { Point, SeriesMeta } from './records.ts'
import { atMostPoints, type Interval, timesOf } from './times.ts'

/** What selects the points of a series. */
export type SeriesQuery = {
  readonly metric?: readonly string[] | undefined
  readonly interval?: Interval | 'change' | undefined
  readonly from?: Moment | undefined
  readonly to?: Moment | undefined
}

/** The sources of series. */
export type SeriesSources = ListSources & Pick<ReadSources, 'queries'>

/** `isPast`: whether it ends at a moment of the past on every chain, and not at the present. */
export type Series = {
  readonly rows: readonly Point[]
  readonly meta: SeriesMeta
  readonly freshness: Freshness
  readonly isPast: boolean
}

/**
 * The last block of a series, and its last second: that of `to`, which may be after the block. `lagSeconds` is that of the
 * index when it ends at the present, and null when it ends in the past.
 */
type End = { readonly block: Block; readonly second: bigint; readonly lagSeconds: number | null }

/** The end of a series: `to`, or the newest indexed block without it and for a time that is not before that block. */
const endOf = async (sources: SeriesSources, chainId: ChainId, to: Moment | undefined): Promise<End> => {
  const { block: tip, lagSeconds } = await indexedBlock(sources, chainId)
  if (to === undefined || ('seconds' in to && to.seconds >= tip.timestamp))
    return { block: tip, second: tip.timestamp, lagSeconds }
  const block = await blockAt(sources, chainId, to, { field: 'to' })
  return { block, second: 'seconds' in to ? to.seconds : block.timestamp, lagSeconds: null }
}

/** The first second of a series that `from` asks for. Throws `validation_error` when it is after the last one. */
const startOf = async (sources: ListSources, chainId: ChainId, from: Moment, { second }: End): Promise<bigint> => {
  const first = 'block' in from ? (await blockAt(sources, chainId, from, { field: 'from' })).timestamp : from.seconds
  if (first > second) throw invalidField('from', 'expected a moment before to, and before the newest indexed block')
  return first
}

/** The end of the series of each chain. */
export const endsOf = async (
  sources: SeriesSources,
  chainIds: readonly ChainId[],
  to: Moment | undefined,
): Promise<ReadonlyMap<ChainId, End>> =>
  new Map(await Promise.all(chainIds.map(async (id) => [id, await endOf(sources, id, to)] as const)))

/** The first second of the series of several chains, 0 without `from`: it may be after the end of all but the last one. */
export const startOfAll = async (
  sources: ListSources,
  from: Moment | undefined,
  ends: ReadonlyMap<ChainId, End>,
): Promise<bigint> => {
  const [last] = [...ends].sort(([, a], [, b]) => (a.second > b.second ? -1 : 1))
  return from === undefined || last === undefined ? 0n : startOf(sources, last[0], from, last[1])
}

export const tokenOf = async (
  { lists }: Pick<ListSources, 'lists'>,
  chainId: ChainId,
  address: Address,
): Promise<Token> => lists.token(chainId, address, null) ?? lists.tokens.ask(chainId, address)

/**
 * The times of the points of an event: its creation and those of its logs, which are not after `second`, or the ends of
 * intervals.
 */
const timesIn = (
  created: bigint,
  { logs }: History,
  interval: SeriesQuery['interval'],
  from: bigint,
  second: bigint,
): readonly bigint[] => {
  if (interval !== 'change') return timesOf(interval ?? 'day', from, second)
  const times = [created, ...logs.map(({ blockTimestamp }) => blockTimestamp)]
  return atMostPoints([...new Set(times)].filter((time) => time >= from))
}

type Figures<Of> = Readonly<Record<string, { readonly value: (of: Of) => unknown }>>

/** The selected figures of a state. */
export const figuresOf = <Of>(figures: Figures<Of>, { metric }: SeriesQuery, state: Of) =>
  Object.fromEntries((metric ?? Object.keys(figures)).map((name) => [name, figures[name]?.value(state)]))

/** Makes the series of an event or of one of its deposits. */
const seriesOfEvent = async <Of>(
  sources: SeriesSources,
  asked: { readonly event: PastEvent; readonly from: bigint; readonly end: End; readonly query: SeriesQuery },
  figures: Figures<Of>,
  stateOf: (fold: Fold, time: bigint) => Of | null,
): Promise<Series> => {
  const { event, from, end, query } = asked
  const { fact, seen } = event
  const { chainId } = fact
  const history = historyTo(event.history, end.block.number)
  const token = await tokenOf(sources, chainId, seen.paymentToken)
  const rows: Point[] = []
  const times = timesIn(fact.blockTimestamp, history, query.interval, from, end.second)
  for (const { fold, time } of foldsAt(history, times)) {
    const state = stateOf(fold, time)
    if (state !== null) rows.push({ chainId, ...token, time: Number(time), ...figuresOf(figures, query, state) })
  }
  return answer(sources, query, rows, from, new Map([[chainId, end]]))
}

export const answer = (
  { maxLagSeconds }: Pick<SeriesSources, 'maxLagSeconds'>,
  { interval = 'day' }: SeriesQuery,
  rows: readonly Point[],
  from: bigint,
  ends: ReadonlyMap<ChainId, End>,
): Series => {
  const meta = {
    interval,
    from: Number(from),
    to: [...ends].map(([chainId, { block }]) => ({ chainId, ...blockFields(block) })),
    points: rows.length,
  }
  const all = [...ends.values()]
  const lags = all.map(({ lagSeconds }) => lagSeconds)
  const isPast = lags.every((lag) => lag === null)
  const isBehind = lags.some((lag) => lag !== null && isStale(lag, maxLagSeconds))
  const blocks = all.map(({ block }) => block)
  return { rows, meta, isPast, freshness: indexFreshness(blocks, lags, isBehind) }
}

/** The event of a series, its first and its last second. Throws `not_found` for an event that did not exist at the end. */
const eventOf = async (
  sources: SeriesSources,
  chainId: ChainId,
  id: bigint,
  { from, to }: SeriesQuery,
  missing: string,
): Promise<{ readonly event: PastEvent; readonly from: bigint; readonly end: End }> => {
  const end = await endOf(sources, chainId, to)
  const { block } = end
  const event = await withNodes(() => pastEvent(sources, chainId, block, id))
  if (event === null || event.fact.blockNumber > block.number) throw notFound(missing)
  const created = event.fact.blockTimestamp
  const first = from === undefined ? created : await startOf(sources, chainId, from, end)
  return { event, from: max(first, created), end }
}

/** Reads the series of an event. Throws as `blockAt` does, and `not_found`. */
export const eventSeries = async (
  sources: SeriesSources,
  { chainId, id }: { readonly chainId: ChainId; readonly id: number },
  query: SeriesQuery,
): Promise<Series> => {
  const found = await eventOf(sources, chainId, BigInt(id), query, `event ${id} does not exist on chain ${chainId}`)
  return seriesOfEvent(sources, { ...found, query }, eventFigures, eventState)
}

/** Reads the series of a deposit. Throws as `eventSeries` does. */
export const depositSeries = async (
  sources: SeriesSources,
  { chainId, id }: { readonly chainId: ChainId; readonly id: number },
  query: SeriesQuery,
): Promise<Series> => {
  const missing = `deposit ${id} does not exist on chain ${chainId}`
  const known = await sources.queries.deposit(chainId, BigInt(id))
  if (known === null) throw notFound(missing)
  const found = await eventOf(sources, chainId, known.deposit.eventId, query, missing)
  return seriesOfEvent(sources, { ...found, query }, depositFigures, depositStates(BigInt(id)))
}
