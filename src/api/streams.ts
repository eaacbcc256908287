import type { ServerResponse } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'
import type { SettlementFilter, Settlement as Stored } from '../db/settlements.ts'
import { errorText, ServiceError, unavailable } from '../lib/errors.ts'
import { chainIds } from '../protocol/chains.ts'
import type { Sources } from '../reads/read.ts'
import { feedOf, settlement } from '../reads/settlements.ts'
import { whenOver } from './waiter.ts'

/** Bytes that may wait for a reader when more comes. One who is further behind is left, and may come again from where they are. */
const MOST_WAITING = 65_536

/** Items kept for those who are nearly at the end: they come from memory to all streams. */
const RECENT = 1_000

/** Items that a stream which begins in the past reads at once. */
const PAGE = 200

/** How often a quiet stream says that it is there, in milliseconds: proxies close what says nothing for longer. */
const BEAT_MS = 15_000

/** How long the last words may take to reach a reader, in milliseconds: at the end of the service, and behind all that a slow one has yet to take. */
const LEAVE_WITHIN_MS = 1_000
const DROP_WITHIN_MS = 10_000

/** When one for whom there is no room should come again, in seconds. */
const RETRY_AFTER = 5

/** When a reader should come again, in milliseconds. */
const RETRY_MS = 1_000

/** Those who are all sent away at once come again one after another within so many more, in milliseconds. */
const RETRY_SPREAD_MS = 4_000

type Item = { readonly stored: Stored; readonly text: string }

type Stream = {
  readonly response: ServerResponse
  /** Whose it is: an address. */
  readonly client: string
  readonly filter: SettlementFilter
  /** Everything up to this was sent. */
  after: number
  /** It reads what is older than what is kept. */
  isCatchingUp: boolean
}

const itemOf = (stored: Stored): Item => {
  const shown = settlement(stored)
  return { stored, text: `id: ${shown.seq}\nevent: ${shown.type}\ndata: ${JSON.stringify(shown)}\n\n` }
}

const notice = (event: string, reason: string): string => `event: ${event}\ndata: ${JSON.stringify({ reason })}\n\n`

const matches = ({ chainIds: chains, eventIds, triggered }: SettlementFilter, { stored }: Item): boolean =>
  chains.some((id) => id === stored.chainId) &&
  (eventIds === undefined || eventIds.includes(stored.eventId)) &&
  (triggered === undefined || stored.triggered === triggered)

/** Whether a request's `Accept` asks for a stream. */
export const isStream = (accept: string | undefined): boolean =>
  accept?.split(',').some((type) => type.trim().startsWith('text/event-stream')) === true

/**
 * The open streams of settlements. What is new is read once and written to all; one who begins in the past reads by themselves until they
 * have come to what is kept. No reader makes another wait.
 */
export const createStreams = (deps: {
  readonly sources: Pick<Sources, 'changes' | 'settlements'>
  /** Streams that may be open at once, and those of one client. */
  readonly max: number
  readonly maxPerClient: number
  readonly log: FastifyBaseLogger
}) => {
  const { max, maxPerClient, log } = deps
  const { changes, settlements } = deps.sources
  const streams = new Set<Stream>()
  const feed = feedOf(chainIds)
  /** The newest items, and what they begin and end with: every item above `start` up to `end` is among them. */
  let recent: Item[] = []
  let start = 0
  let end = 0
  let reading = false
  let dropped = 0
  let closed = false

  const leave = (stream: Stream, words: string, withinMs: number): void => {
    streams.delete(stream)
    const { response } = stream
    response.end(words)
    setTimeout(() => response.destroy(), withinMs).unref()
  }

  const drop = (stream: Stream, reason: string): void => {
    dropped += 1
    leave(stream, notice('dropped', reason), DROP_WITHIN_MS)
  }

  const write = (stream: Stream, text: string): void => {
    if (!streams.has(stream) || text === '') return
    // What is written now waits for this tick to end, however quick the reader is.
    if (stream.response.writableLength > MOST_WAITING) drop(stream, 'too slow')
    else stream.response.write(text)
  }

  /** Writes what is kept and was not sent yet. */
  const deliver = (stream: Stream): void => {
    if (stream.isCatchingUp || !streams.has(stream)) return
    if (stream.after < start) return void catchUp(stream)
    const due = recent.filter((item) => item.stored.seq > stream.after && matches(stream.filter, item))
    write(stream, due.map(({ text }) => text).join(''))
    stream.after = Math.max(stream.after, end)
  }

  /** Resolves when a reader has taken what waits for them, or is gone. */
  const drained = ({ response }: Stream): Promise<void> =>
    new Promise((resolve) => {
      if (response.destroyed || !response.writableNeedDrain) return resolve()
      const done = (): void => {
        response.off('drain', done).off('close', done)
        resolve()
      }
      response.on('drain', done).on('close', done)
    })

  const catchUp = async (stream: Stream): Promise<void> => {
    stream.isCatchingUp = true
    try {
      for (let isFull = true; isFull && streams.has(stream); ) {
        const reached = end
        const page = await settlements.after(stream.after, stream.filter, PAGE)
        write(stream, page.map((stored) => itemOf(stored).text).join(''))
        isFull = page.length === PAGE
        // A page that is not full holds all there was, what is kept included.
        stream.after = Math.max(page.at(-1)?.seq ?? stream.after, isFull ? 0 : reached)
        await drained(stream)
      }
      stream.isCatchingUp = false
      deliver(stream)
    } catch (fault) {
      log.debug({ fault: errorText(fault) }, 'stream given up')
      drop(stream, 'the database is out of reach')
    }
  }

  /** Reads what is new, once for all streams. */
  const pump = async (): Promise<void> => {
    if (reading || streams.size === 0 || changes.version(feed) <= end) return
    reading = true
    try {
      const reached = changes.position()
      for (let isFull = true; isFull; ) {
        const page = await settlements.after(end, { chainIds }, RECENT)
        isFull = page.length === RECENT
        recent = [...recent, ...page.map(itemOf)]
        const forgotten = recent.splice(0, Math.max(0, recent.length - RECENT))
        start = forgotten.at(-1)?.stored.seq ?? start
        // It may have been set anew meanwhile: the last reader left and another one came.
        end = Math.max(end, page.at(-1)?.seq ?? 0, isFull ? 0 : reached)
      }
    } catch (fault) {
      // The next commit, or the next beat of the changes, tries again.
      log.debug({ fault: errorText(fault) }, 'settlements not read')
    } finally {
      reading = false
    }
    for (const stream of streams) deliver(stream)
  }

  const stop = changes.onCommit(() => void pump())
  const beat = setInterval(() => {
    for (const stream of streams) write(stream, ': beat\n\n')
  }, BEAT_MS).unref()

  return {
    /** Streams that are open, and how many were ended because their reader or the database did not keep up. */
    tally: () => ({ open: streams.size, dropped }),
    /**
     * Throws `service_unavailable` when there are as many streams as there may be, and `rate_limited` when the client has as many as one
     * may.
     */
    makeRoom(client: string): void {
      if (closed) throw unavailable('the service restarts', undefined, RETRY_AFTER)
      if (streams.size >= max) throw unavailable('as many streams are open as may be', undefined, RETRY_AFTER)
      let own = 0
      for (const stream of streams) if (stream.client === client) own += 1
      if (own < maxPerClient) return
      const message = `${maxPerClient} streams are open for your address, which is the most`
      throw new ServiceError('rate_limited', message, { retryAfter: RETRY_AFTER })
    },
    /**
     * Streams to a client's response whose head was written, from after a place in the feed, until its reader leaves or `close`. One who left
     * before is nobody's reader.
     */
    open(response: ServerResponse, client: string, after: number, filter: SettlementFilter): void {
      if (response.destroyed || response.req.socket.destroyed) return
      if (streams.size === 0) {
        recent = []
        start = end = changes.position()
      }
      const stream: Stream = { response, client, filter, after, isCatchingUp: false }
      streams.add(stream)
      response.on('error', () => response.destroy())
      whenOver(response, () => streams.delete(stream))
      write(stream, `retry: ${RETRY_MS}\nid: ${after}\n\n`)
      deliver(stream)
    },
    /** Takes leave of all readers. */
    close(): void {
      closed = true
      stop()
      clearInterval(beat)
      for (const stream of streams) {
        const retry = RETRY_MS + Math.floor(Math.random() * RETRY_SPREAD_MS)
        leave(stream, `retry: ${retry}\n${notice('end', 'the service restarts')}`, LEAVE_WITHIN_MS)
      }
    },
  }
}

export type Streams = ReturnType<typeof createStreams>
