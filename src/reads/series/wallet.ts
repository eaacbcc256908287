import type { Address } from 'viem'
import type { Block } from '../../chain/rpc/requests.ts'
import { invalidField } from '../../lib/errors.ts'
import { max, min } from '../../lib/fixed.ts'
import { createSlices } from '../../lib/slices.ts'
import { createTally } from '../../lib/tally.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { kinds } from '../../protocol/entities.ts'
import { foldsAt, historyTo } from '../../protocol/history/history.ts'
import { requireOneChain } from '../history/at.ts'
import { requireProven, withNodes } from '../history/past.ts'
import { eventsOfRows, requireAllDated } from '../history/rows.ts'
import { chainsOf } from '../lists/resource.ts'
import type { ListSources } from '../lists/sources.ts'
import { addHoldings, type KindHolding, walletFigures } from './figures.ts'
import type { Point } from './records.ts'
import {
  answer,
  endsOf,
  figuresOf,
  type Series,
  type SeriesQuery,
  type SeriesSources,
  startOfAll,
  tokenOf,
} from './series.ts'
import { atMostPoints, type Interval, timesOf } from './times.ts'

/** Most events of a wallet whose past one series reads, and most figures that it is made of. */
const MAX_EVENTS = 200
const MAX_FIGURES = 500_000

/** Most entities of a wallet of each kind and chain. */
const MAX_HOLDINGS = 1_000

type Blocks = ReadonlyMap<ChainId, Block>

/** The entities of an event that a wallet has. */
type Held = { readonly chainId: ChainId; readonly eventId: string; readonly holdings: KindHolding[] }

/** The entities of a wallet that existed at blocks, by their events. Throws `validation_error` where there are too many. */
const heldBy = async (sources: ListSources, wallet: Address, blocks: Blocks): Promise<readonly Held[]> => {
  const chains = [...blocks].map(([chainId, { number, timestamp }]) => ({
    ...{ chainId, roundsCapitalUp: false, upTo: number, now: timestamp },
  }))
  const limit = MAX_HOLDINGS + 1
  const query = { wallets: [wallet], chains, activeOnly: false, include: [], limit, sums: false }
  const { holdings, parse } = await sources.lists.portfolios.of(query)
  const byEvent = new Map<string, Held>()
  const rows = createTally<string>()
  let isTooMany = false
  for (const kind of kinds) {
    await requireAllDated(sources, kind, blocks)
    for (const cells of holdings[kind]) {
      const holding = parse(kind, cells)
      const { chainId, eventId } = holding.row
      const held = byEvent.get(`${chainId} ${eventId}`) ?? { chainId, eventId, holdings: [] }
      byEvent.set(`${chainId} ${eventId}`, held)
      held.holdings.push({ kind, holding })
      rows.add(`${chainId} ${kind}`, 1)
      isTooMany ||= rows.of(`${chainId} ${kind}`) > MAX_HOLDINGS
    }
  }
  if (byEvent.size > MAX_EVENTS || isTooMany)
    throw invalidField(
      'addr',
      `expected a wallet with entities of at most ${MAX_EVENTS} events, and at most ${MAX_HOLDINGS} of a kind on a chain: read its activity instead`,
    )
  return [...byEvent.values()]
}

/** The sums of a wallet in one token, by the times of its points. */
type Line = { readonly chainId: ChainId; readonly token: Address; readonly points: Map<bigint, Map<string, bigint>> }

/** The sums over events at times, by chain and token. Throws `service_unavailable` where the past of one is not known. */
const linesOf = async (
  sources: ListSources,
  held: readonly Held[],
  blocks: Blocks,
  times: ReadonlyMap<ChainId, readonly bigint[]>,
): Promise<Iterable<Line>> =>
  withNodes(async () => {
    const eventFor = await eventsOfRows(sources, held, blocks)
    const lines = new Map<string, Line>()
    const slice = createSlices()
    for (const of of held) {
      const { chainId, holdings } = of
      const event = requireProven(eventFor(of), of.eventId)
      const token = event.seen.paymentToken
      const line = lines.get(`${chainId} ${token}`) ?? { chainId, token, points: new Map() }
      lines.set(`${chainId} ${token}`, line)
      for (const { fold, time } of foldsAt(historyTo(event.history, event.block.number), times.get(chainId) ?? [])) {
        const sums = line.points.get(time) ?? new Map<string, bigint>()
        line.points.set(time, sums)
        addHoldings(sums, fold, time, holdings)
        // One event can have most of the figures.
        if (slice.isOver()) await slice.next()
      }
    }
    return lines.values()
  })

/** Reads the series of a wallet, one for each chain and token. Throws as `blockAt` does. */
export const walletSeries = async (
  sources: SeriesSources,
  { addr: wallet }: { readonly addr: Address },
  query: SeriesQuery & { readonly interval?: Interval | undefined; readonly chainId?: readonly ChainId[] | undefined },
): Promise<Series> => {
  const { interval = 'day' } = query
  const chains = chainsOf(query.chainId)
  for (const name of ['from', 'to'] as const) requireOneChain(name, query[name], chains)
  const ends = await endsOf(sources, chains, query.to)
  const blocks = new Map([...ends].map(([id, { block }]) => [id, block]))
  const held = await heldBy(sources, wallet, blocks)
  const entities = held.flatMap(({ holdings }) => holdings)
  const created = entities.map(({ holding }) => BigInt(holding.row.blockTimestamp)).reduce(min, MAX_TIME)
  const asked = await startOfAll(sources, query.from, ends)
  const from = max(asked, created)
  const times = new Map(
    [...ends].map(([chainId, { second }]) => [chainId, from > second ? [] : timesOf(interval, from, second)]),
  )
  const most = [...times.values()].reduce((sum, { length }) => max(sum, BigInt(length)), 0n)
  if (Number(most) * entities.length > MAX_FIGURES)
    throw invalidField(
      'interval',
      'the wallet has too many entities for so many points: take a longer interval, or a later from',
    )
  const rows: Point[] = []
  for (const { chainId, token: address, points } of await linesOf(sources, held, blocks, times)) {
    const token = await tokenOf(sources, chainId, address)
    for (const [time, sums] of points)
      rows.push({ chainId, ...token, time: Number(time), ...figuresOf(walletFigures, query, sums) })
    atMostPoints(rows)
  }
  return answer(sources, query, rows, entities.length === 0 ? asked : from, ends)
}

/** Above the time of every block. */
const MAX_TIME = 2n ** 63n
