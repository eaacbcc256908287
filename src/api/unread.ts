import type { ServerResponse } from 'node:http'
import { type ServiceError, unavailable } from '../lib/errors.ts'
import { createTally } from '../lib/tally.ts'

/*
 * Bodies that clients have not read yet. Each stays in memory until its last reader has it or leaves, so their sum is
 * bounded, and a client has limited time to read one. They are bytes outside the heap: the heap has a limit of its own.
 */

/** Smaller bodies are not counted, in bytes or UTF-16 units: the number of connections bounds them. */
const LARGE_FROM = 65_536

/** Whether a body is counted. */
export const isLarge = ({ length }: string | Buffer): boolean => length >= LARGE_FROM

/** The time to read a body, in milliseconds, and how much more for each byte: a second for 16 KiB. */
const READ_WITHIN_MS = 30_000
const MS_PER_BYTE = 1_000 / 16_384

/** A body whose newest reader has taken longer than this may be dropped to make room, in milliseconds. */
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

type Body = {
  readonly size: number
  /** The address that it counts for; null once several read it. */
  address: string | null
  /** The responses that send it, and what ends the count of each. Responses from the cache share a body. */
  readonly readers: Map<ServerResponse, () => void>
  /** When the newest reader began, as `now`. */
  newestAt: number
}

/** Bounds the bodies that clients have not read yet to `maxBytes`, and those of one address to half of it. */
export const createUnread = (
  maxBytes: number,
  { readWithinMs = READ_WITHIN_MS, msPerByte = MS_PER_BYTE, slowMs = SLOW_MS, now = () => performance.now() } = {},
) => {
  /** Ordered by `newestAt`, oldest first. */
  const bodies = new Map<Buffer, Body>()
  const held = createTally<string>()
  let bytes = 0
  let dropped = 0

  const charge = (address: string | null, size: number): void => {
    if (address !== null) held.add(address, size)
  }

  const drop = (response: ServerResponse, release: () => void): void => {
    dropped += 1
    release()
    response.destroy()
  }

  /** The oldest slow bodies with so many bytes together; null when all slow ones do not suffice. */
  const slowest = (needed: number, isIncluded: (body: Body) => boolean): ReadonlySet<Body> | null => {
    const slow = new Set<Body>()
    let missing = needed
    for (const body of bodies.values()) {
      if (missing <= 0 || now() - body.newestAt < slowMs) break
      if (!isIncluded(body)) continue
      slow.add(body)
      missing -= body.size
    }
    return missing > 0 ? null : slow
  }

  /** Whether there is room for a body. Drops slow bodies to make it. Without any other, there is room for every body. */
  const hasRoom = (size: number, address: string): boolean => {
    const own = held.of(address)
    const ofAddress = slowest(own > 0 ? own + size - maxBytes / 2 : 0, (it) => it.address === address)
    if (ofAddress === null) return false
    const freed = [...ofAddress].reduce((sum, it) => sum + it.size, 0)
    const others = slowest(bytes > 0 ? bytes - freed + size - maxBytes : 0, (it) => !ofAddress.has(it))
    if (others === null) return false
    for (const { readers } of [...ofAddress, ...others])
      for (const [response, release] of readers) drop(response, release)
    return true
  }

  /** Counts a body until its response ends, which it does at the latest when the time to read it is over. */
  const count = (response: ServerResponse, buffer: Buffer, address: string): void => {
    const size = buffer.length
    const body = bodies.get(buffer) ?? { size, address, readers: new Map(), newestAt: 0 }
    if (body.readers.size === 0) {
      bytes += size
      charge(address, size)
    } else if (body.address !== address) {
      charge(body.address, -size)
      body.address = null
    }
    const release = (): void => {
      clearTimeout(timer)
      if (!body.readers.delete(response) || body.readers.size > 0) return
      bodies.delete(buffer)
      bytes -= size
      charge(body.address, -size)
    }
    const timer = setTimeout(() => drop(response, release), readWithinMs + size * msPerByte).unref()
    body.readers.set(response, release)
    body.newestAt = now()
    bodies.delete(buffer)
    bodies.set(buffer, body)
    response.once('close', release)
  }

  return {
    /** Counts a large body that a response is about to send. Returns false when there is no room for it. */
    add(response: ServerResponse, body: Buffer, address: string): boolean {
      if (response.destroyed) return true
      if (!bodies.has(body) && !hasRoom(body.length, address)) return false
      count(response, body, address)
      return true
    },

    /** The bytes of all counted bodies, and the number of responses that were ended because of a slow client. */
    counts: () => ({ bytes, dropped }),
  }
}

export type Unread = ReturnType<typeof createUnread>
