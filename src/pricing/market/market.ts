import { LRUCache } from 'lru-cache'
import { errorText } from '../../lib/errors.ts'
import type { Logger } from '../../lib/observe/log.ts'
import { type Pair, pairName } from '../pair.ts'
import {
  type Close,
  closesOf,
  dayOf,
  hasEnoughCloses,
  isOneLevel,
  type Source,
  type Table,
  usableCloses,
} from './series.ts'

/**
 * A provider of sources. `read` returns the same array as before when nothing changed, and throws when it cannot read.
 */
export type Feed = { readonly name: string; read(signal?: AbortSignal): Promise<readonly Source[]> }

/** A pair's history: closes from one source, oldest first, with at least 30 in the 90 days up to the newest. */
export type History = {
  readonly pair: Pair
  readonly source: string
  readonly synthetic: boolean
  readonly closes: readonly Close[]
  readonly last: Close
  /** The newest rate of any source, including sources with too few closes for a history. */
  readonly spot: Close & { readonly source: string; readonly synthetic: boolean }
}

export type Market = {
  /** The history that prices a pair; undefined when no source has enough closes. */
  history(pair: Pair): History | undefined
  /** The pairs that sources publish and that have a history, each in one direction. */
  pairs(): readonly Pair[]
  /**
   * Reads every feed again, until `signal` aborts; a feed that fails keeps its previous sources. True when anything
   * changed, which a new day (UTC) can do too.
   */
  refresh(signal?: AbortSignal): Promise<boolean>
}

type Loaded = Omit<Source, 'series'> & { readonly table: Table }
type Held = { readonly given: readonly Source[]; readonly loaded: readonly Loaded[] }
type Candidate = {
  readonly source: string
  readonly synthetic: boolean
  readonly closes: readonly Close[]
  readonly last: Close
}

/** Maximum cached histories: more than the number of pairs that the currencies of all sources can form. */
const MAX_HISTORIES = 2_000

/**
 * Daily rates of every configured feed up to today (UTC). A pair uses the source with the newest close; with equal
 * dates, the source of the earlier feed. Empty until the first `refresh`.
 *
 * @example
 * const market = createMarket({ feeds: [bundledFeed()], now: Date.now, log })
 * await market.refresh()
 * market.history({ base: 'EUR', quote: 'JPY' })
 */
export const createMarket = (options: {
  readonly feeds: readonly Feed[]
  readonly now: () => number
  readonly log: Logger
}): Market => {
  const { feeds, now, log } = options
  const held = new Map<Feed, Held>()
  const histories = new LRUCache<string, { readonly found: History | undefined }>({ max: MAX_HISTORIES })

  const todayUtc = (): string => dayOf(now())
  let today = todayUtc()
  let refreshedOn = today

  const load = ({ name, synthetic, series }: Source): Loaded => ({
    name,
    synthetic,
    table: new Map(series.map((s) => [pairName(s.pair), usableCloses(s.closes, today)])),
  })

  /** A new day admits closes of its date: a publisher east of UTC publishes a close before that day begins in UTC. */
  const startNewDay = (): void => {
    if (today === todayUtc()) return
    today = todayUtc()
    for (const [feed, { given }] of held) held.set(feed, { given, loaded: given.map(load) })
    histories.clear()
  }

  const sources = (): Loaded[] => feeds.flatMap((feed) => held.get(feed)?.loaded ?? [])

  const find = (pair: Pair): History | undefined => {
    const candidates = sources()
      .flatMap(({ name, synthetic, table }): Candidate[] => {
        const closes = closesOf(table, pair)
        const last = closes?.at(-1)
        return closes === undefined || last === undefined ? [] : [{ source: name, synthetic, closes, last }]
      })
      .toSorted((a, b) => (a.last.date > b.last.date ? -1 : a.last.date < b.last.date ? 1 : 0))
    const sufficient = candidates.find(({ closes }) => hasEnoughCloses(closes))
    if (sufficient === undefined) return undefined
    const newest = candidates.find(({ last }) => isOneLevel(last, sufficient.last)) ?? sufficient
    return { pair, ...sufficient, spot: { ...newest.last, source: newest.source, synthetic: newest.synthetic } }
  }

  const history = (pair: Pair): History | undefined => {
    startNewDay()
    const key = pairName(pair)
    const known = histories.get(key) ?? { found: find(pair) }
    histories.set(key, known)
    return known.found
  }

  return {
    history,
    pairs() {
      const published = new Map<string, Pair>()
      for (const { table } of sources()) {
        for (const name of table.keys()) {
          const [base = '', quote = ''] = name.split('/')
          const key = [base, quote].sort().join('/')
          if (!published.has(key)) published.set(key, { base, quote })
        }
      }
      return [...published.values()].filter((pair) => history(pair) !== undefined)
    },
    async refresh(signal) {
      startNewDay()
      let changed = today !== refreshedOn
      refreshedOn = today
      for (const feed of feeds) {
        if (signal?.aborted) break
        try {
          const given = await feed.read(signal)
          if (held.get(feed)?.given === given) continue
          held.set(feed, { given, loaded: given.map(load) })
          changed = true
        } catch (fault) {
          if (signal?.aborted) break
          log.warn(
            { feed: feed.name, fault: errorText(fault) },
            'a feed cannot be refreshed; its previous rates, if any, stay in use',
          )
        }
      }
      if (changed) histories.clear()
      return changed
    },
  }
}
