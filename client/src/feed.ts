import { ConnectionError, isPassing } from './errors.ts'
import { delayOf, sleep } from './retry.ts'
import { type Message, readMessages } from './sse.ts'
import type { Transport } from './transport.ts'

/** How items of a feed arrive. */
type Mode = 'stream' | 'poll'

export type FeedOptions = {
  /** Ends the iteration. */
  readonly signal?: AbortSignal
  /** How items arrive, whenever a stream or a period of polling begins, also again after `onFailure`. */
  readonly onMode?: (mode: Mode) => void
  /** Receives the failures that do not end the iteration. */
  readonly onFailure?: (error: unknown) => void
}

/** An item, and the position after it. An entry without an item is a position only. */
export type Entry<T> = { readonly cursor: string; readonly item?: T }

/** A feed of the service: its stream, and its pages from the same positions. */
export type Feed<T> = {
  /** The path and the parameters of its stream; null when only pages have what is asked for. */
  readonly stream: { readonly path: string; readonly params: Readonly<Record<string, unknown>> } | null
  /** The entry of a message of the stream; undefined for a message that has none. */
  readonly entryOf: (message: Message) => Entry<T> | undefined
  /** Reads a page after a position. */
  readonly page: (
    cursor: string,
    call: { readonly signal: AbortSignal; readonly attempts: number },
  ) => Promise<{ readonly entries: readonly Entry<T>[]; readonly pollAfterMs: number }>
  /** Whether an item is one that is asked for. When it cannot be decided, the item arrives again later. */
  readonly keeps?: (item: T) => Promise<boolean>
}

/** A stream starts with its position and has a comment every 15 seconds. A proxy that buffers it delivers neither. */
const FIRST_MESSAGE_MS = 10_000
const IDLE_MS = 40_000

/** How long items are polled before the stream is tried again: it doubles with every attempt that fails. */
const POLL_FOR_MS = 1_000
const MAX_POLL_FOR_MS = 60_000

/** The pause that the service asks for, within bounds. */
const pauseOf = (ms: number): number => (ms > 0 ? Math.min(ms, MAX_POLL_FOR_MS) : 0)

/** Failures that lengthen the pause before the next attempt: to 4 seconds at most. */
const MAX_FAILURES = 4

/**
 * The entries of a feed after a position: from the stream where it can be opened, otherwise in pages from the same
 * position. Failures of the connection and restarts of the service do not end it.
 */
export async function* followFeed<T>(
  transport: Transport,
  feed: Feed<T>,
  since: string,
  options: FeedOptions,
): AsyncGenerator<Required<Entry<T>>, void, undefined> {
  const { signal = new AbortController().signal } = options
  let cursor = since
  let mode: Mode | undefined
  let pollUntil = 0
  /** Attempts in a row that failed, and those to open a stream. */
  let failures = 0
  let unopened = 0

  const enter = (next: Mode): void => {
    if (next !== mode) options.onMode?.(next)
    mode = next
  }

  async function* stream(of: NonNullable<Feed<T>['stream']>): AsyncGenerator<Entry<T>, void, undefined> {
    const leave = new AbortController()
    const stop = (): void => leave.abort()
    signal.addEventListener('abort', stop)
    try {
      yield* messages(of, leave.signal)
    } finally {
      signal.removeEventListener('abort', stop)
      leave.abort()
    }
  }

  async function* messages(
    { path, params }: NonNullable<Feed<T>['stream']>,
    until: AbortSignal,
  ): AsyncGenerator<Entry<T>, void, undefined> {
    const call = { signal: until, timeoutMs: FIRST_MESSAGE_MS, attempts: 1 }
    const response = await transport.open(
      { path, params: { ...params, ...(cursor !== '' && { since: cursor }) }, accept: 'text/event-stream' },
      call,
    )
    if (response.body === null || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
      throw new ConnectionError('the response is not a stream', { code: 'invalid_response' })
    }
    const idleMs = (): number => (mode === 'stream' ? IDLE_MS : FIRST_MESSAGE_MS)
    for await (const message of readMessages(response.body, idleMs)) {
      failures = unopened = 0
      enter('stream')
      const { event, retry } = message
      if (event === 'end' || event === 'dropped') return sleep(pauseOf(Number(retry)), until)
      const entry = feed.entryOf(message)
      if (entry !== undefined) yield entry
    }
  }

  /** Entries of pages, until it is time to try the stream again. */
  async function* poll(): AsyncGenerator<Entry<T>, void, undefined> {
    do {
      const { entries, pollAfterMs } = await feed.page(cursor, { signal, attempts: 1 })
      failures = 0
      enter('poll')
      yield* entries
      await sleep(pauseOf(pollAfterMs), signal)
    } while (Date.now() < pollUntil)
  }

  while (!signal.aborted) {
    const streamed = Date.now() >= pollUntil ? feed.stream : null
    if (streamed !== null) {
      mode = undefined
      unopened += 1
    }
    try {
      for await (const { item, cursor: next } of streamed === null ? poll() : stream(streamed)) {
        if (item !== undefined && (await feed.keeps?.(item)) !== false) yield { item, cursor: next }
        cursor = next
      }
    } catch (error) {
      if (signal.aborted) return
      if (!isPassing(error)) throw error
      options.onFailure?.(error)
      failures += 1
      // `onMode` reports when items arrive again.
      mode = undefined
      // When pages cannot be read either, the service is out of reach, and nothing speaks against the stream.
      if (streamed === null) pollUntil = unopened = 0
    }
    if (streamed !== null && unopened > 0)
      pollUntil = Date.now() + Math.min(MAX_POLL_FOR_MS, POLL_FOR_MS * 2 ** (unopened - 1))
    else if (streamed !== null || failures > 0)
      await sleep(delayOf(Math.min(failures, MAX_FAILURES)), signal).catch(() => {})
  }
}
