import { setImmediate as breathe } from 'node:timers/promises'
import type { DaySum } from '../../db/queries/totals.ts'
import { unavailable } from '../../lib/errors.ts'
import { max, min } from '../../lib/fixed.ts'
import type { ChainId } from '../../protocol/chains.ts'
import type { LedgerTypeName } from '../../protocol/ledger.ts'
import { requireOneChain } from '../history/at.ts'
import { chainsOf } from '../lists/resource.ts'
import { protocolFigures, type Sum, type Totals } from './protocol-figures.ts'
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

const DAY = 86_400n

const nothing: Sum = { rows: 0n, amount: 0n, fee: 0n, notional: 0n }

const added = (a: Sum, b: Sum): Sum => ({
  ...{ rows: a.rows + b.rows, amount: a.amount + b.amount },
  ...{ fee: a.fee + b.fee, notional: a.notional + b.notional },
})

/** The totals of one token of the days up to each time. */
function* totalsAt(
  days: readonly DaySum[],
  times: readonly bigint[],
): Generator<{ readonly time: bigint; readonly of: Totals }> {
  const sums = new Map<LedgerTypeName, Sum>()
  let next = 0
  for (const time of times) {
    for (let day = days[next]; day !== undefined && BigInt(day.day) * DAY <= time; day = days[next]) {
      sums.set(day.type, added(sums.get(day.type) ?? nothing, day))
      next += 1
    }
    yield { time, of: (type) => sums.get(type) ?? nothing }
  }
}

/**
 * The totals of each token at ascending times (Unix seconds), from the sums of a chain's days in their order. Throws
 * `service_unavailable` where a token is not known yet.
 */
export function* totalsOf(chainId: ChainId, days: readonly DaySum[], times: readonly bigint[]) {
  for (const token of [...new Set(days.map((it) => it.token))].sort()) {
    if (token === null) throw unavailable(`an event of chain ${chainId} is not read yet`)
    const own = days.filter((it) => it.token === token)
    yield { token, points: totalsAt(own, times) }
  }
}

/** Reads the totals of the protocol, one series for each chain and token. Throws as `blockAt` does. */
export const protocolSeries = async (
  sources: SeriesSources,
  _: unknown,
  query: SeriesQuery & {
    readonly interval?: Exclude<Interval, 'hour'> | undefined
    readonly chainId?: readonly ChainId[] | undefined
  },
): Promise<Series> => {
  const { interval = 'day', from, to } = query
  const chains = chainsOf(query.chainId)
  for (const name of ['from', 'to'] as const) requireOneChain(name, query[name], chains)
  const ends = await endsOf(sources, chains, to)
  const asked = await startOfAll(sources, from, ends)
  const rows: Point[] = []
  let first: bigint | null = null
  for (const [chainId, { block, second }] of ends) {
    const days = await sources.lists.totals.daysUpTo(chainId, block)
    if (days === null)
      throw unavailable(`the ledger of chain ${chainId} is not complete or not summed yet: see /status`)
    const [earliest] = days
    if (earliest === undefined) continue
    const begin = max(asked, BigInt(earliest.day) * DAY)
    if (begin > second) continue
    first = first === null ? begin : min(first, begin)
    const times = timesOf(interval, begin, second)
    for (const { token, points } of totalsOf(chainId, days, times)) {
      const shown = await tokenOf(sources, chainId, token)
      for (const { time, of } of points)
        rows.push({ chainId, ...shown, time: Number(time), ...figuresOf(protocolFigures, query, of) })
      atMostPoints(rows)
      await breathe()
    }
  }
  return answer(sources, query, rows, first ?? 0n, ends)
}
