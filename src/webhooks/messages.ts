import type { Database, Handle } from '../db/pool.ts'
import { type ActivityNews, activityAfter } from '../db/queries/activity.ts'
import { createFeedQueries, type FeedItem, type FeedPage } from '../db/queries/feed.ts'
import { createSettlementQueries, type FeedSettlement } from '../db/queries/settlements.ts'
import { subscribable } from '../db/schema/webhooks.ts'
import type { Endpoint } from '../db/webhooks/endpoints.ts'
import { configuredChains } from '../protocol/chains.ts'
import type { KnownTokens } from '../protocol/tokens.ts'
import { activityRecord } from '../reads/activity/activity.ts'
import { change, cursorText } from '../reads/feeds/changes.ts'
import { settlement } from '../reads/feeds/settlements.ts'

/** A message to an endpoint, before it is stored. */
export type Message = {
  readonly type: string
  readonly seq: number
  /** What it is about. Messages of one entity are sent one after another. */
  readonly entity: string
  /** Whether it replaces the message of its entity that waits, because only the newest state counts. */
  readonly replaces: boolean
  /** The position of the feed after the item, for `since` of that feed. */
  readonly cursor: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Messages of one feed, complete up to the number `end`. */
type Part = { readonly messages: readonly Message[]; readonly end: number }

type Subscribed = Pick<Endpoint, 'types' | 'chainIds' | 'wallets' | 'eventIds' | 'epoch' | 'seq'>

const changed = (item: FeedItem, epoch: string): Message => ({
  type: `${item.type}.changed`,
  seq: item.seq,
  entity: `${item.chainId} ${item.type} ${item.key}`,
  replaces: true,
  cursor: cursorText({ epoch, seq: item.seq }),
  data: change(item),
})

const settled = (item: FeedSettlement): Message => {
  const data = settlement(item)
  const entity = `${data.chainId} settlement ${data.eventId}`
  return { type: `settlement.${data.type}`, seq: data.seq, entity, replaces: false, cursor: String(data.seq), data }
}

const acted = (row: ActivityNews, epoch: string, tokens: KnownTokens): Message => {
  const { seq, isReverted } = row
  const { record } = activityRecord(row, tokens)
  return {
    type: `activity.${isReverted ? 'reverted' : 'recorded'}`,
    seq,
    entity: `${record.chainId} activity ${record.wallet}`,
    replaces: false,
    cursor: cursorText({ epoch, seq }),
    data: { seq, ...record },
  }
}

/** A reset, which names the chains of which everything may have changed. */
const reset = (resets: FeedPage['resets'], epoch: string): Message => {
  const seq = Math.max(...resets.map((it) => it.seq))
  const data = { resets: resets.map(({ chainId, reason }) => ({ chainId, reason })) }
  return { type: 'changes.reset', seq, entity: 'reset', replaces: false, cursor: cursorText({ epoch, seq }), data }
}

/**
 * Reads the messages for an endpoint after its cursor, in the order of their numbers, the cursor after them, and whether
 * there are later changes. Reads about `limit` items of each feed, of which it may want none.
 */
export const messagesAfter = async (
  handle: Handle,
  tokens: KnownTokens,
  endpoint: Subscribed,
  limit: number,
): Promise<{
  readonly messages: readonly Message[]
  readonly next: Pick<Endpoint, 'epoch' | 'seq'>
  readonly isMore: boolean
}> => {
  const database: Pick<Database, 'run'> = { run: (query) => query(handle) }
  const { epoch, seq, types } = endpoint
  const chainIds = endpoint.chainIds ?? configuredChains()
  const feed = createFeedQueries(database)
  const whole = await feed.page({ epoch, seq }, { chainIds, types: [] }, 0, Number.MAX_SAFE_INTEGER)
  const last = whole.next.seq
  const isOther = whole.resets.some(({ reason }) => reason === 'other_history')

  /** The number up to which items are complete, of which one more than the limit was read. */
  const endOf = (found: readonly { readonly seq: number }[]): number =>
    found.length > limit ? (found[limit - 1]?.seq ?? last) : last

  const changes = async (type: FeedItem['type'], keys?: readonly string[] | null): Promise<Part> => {
    // A cursor of another history has no items: the reset covers them.
    if (isOther) return { messages: [], end: last }
    const filter = { chainIds, types: [type], ...(keys && { keys }) }
    const page = await feed.page({ epoch, seq }, filter, limit, last)
    return { messages: page.items.map((item) => changed(item, page.next.epoch)), end: page.next.seq }
  }

  const settlements = async (isFinal: boolean): Promise<Part> => {
    const { wallets, eventIds } = endpoint
    const filter = {
      chainIds,
      isFinal,
      ...(wallets && { wallets: wallets as `0x${string}`[] }),
      ...(eventIds && { eventIds: eventIds.map(BigInt) }),
    }
    const found = await createSettlementQueries(database).after(seq, filter, limit + 1)
    // The feed of final settlements repeats reversals, which the other feed has.
    const items = isFinal ? found.filter(({ type }) => type === 'settled') : found
    return { messages: items.map(settled), end: endOf(found) }
  }

  const activity = async (): Promise<Part> => {
    if (isOther) return { messages: [], end: last }
    const wallets = endpoint.wallets as `0x${string}`[] | null
    const found = await activityAfter(handle, seq, { chainIds, wallets }, limit + 1)
    return { messages: found.map((row) => acted(row, whole.next.epoch, tokens)), end: endOf(found) }
  }

  const read = {
    activity,
    settlements: () => settlements(false),
    'final settlements': () => settlements(true),
    wallet: () => changes('wallet', endpoint.wallets),
    event: () => changes('event', endpoint.eventIds?.map(String)),
    protocol: () => changes('protocol'),
  }
  const parts: Part[] = []
  const feeds = new Set(types.map((type) => subscribable[type].feed))
  for (const name of feeds) parts.push(await read[name]())

  const end = Math.min(last, ...parts.map((part) => part.end))
  const followsChanges = types.some((type) => !type.startsWith('settlement.'))
  const resets = followsChanges ? whole.resets.filter((it) => isOther || it.seq <= end) : []
  const wanted: readonly string[] = types
  const messages = parts
    .flatMap((part) => part.messages)
    .filter(({ seq: at, type }) => at <= end && wanted.includes(type))
  return {
    messages: [...(resets.length > 0 ? [reset(resets, whole.next.epoch)] : []), ...messages].toSorted(
      (a, b) => a.seq - b.seq,
    ),
    next: { epoch: whole.next.epoch, seq: end },
    isMore: end < last,
  }
}
