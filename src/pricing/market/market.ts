import { LRUCache } from 'lru-cache'
import { errorText } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { type Pair, pairName } from '../pair.ts'
import { type Close, closesOf, isOneLevel, isThick, type Source, type Table, usableCloses } from './series.ts'

/** Where sources come from. `read` gives the same array as before when nothing changed, and throws when it cannot tell. */
export type Feed = { readonly name: string; read(signal?: AbortSignal): Promise<readonly Source[]> }

/** What is known of a pair: closes oldest first, from one source, with at least 30 in the 90 days to the newest. */
export type History = {
  readonly pair: Pair
  readonly source: string
  readonly synthetic: boolean
  readonly closes: readonly Close[]
  readonly last: Close
  /** The newest rate of any source, which may have too few closes to be a history. */
  readonly spot: Close & { readonly source: string; readonly synthetic: boolean }
}

export type Market = {
  /** The history a pair is priced on; undefined when no source has enough of it. */
  history(pair: Pair): History | undefined
  /** The pairs that sources publish and that have a history, each in one direction. */
  pairs(): readonly Pair[]
  /** Reads every feed again, until `signal` aborts; one that fails keeps what it had. True when anything changed, as it may with a new day (UTC). */
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

/** Beyond what the currencies of all sources make pairs. */
const MOST_HISTORIES = 2_000

/**
 * Daily rates of every configured feed up to today (UTC), whenever the feed gave them; the newest source of a pair counts, among
 * equals that of the earlier feed. Empty until the first `refresh`.
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
  const histories = new LRUCache<string, { readonly found: History | undefined }>({ max: MOST_HISTORIES })

  const todayUtc = (): string => new Date(now()).toISOString().slice(0, 10)
  let today = todayUtc()
  let refreshedOn = today

  const load = ({ name, synthetic, series }: Source): Loaded => ({
    name,
    synthetic,
    table: new Map(series.map((s) => [pairName(s.pair), usableCloses(s.closes, today)])),
  })

  /** A new day lets in what is dated with it: an office east of UTC publishes a close before its day begins here. */
  const turnDay = (): void => {
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
    const thick = candidates.find(({ closes }) => isThick(closes))
    if (thick === undefined) return undefined
    const newest = candidates.find(({ last }) => isOneLevel(last, thick.last)) ?? thick
    return { pair, ...thick, spot: { ...newest.last, source: newest.source, synthetic: newest.synthetic } }
  }

  const history = (pair: Pair): History | undefined => {
    turnDay()
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
      turnDay()
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
          log.warn({ feed: feed.name, fault: errorText(fault) }, 'rates not refreshed')
        }
      }
      if (changed) histories.clear()
      return changed
    },
  }
}
