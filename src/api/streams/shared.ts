import type { ServerResponse } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'
import type { FeedCursor } from '../../db/queries/feed.ts'
import { createConcurrencyLimit } from '../../lib/concurrency-limit.ts'
import { errorText, ServiceError, unavailable } from '../../lib/errors.ts'
import { createTally } from '../../lib/tally.ts'
import type { Changes } from '../../reads/cache/resources.ts'
import { onResponseEnd } from '../client.ts'

/** Most bytes buffered for one client. A slower client is disconnected, and may resume from its last item. */
const MAX_BUFFERED_BYTES = 65_536

/** Most recent items kept in memory for all streams. A stream that needs older items reads the database. */
const MAX_RECENT = 1_000

/** Items per read of a stream that starts in the past. */
const PAGE_SIZE = 200

/** How often a comment is sent to every stream, in milliseconds. Proxies close connections that are idle for longer. */
const HEARTBEAT_MS = 15_000

/** Pages of streams that begin in the past, of all feeds, that are read at once: other reads need connections too. */
const CATCHING_UP = 2

/** Time for the last message, in milliseconds: when the service stops, and to a client that reads too slowly. */
const CLOSE_TIMEOUT_MS = 1_000
const DROP_TIMEOUT_MS = 10_000

/** When a client that exceeds a stream limit should try again, in seconds. */
const RETRY_AFTER_SECONDS = 5

/** When a client should reconnect, in milliseconds. */
const RETRY_MS = 1_000

/** The reconnects of clients that are disconnected together are spread over this time, in milliseconds. */
const RETRY_SPREAD_MS = 4_000

/** An item of a feed: its number, which grows from item to item, and its text as a server-sent event. */
export type StreamItem = { readonly seq: number; readonly text: string }

/** The feed that streams send, with filters of type F. The epoch of its positions is empty where it has no histories. */
export type StreamSource<I extends StreamItem, F> = {
  /** A filter that every item passes. */
  readonly all: F
  readonly passes: (filter: F, item: I) => boolean
  /** The items after a position, in order, `limit` at most, the position that they reach, and whether there are more. */
  readonly after: (
    from: FeedCursor,
    filter: F,
    limit: number,
  ) => Promise<{ readonly items: I[]; readonly next: FeedCursor; readonly hasMore: boolean }>
  /** The number of the newest change of the feed. */
  readonly newest: () => number
  /** The `id` of a position. */
  readonly idOf: (position: FeedCursor) => string
}

type Stream<F> = {
  readonly response: ServerResponse
  /** The address of the client. */
  readonly address: string
  readonly filter: F
  /** The position up to which all items were sent. */
  after: FeedCursor
  /** True while it reads items from the database that are older than those in memory. */
  isCatchingUp: boolean
}

/** Where a stream begins: after a position, or with a text before it, until the end of which its id is another one. */
export type StreamStart = { readonly after: FeedCursor; readonly id?: string; readonly text?: string }

/** The position with the greater number, or the first one. */
const later = (first: FeedCursor, second: FeedCursor): FeedCursor => (second.seq > first.seq ? second : first)

const notice = (event: string, reason: string): string => `event: ${event}\ndata: ${JSON.stringify({ reason })}\n\n`

/**
 * The position of a stream before its first item. Many clients keep the id of an event only if it has data, and empty
 * data suffices. The name keeps it from listeners of items.
 */
const positionEvent = (id: string): string => `retry: ${RETRY_MS}\nid: ${id}\nevent: position\ndata:\n\n`

/** Creates the capacity for streams of all feeds: at most `max` of all clients, and `maxPerClient` of one address. */
export const createStreamCapacity = (max: number, maxPerClient: number) => {
  const open = createTally<string>()
  let total = 0
  return {
    /** Reads a page of a stream that begins in the past. Addresses take turns. */
    catchUp: createConcurrencyLimit({
      atOnce: CATCHING_UP,
      waiting: max,
      refuse: () => unavailable('too many streams begin in the past'),
    }),
    /**
     * Counts a stream until the returned function is called. Throws `service_unavailable` at `max` streams, and
     * `rate_limited` at `maxPerClient` of the address.
     */
    take(address: string): () => void {
      if (total >= max)
        throw unavailable(`stream limit reached (${max}): try again later`, undefined, RETRY_AFTER_SECONDS)
      if (open.of(address) >= maxPerClient) {
        const message = `stream limit of your address reached (${maxPerClient}): close a stream first`
        throw new ServiceError('rate_limited', message, { retryAfter: RETRY_AFTER_SECONDS })
      }
      total += 1
      open.add(address, 1)
      return () => {
        total -= 1
        open.add(address, -1)
      }
    },
  }
}

type StreamCapacity = ReturnType<typeof createStreamCapacity>

/**
 * Creates the streams of a feed. New items are read once and written to all streams. A stream that starts in the past
 * reads the database until it reaches the items in memory. No client delays another one.
 */
export const createStreams = <I extends StreamItem, F>(deps: {
  readonly changes: Pick<Changes, 'position' | 'onCommit'>
  readonly source: StreamSource<I, F>
  readonly capacity: StreamCapacity
  readonly log: FastifyBaseLogger
  /** Called when there were new items while a stream is open. */
  readonly onItems?: () => void
  readonly maxBufferedBytes?: number
  readonly maxRecent?: number
  readonly pageSize?: number
}) => {
  const { changes, source, capacity, log, onItems } = deps
  const { maxBufferedBytes = MAX_BUFFERED_BYTES, maxRecent = MAX_RECENT, pageSize = PAGE_SIZE } = deps
  const streams = new Set<Stream<F>>()
  /** The most recent items: all items after number `start` up to position `end`. */
  let recent: I[] = []
  let start = 0
  let end: FeedCursor = { epoch: '', seq: 0 }
  let reading = false
  let dropped = 0
  let closed = false

  const finish = (stream: Stream<F>, text: string, timeoutMs: number): void => {
    streams.delete(stream)
    const { response } = stream
    response.end(text)
    setTimeout(() => response.destroy(), timeoutMs).unref()
  }

  const drop = (stream: Stream<F>, reason: string): void => {
    dropped += 1
    finish(stream, notice('dropped', reason), DROP_TIMEOUT_MS)
  }

  /** Asks the client to reconnect, at a random time: many do. */
  const endForRestart = (stream: Stream<F>): void => {
    const retry = RETRY_MS + Math.floor(Math.random() * RETRY_SPREAD_MS)
    finish(stream, `retry: ${retry}\n${notice('end', 'the service restarts')}`, CLOSE_TIMEOUT_MS)
  }

  /** The stream of a client that left is removed a moment after its response is destroyed. */
  const isOpen = (stream: Stream<F>): boolean => streams.has(stream) && !stream.response.destroyed

  const write = (stream: Stream<F>, text: string): void => {
    if (!isOpen(stream) || text === '') return
    // Data written in this tick stays buffered until the tick ends, so the limit is checked before the write.
    if (stream.response.writableLength > maxBufferedBytes) drop(stream, 'too slow')
    else stream.response.write(text)
  }

  /** Writes the items in memory that were not sent yet. */
  const deliver = (stream: Stream<F>): void => {
    if (stream.isCatchingUp || !isOpen(stream)) return
    if (stream.after.seq < start) return void catchUp(stream)
    const due = recent.filter((item) => item.seq > stream.after.seq && source.passes(stream.filter, item))
    write(stream, due.map(({ text }) => text).join(''))
    stream.after = later(stream.after, end)
  }

  /** Resolves when the buffer of a stream is empty or its client has disconnected. */
  const drained = ({ response }: Stream<F>): Promise<void> =>
    new Promise((resolve) => {
      if (response.destroyed || !response.writableNeedDrain) return resolve()
      const done = (): void => {
        response.off('drain', done).off('close', done)
        resolve()
      }
      response.on('drain', done).on('close', done)
    })

  const catchUp = async (stream: Stream<F>): Promise<void> => {
    stream.isCatchingUp = true
    try {
      for (let hasMore = true; hasMore && isOpen(stream); ) {
        const reached = end
        const read = async () => (isOpen(stream) ? source.after(stream.after, stream.filter, pageSize) : null)
        const page = await capacity.catchUp(read, undefined, stream.address)
        if (page === null) return
        write(stream, page.items.map(({ text }) => text).join(''))
        hasMore = page.hasMore
        // The last page reaches the end, so it includes the items in memory.
        stream.after = hasMore ? page.next : later(page.next, reached)
        await drained(stream)
      }
      stream.isCatchingUp = false
      deliver(stream)
    } catch (fault) {
      log.debug({ fault: errorText(fault) }, 'stream ended: its feed cannot be read')
      drop(stream, 'the database is out of reach')
    }
  }

  /** Reads new items, once for all streams. */
  const pump = async (): Promise<void> => {
    if (reading || streams.size === 0 || source.newest() <= end.seq) return
    reading = true
    const before = recent.at(-1)?.seq ?? 0
    try {
      const reached = changes.position()
      for (let hasMore = true; hasMore; ) {
        const page = await source.after(end, source.all, maxRecent)
        hasMore = page.hasMore
        recent = [...recent, ...page.items]
        const removed = recent.splice(0, Math.max(0, recent.length - maxRecent))
        start = removed.at(-1)?.seq ?? start
        // `end` may have advanced during the read: the last stream closed and a new one opened.
        end = later(end, hasMore ? page.next : later(page.next, { ...page.next, seq: reached }))
      }
    } catch (fault) {
      // The next commit or the next poll of the change log tries again.
      log.debug({ fault: errorText(fault) }, 'cannot read the feed of streams')
    } finally {
      reading = false
    }
    if ((recent.at(-1)?.seq ?? 0) > before) onItems?.()
    for (const stream of streams) deliver(stream)
  }

  const stop = changes.onCommit(() => void pump())
  const heartbeat = setInterval(() => {
    for (const stream of streams) write(stream, ': beat\n\n')
  }, HEARTBEAT_MS).unref()

  return {
    /** The number of open streams, and of those dropped because of a slow client or a database out of reach. */
    counts: () => ({ open: streams.size, dropped }),
    /**
     * Takes a place for a stream until the returned function is called. Throws `service_unavailable` when closed, and
     * as `StreamCapacity.take` does.
     */
    reserve(address: string): () => void {
      if (closed) throw unavailable('the service restarts', undefined, RETRY_AFTER_SECONDS)
      return capacity.take(address)
    },
    /** Sends the items after a position to a response whose head is written, until its client leaves or `close`. */
    open(response: ServerResponse, address: string, from: StreamStart, filter: F): void {
      if (response.destroyed || response.req.socket.destroyed) return
      if (streams.size === 0) {
        recent = []
        start = changes.position()
        end = { ...from.after, seq: start }
      }
      const { after, id = source.idOf(after), text = '' } = from
      const stream: Stream<F> = { response, address, filter, after, isCatchingUp: false }
      streams.add(stream)
      response.on('error', () => response.destroy())
      onResponseEnd(response, () => void streams.delete(stream))
      write(stream, positionEvent(id) + text)
      if (closed) endForRestart(stream)
      else deliver(stream)
    },
    /** Ends all streams and asks their clients to reconnect. */
    close(): void {
      closed = true
      stop()
      clearInterval(heartbeat)
      for (const stream of streams) endForRestart(stream)
    },
  }
}

export type Streams<F> = ReturnType<typeof createStreams<StreamItem, F>>
