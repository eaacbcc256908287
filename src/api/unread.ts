import type { ServerResponse } from 'node:http'

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

type Body = {
  readonly size: number
  /** The address of its first reader. */
  readonly address: string
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
  const held = new Map<string, number>()
  let bytes = 0
  let dropped = 0

  const count = (address: string, size: number): void => {
    bytes += size
    const rest = (held.get(address) ?? 0) + size
    if (rest > 0) held.set(address, rest)
    else held.delete(address)
  }

  const drop = (response: ServerResponse, release: () => void): void => {
    dropped += 1
    release()
    response.destroy()
  }

  /** Drops slow bodies, oldest first, until so many bytes are free. Drops none and returns false when they do not suffice. */
  const makeRoom = (needed: number, isIncluded: (body: Body) => boolean): boolean => {
    const slow: Body[] = []
    let free = 0
    for (const body of bodies.values()) {
      if (free >= needed || now() - body.newestAt < slowMs) break
      if (!isIncluded(body)) continue
      slow.push(body)
      free += body.size
    }
    if (free < needed) return false
    for (const { readers } of slow) for (const [response, release] of readers) drop(response, release)
    return true
  }

  /** Whether a body may be added. Drops slow bodies to make room. Without any other, every body may be added. */
  const hasRoom = (body: Buffer, address: string): boolean => {
    const size = body.length
    if (bodies.has(body)) return true
    const own = held.get(address) ?? 0
    const tooMany = own + size - maxBytes / 2
    if (own > 0 && tooMany > 0 && !makeRoom(tooMany, (it) => it.address === address)) return false
    const tooManyOfAll = bytes + size - maxBytes
    return bytes === 0 || tooManyOfAll <= 0 || makeRoom(tooManyOfAll, () => true)
  }

  /** Counts a body until its response ends, which it does at the latest when the time to read it is over. */
  const add = (response: ServerResponse, buffer: Buffer, address: string): void => {
    if (response.destroyed) return
    const size = buffer.length
    const body = bodies.get(buffer) ?? { size, address, readers: new Map(), newestAt: 0 }
    if (body.readers.size === 0) count(address, size)
    const release = (): void => {
      clearTimeout(timer)
      if (!body.readers.delete(response) || body.readers.size > 0) return
      bodies.delete(buffer)
      count(body.address, -size)
    }
    const timer = setTimeout(() => drop(response, release), readWithinMs + size * msPerByte).unref()
    body.readers.set(response, release)
    body.newestAt = now()
    bodies.delete(buffer)
    bodies.set(buffer, body)
    response.once('close', release)
  }

  return {
    add,

    /** As `add`, when there is room. Otherwise returns false. */
    addIfRoom(response: ServerResponse, body: Buffer, address: string): boolean {
      if (!hasRoom(body, address)) return false
      add(response, body, address)
      return true
    },

    /** The bytes of all counted bodies, and the number of responses that were ended because of a slow client. */
    counts: () => ({ bytes, dropped }),
  }
}

export type Unread = ReturnType<typeof createUnread>
