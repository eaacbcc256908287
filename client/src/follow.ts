import { decode } from './codec.ts'
import { ApiError, ConnectionError } from './errors.ts'
import { createInvolvement } from './involvement.ts'
import type { Requests } from './requests.ts'
import { delayOf, sleep } from './retry.ts'
import { readMessages } from './sse.ts'
import type { Transport } from './transport.ts'
import type { Params, Schemas } from './types.ts'

export type Settlement = Schemas['Settlement']

export type FollowOptions = {
  /** The `seq` of the last item that was processed, or `now`, the default: items after the first response. */
  readonly since?: number | string
  readonly chainId?: number
  /** Only items of these events. Requires `chainId`. */
  readonly eventIds?: readonly number[]
  readonly triggered?: boolean
  /** Only items of events in which one of these wallets is the creator, has a deposit or has a position. */
  readonly wallets?: readonly string[]
  /** Ends the iteration. */
  readonly signal?: AbortSignal
  /** How items arrive, whenever a stream or a period of polling begins. */
  readonly onMode?: (mode: Mode) => void
  /** Receives the failures that do not end the iteration. */
  readonly onFailure?: (error: unknown) => void
}

type Mode = 'stream' | 'poll'

const FEED = '/v1/hedge/settlements'

/** A stream starts with its position and has a comment every 15 seconds. A proxy that buffers it delivers neither. */
const FIRST_MESSAGE_MS = 10_000
const IDLE_MS = 40_000

/** How long items are polled before the stream is tried again: it doubles with every attempt that fails. */
const POLL_FOR_MS = 1_000
const MAX_POLL_FOR_MS = 60_000

/** Failures that lengthen the pause before the next attempt: to 4 seconds at most. */
const MAX_FAILURES = 4

/** A failure that may be over soon. Every other one, such as an invalid parameter, ends the iteration. */
const mayEnd = (error: unknown): boolean =>
  error instanceof ConnectionError || (error instanceof ApiError && (error.status >= 500 || error.status === 429))

/**
 * Settlements and their reversals, each once, in the order of the feed: from the stream where it can be opened,
 * otherwise in pages from the same position. Failures of the connection and restarts of the service do not end it.
 */
export async function* followSettlements(
  transport: Transport,
  api: Requests,
  options: FollowOptions = {},
): AsyncGenerator<Settlement, void, undefined> {
  const { since = 'now', chainId, eventIds, triggered, wallets, signal = new AbortController().signal } = options
  const isInvolved = createInvolvement(api, wallets, signal)
  const filter = {
    ...(chainId !== undefined && { chainId }),
    ...(eventIds !== undefined && { eventIds: eventIds.join(',') }),
    ...(triggered !== undefined && { triggered }),
  }
  let cursor = String(since)
  let mode: Mode | undefined
  let pollUntil = 0
  /** Attempts in a row that failed, and those to open a stream. */
  let failures = 0
  let unopened = 0

  const enter = (next: Mode): void => {
    if (next !== mode) options.onMode?.(next)
    mode = next
  }

  /** Items of the stream, until it ends. A text is the position of the stream. */
  async function* stream(): AsyncGenerator<Settlement | string, void, undefined> {
    const leave = new AbortController()
    const stop = (): void => leave.abort()
    signal.addEventListener('abort', stop)
    try {
      yield* messages(leave.signal)
    } finally {
      signal.removeEventListener('abort', stop)
      leave.abort()
    }
  }

  async function* messages(until: AbortSignal): AsyncGenerator<Settlement | string, void, undefined> {
    const call = { signal: until, timeoutMs: FIRST_MESSAGE_MS, attempts: 1 }
    const params = { ...filter, since: cursor }
    const response = await transport.open({ path: FEED, params, accept: 'text/event-stream' }, call)
    if (response.body === null || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
      throw new ConnectionError('the response is not a stream', { code: 'invalid_response' })
    }
    const idleMs = (): number => (mode === 'stream' ? IDLE_MS : FIRST_MESSAGE_MS)
    for await (const { event, id, data, retry } of readMessages(response.body, idleMs)) {
      failures = unopened = 0
      enter('stream')
      if (event === 'settled' || event === 'reverted') yield decode(JSON.parse(data ?? '')) as Settlement
      else if (event === 'end' || event === 'dropped') return sleep(Number(retry ?? 0), until)
      else if (id !== undefined) yield id
    }
  }

  /** Items of pages, until it is time to try the stream again. */
  async function* poll(): AsyncGenerator<Settlement | string, void, undefined> {
    do {
      const query: Params<typeof FEED> = { ...filter, since: cursor, limit: 200 }
      const { data, meta } = await api.get(FEED, query, { signal, attempts: 1 })
      failures = 0
      enter('poll')
      yield* data
      yield meta.nextCursor
      await sleep(meta.pollAfterMs, signal)
    } while (Date.now() < pollUntil)
  }

  while (!signal.aborted) {
    const streaming = Date.now() >= pollUntil
    if (streaming) {
      mode = undefined
      unopened += 1
    }
    try {
      for await (const item of streaming ? stream() : poll()) {
        if (typeof item === 'string') {
          cursor = item
        } else if (!(item.seq <= Number(cursor))) {
          if (await isInvolved(item)) yield item
          cursor = String(item.seq)
        }
      }
      failures = 0
    } catch (error) {
      if (signal.aborted) return
      if (!mayEnd(error)) throw error
      options.onFailure?.(error)
      failures += 1
      // When pages cannot be read either, the service is out of reach, and nothing speaks against the stream.
      if (!streaming) pollUntil = unopened = 0
    }
    if (streaming && unopened > 0) pollUntil = Date.now() + Math.min(MAX_POLL_FOR_MS, POLL_FOR_MS * 2 ** (unopened - 1))
    else if (streaming || failures > 0) await sleep(delayOf(Math.min(failures, MAX_FAILURES)), signal).catch(() => {})
  }
}
