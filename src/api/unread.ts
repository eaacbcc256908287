import type { ServerResponse } from 'node:http'
import fp from 'fastify-plugin'
import { unavailable } from '../lib/errors.ts'
import { addressOf } from './client.ts'
import type { Refused } from './limits.ts'

/*
 * Bodies that clients have not read yet. They stay in memory, outside the heap, for as long as a client takes. So their
 * sum is bounded, and a client that reads nothing for some time is disconnected.
 */

/** Smaller bodies are not counted, in bytes: the number of connections bounds them. */
const SMALL_BYTES = 65_536

/** A client that reads nothing of a counted body for this long is disconnected, in milliseconds. */
const STALLED_MS = 30_000

/** A response that has taken longer than this may be ended to make room for others, in milliseconds. */
const SLOW_MS = 5_000

/** When a rejected client should try again, in seconds. */
const RETRY_AFTER_SECONDS = 2

const MESSAGE = `too many large responses are not read yet: try again after ${RETRY_AFTER_SECONDS} s`

type Reading = {
  readonly body: object
  readonly size: number
  /** The address of the client. */
  readonly address: string
  readonly startedAt: number
}

/** The number of counted bodies and their bytes, and the responses that were ended because of their client. */
type Counts = { readonly bytes: number; readonly dropped: number }

/** Bounds the bodies that clients have not read yet to `maxBytes`. A single body is always let through. */
export const createUnread = (
  maxBytes: number,
  { stalledMs = STALLED_MS, slowMs = SLOW_MS, now = () => performance.now() } = {},
) => {
  /** The responses that are being sent, oldest first. */
  const readings = new Map<ServerResponse, Reading>()
  /** The number of responses by body: those from the response cache share theirs. */
  const readers = new Map<object, number>()
  let bytes = 0
  let dropped = 0

  const release = (response: ServerResponse): void => {
    const reading = readings.get(response)
    if (reading === undefined) return
    readings.delete(response)
    const others = (readers.get(reading.body) ?? 1) - 1
    if (others > 0) return void readers.set(reading.body, others)
    readers.delete(reading.body)
    bytes -= reading.size
  }

  const drop = (response: ServerResponse): void => {
    dropped += 1
    release(response)
    response.destroy()
  }

  /**
   * Whether a body fits. Makes room by ending the oldest response of the client with the most bytes, while it is slow or
   * that client has more than this one would have.
   */
  const hasRoom = (body: object, size: number, address: string): boolean => {
    if (readers.has(body)) return true
    while (bytes > 0 && bytes + size > maxBytes) {
      const held = new Map<string, number>()
      for (const reading of readings.values())
        held.set(reading.address, (held.get(reading.address) ?? 0) + reading.size)
      const most = Math.max(...held.values())
      const heaviest = [...readings].find(([, reading]) => held.get(reading.address) === most)
      if (heaviest === undefined) return true
      const [response, { startedAt }] = heaviest
      if (most <= (held.get(address) ?? 0) + size && now() - startedAt < slowMs) return false
      drop(response)
    }
    return true
  }

  return {
    /**
     * Counts a body from now until its response ends. Returns false when there is no room for it. A small body is not
     * counted.
     */
    admit(response: ServerResponse, body: string | Buffer, addressOf: () => string): boolean {
      const size = body.length
      if (size < SMALL_BYTES || response.destroyed) return true
      release(response)
      const address = addressOf()
      const key = typeof body === 'string' ? response : body
      if (!hasRoom(key, size, address)) return false
      const others = readers.get(key) ?? 0
      readers.set(key, others + 1)
      if (others === 0) bytes += size
      readings.set(response, { body: key, size, address, startedAt: now() })
      // Starts again with every part that the client takes. Node ends the time-out with the response.
      response.setTimeout(stalledMs, () => drop(response)).once('close', () => release(response))
      return true
    },
    counts: (): Counts => ({ bytes, dropped }),
  }
}

export type Unread = ReturnType<typeof createUnread>

/** Rejects a body for which there is no room with a 503. */
export const unreadBodies = fp<{ readonly unread: Unread; readonly refused: Refused }>(
  async (app, { unread, refused }) => {
    app.addHook('onSend', (request, reply, payload, done) => {
      const isBody = typeof payload === 'string' || Buffer.isBuffer(payload)
      if (!isBody || unread.admit(reply.raw, payload, () => addressOf(request))) return done(null, payload)
      refused.load += 1
      done(unavailable(MESSAGE, undefined, RETRY_AFTER_SECONDS))
    })
  },
)
