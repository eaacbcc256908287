import { decode } from './codec.ts'
import { optionError } from './errors.ts'
import { type Entry, type Feed, type FeedOptions, followFeed } from './feed.ts'
import { checkOptions, feedOptions, type Known } from './follow-options.ts'
import type { Requests } from './requests.ts'
import type { Transport } from './transport.ts'
import type { Schemas } from './types.ts'

/**
 * A wallet, an event or the protocol changed, or everything of a chain may have changed (`reset`). Store `cursor` after
 * your copy has the change.
 */
export type Change = (Schemas['Change'] | ({ readonly type: 'reset' } & Schemas['ChangesReset'])) & {
  /** The position after the change, for `since`. */
  readonly cursor: string
}

export type ChangesOptions = FeedOptions & {
  /** The `cursor` of the last change that your copy has, or `now`. Begins with a reset of every chain when omitted. */
  readonly since?: string
  readonly chainId?: number
  /** Only changes of these types; resets always arrive. */
  readonly types?: readonly Schemas['Change']['type'][]
  /** Only changes of these wallets. */
  readonly wallets?: readonly string[]
  /** Only changes of these events. Requires `chainId`. */
  readonly eventIds?: readonly number[]
}

const known: Known<ChangesOptions> = {
  ...feedOptions,
  ...{ since: 'value', chainId: 'value', types: 'list', wallets: 'list', eventIds: 'list' },
}

/** Throws for options that select nothing, or that the service cannot combine. */
const check = (options: ChangesOptions): void => {
  checkOptions('changes.follow', options, known)
  const { types, wallets, eventIds } = options
  if (wallets !== undefined && eventIds !== undefined)
    throw optionError("changes.follow: pass 'wallets' or 'eventIds', and follow each in an iteration of its own")
  const [name, type] = wallets === undefined ? (['eventIds', 'event'] as const) : (['wallets', 'wallet'] as const)
  const subjects = wallets ?? eventIds
  if (subjects?.length === 0)
    throw optionError(`changes.follow: '${name}' is empty: leave it out to read all changes, or begin with one item`)
  if (subjects !== undefined && types !== undefined && !types.includes(type))
    throw optionError(`changes.follow: '${name}' selects changes of type '${type}', which 'types' leaves out`)
}

const FEED = '/v1/changes'

/** Most wallets or events of one request. With more, everything is read and the rest is left out here. */
const MAX_SUBJECTS = 1_000

/** The most items of a page. */
const LIMIT = 1_000

type Page = { readonly data: readonly Schemas['Change'][]; readonly meta: Schemas['ChangesMeta'] }

/**
 * The entries of a page. A stored position of a reset repeats it and those next to it: the page may end before everything
 * is fetched. That of the last reset ends them, unless changes follow it.
 */
const entriesOf = ({ data, meta }: Page, since: string): Entry<Change>[] => {
  const epoch = meta.nextCursor.split('.')[0]
  return [
    ...meta.resets.map((reset, at) => {
      const isEnd = data.length === 0 && at === meta.resets.length - 1
      const cursor = isEnd ? meta.nextCursor : since
      return { cursor, item: { type: 'reset', ...reset, cursor } as const }
    }),
    ...data.map((change) => {
      const cursor = `${epoch}.${change.seq}`
      return { cursor, item: { ...change, cursor } }
    }),
    { cursor: meta.nextCursor },
  ]
}

/** What changed, in the order of the feed, through failures and restarts of the service. */
export async function* followChanges(
  transport: Transport,
  api: Requests,
  options: ChangesOptions = {},
): AsyncGenerator<Change, void, undefined> {
  check(options)
  const { since = '', chainId, types, wallets, eventIds } = options
  const subjects = wallets ?? eventIds
  const isListed = subjects !== undefined && subjects.length <= MAX_SUBJECTS
  const wanted = new Set([...(wallets ?? []), ...(eventIds ?? [])].map((it) => String(it).toLowerCase()))
  const ofChain = chainId === undefined ? {} : { chainId }
  const filter = { ...ofChain, ...(types !== undefined && { types }) }
  const from = (cursor: string) => (cursor === '' ? {} : { since: cursor })

  const feed: Feed<Change> = {
    stream: isListed ? null : { path: `${FEED}/stream`, params: filter },
    entryOf({ event, id = '', data }) {
      if (id === '') return undefined
      if (event === 'change')
        return { cursor: id, item: { ...(decode(JSON.parse(data ?? '')) as Schemas['Change']), cursor: id } }
      if (event === 'reset') return { cursor: id, item: { type: 'reset', ...JSON.parse(data ?? ''), cursor: id } }
      return { cursor: id }
    },
    async page(cursor, call) {
      const found = isListed
        ? await api.post(
            FEED,
            {
              ...{ ...ofChain, ...from(cursor), limit: LIMIT },
              ...(wallets === undefined ? { eventIds: [...(eventIds ?? [])] } : { wallets: [...wallets] }),
            },
            call,
          )
        : await api.get(FEED, { ...filter, ...from(cursor), limit: LIMIT }, call)
      return { entries: entriesOf(found, cursor), pollAfterMs: found.meta.pollAfterMs }
    },
  }
  for await (const { item } of followFeed(transport, feed, since, options)) {
    const isWanted =
      item.type === 'reset' || subjects === undefined || wanted.has(String(item.wallet ?? item.eventId).toLowerCase())
    if (isWanted) yield item
  }
}
