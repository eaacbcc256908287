import { decode } from './codec.ts'
import { type Entry, type Feed, type FeedOptions, followFeed } from './feed.ts'
import { checkOptions, feedOptions, type Known } from './follow-options.ts'
import { createInvolvement } from './involvement.ts'
import type { Requests } from './requests.ts'
import type { Transport } from './transport.ts'
import type { Params, Schemas } from './types.ts'

export type Settlement = Schemas['Settlement']

export type FollowOptions = FeedOptions & {
  /**
   * The `seq` of the last item that was processed, or `now`, the default: items after the first response. The two feeds
   * of `finality` have positions of their own.
   */
  readonly since?: number | string
  readonly chainId?: number
  /** Only items of these events. Requires `chainId`. */
  readonly eventIds?: readonly number[]
  readonly triggered?: boolean
  /** `finalized`: settlements once they are final, as items of that type. By default, as soon as they are found. */
  readonly finality?: 'latest' | 'finalized'
  /** Only items of events in which one of these wallets is the creator, has a deposit or has a position. */
  readonly wallets?: readonly string[]
}

const known: Known<FollowOptions> = {
  ...{ ...feedOptions, since: 'value', chainId: 'value', eventIds: 'list', wallets: 'list' },
  ...{ triggered: 'value', finality: 'value' },
}

const FEED = '/v1/hedge/settlements'

const types: readonly (string | undefined)[] = ['settled', 'reverted', 'finalized'] satisfies Settlement['type'][]

const entryOf = (item: Settlement): Entry<Settlement> => ({ item, cursor: String(item.seq) })

/** Settlements and their reversals, each once, in the order of the feed, through failures and restarts of the service. */
export async function* followSettlements(
  transport: Transport,
  api: Requests,
  options: FollowOptions = {},
): AsyncGenerator<Settlement, void, undefined> {
  checkOptions('settlements.follow', options, known)
  const {
    since = 'now',
    chainId,
    eventIds,
    triggered,
    finality,
    wallets,
    signal = new AbortController().signal,
  } = options
  const filter = {
    ...(chainId !== undefined && { chainId }),
    ...(eventIds !== undefined && { eventIds: eventIds.join(',') }),
    ...(triggered !== undefined && { triggered }),
    ...(finality !== undefined && { finality }),
  }
  const feed: Feed<Settlement> = {
    keeps: createInvolvement(api, wallets, signal),
    stream: { path: FEED, params: filter },
    entryOf: ({ event, id, data }) => {
      if (types.includes(event)) return entryOf(decode(JSON.parse(data ?? '')) as Settlement)
      return id === undefined ? undefined : { cursor: id }
    },
    async page(cursor, call) {
      const query: Params<typeof FEED> = { ...filter, since: cursor, limit: 200 }
      const { data, meta } = await api.get(FEED, query, call)
      return { entries: [...data.map(entryOf), { cursor: meta.nextCursor }], pollAfterMs: meta.pollAfterMs }
    },
  }
  for await (const { item } of followFeed(transport, feed, String(since), options)) yield item
}
