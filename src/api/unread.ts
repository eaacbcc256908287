import type { ServerResponse } from 'node:http'
import { type ServiceError, unavailable } from '../lib/errors.ts'
import { createTally } from '../lib/tally.ts'

/*
 * Large bodies that clients have not read yet. Each stays in memory until its client has it or leaves, so their sum is
 * bounded. They are bytes outside the heap: the heap has a limit of its own.
 */

/** Smaller bodies are not counted, in bytes or UTF-16 units: the number of connections bounds them. */
const LARGE_FROM = 65_536

/** Whether a body is counted. */
export const isLarge = ({ length }: string | Buffer): boolean => length >= LARGE_FROM

/** A response that takes longer than this may be ended to make room, in milliseconds. */
const SLOW_MS = 5_000

/** When a rejected client should try again, in seconds. */
const RETRY_AFTER_SECONDS = 2

/** The error of a request whose body has no room. */
export const noRoom = (): ServiceError =>
  unavailable(
    `too many large responses are not read yet: try again after ${RETRY_AFTER_SECONDS} s`,
    undefined,
    RETRY_AFTER_SECONDS,
  )

type Body = { readonly size: number; readonly address: string; readonly since: number }

/** Bounds the bodies that clients have not read yet to `maxBytes`, and those of one address to half of it. */
export const createUnread = (maxBytes: number, now = () => performance.now()) => {
  /** Oldest first. */
  const bodies = new Map<ServerResponse, Body>()
  const held = createTally<string>()
  let bytes = 0
  let dropped = 0

  const release = (response: ServerResponse): void => {
    const body = bodies.get(response)
    if (body === undefined) return
    bodies.delete(response)
    bytes -= body.size
    held.add(body.address, -body.size)
  }

  /** Ends slow responses of `isIncluded`, oldest first, until there is room. Returns whether there is. */
  const makeRoom = (hasRoom: () => boolean, isIncluded: (body: Body) => boolean): boolean => {
    for (const [response, body] of bodies) {
      if (hasRoom() || now() - body.since < SLOW_MS) break
      if (!isIncluded(body)) continue
      release(response)
      response.destroy()
      dropped += 1
    }
    return hasRoom()
  }

  /** Whether `size` fits next to `others`. Alone, a body of every size does. */
  const fits = (size: number, others: number, max: number): boolean => others === 0 || others + size <= max

  return {
    /** Counts a large body that a response is about to send. Returns false when there is no room for it. */
    add(response: ServerResponse, size: number, address: string): boolean {
      if (response.destroyed) return true
      const hasRoom =
        makeRoom(
          () => fits(size, held.of(address), maxBytes / 2),
          (body) => body.address === address,
        ) &&
        makeRoom(
          () => fits(size, bytes, maxBytes),
          () => true,
        )
      if (!hasRoom) return false
      bodies.set(response, { size, address, since: now() })
      bytes += size
      held.add(address, size)
      response.once('close', () => release(response))
      return true
    },

    /** The bytes of all counted bodies, and the number of responses that were ended to make room. */
    counts: () => ({ bytes, dropped }),
  }
}

export type Unread = ReturnType<typeof createUnread>
