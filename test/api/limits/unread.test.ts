import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { createUnread, isLarge, noRoom } from '../../../src/api/unread.ts'

const SIZE = 100

/** A response that sends a body, until its client has read it or leaves: it closes then. */
class Reader extends EventEmitter {
  destroyed = false
  destroy(): void {
    this.destroyed = true
    // Later, as a real response does.
    queueMicrotask(() => this.emit('close'))
  }
}

const open = (maxBytes: number) => {
  const clock = { ms: 0 }
  const unread = createUnread(maxBytes, () => clock.ms)
  /** Adds a body of an address. Returns its reader, or null when there is no room. */
  const add = (address: string, size = SIZE): Reader | null => {
    const reader = new Reader()
    return unread.add(reader as unknown as ServerResponse, size, address) ? reader : null
  }
  return { clock, unread, add, bytes: () => unread.counts().bytes }
}

test('bodies of 64 KiB or more are counted', () => {
  expect([isLarge(Buffer.alloc(65_536)), isLarge('a'.repeat(65_536))]).toEqual([true, true])
  expect([isLarge(Buffer.alloc(65_535)), isLarge('')]).toEqual([false, false])
})

test('a request without room may try again after two seconds', () => {
  const { code, message, retryAfter } = noRoom()
  expect([code, retryAfter]).toEqual(['service_unavailable', 2])
  expect(message).toBe('too many large responses are not read yet: try again after 2 s')
})

test('a body counts until its response ends', () => {
  const { add, unread } = open(10 * SIZE)
  const readers = [add('a'), add('a'), add('b', 50)]
  expect(unread.counts()).toEqual({ bytes: 250, dropped: 0 })
  readers[0]?.emit('close')
  readers[0]?.emit('close')
  expect(unread.counts()).toEqual({ bytes: 150, dropped: 0 })
  for (const reader of readers) reader?.emit('close')
  expect(unread.counts()).toEqual({ bytes: 0, dropped: 0 })
})

test('all bodies together take exactly the limit at most, and those of an address half of it', () => {
  const { add, bytes } = open(4 * SIZE)
  expect([add('a'), add('a', SIZE + 1), add('a')].map((it) => it !== null)).toEqual([true, false, true])
  expect(add('a', 1)).toBeNull()
  expect([add('b'), add('c', SIZE + 1), add('c')].map((it) => it !== null)).toEqual([true, false, true])
  expect([add('d', 1), bytes()]).toEqual([null, 4 * SIZE])
})

test('what an address has read no longer counts for it', () => {
  const { add } = open(4 * SIZE)
  const [first] = [add('a'), add('a')]
  expect(add('a')).toBeNull()
  first?.emit('close')
  expect(add('a')).not.toBeNull()
})

test('without any other body there is room for one of every size', () => {
  const { add, bytes } = open(SIZE)
  expect(add('a', 3 * SIZE)).not.toBeNull()
  expect([add('b', 1), bytes()]).toEqual([null, 3 * SIZE])
})

test('a response that takes exactly five seconds makes room, the oldest first, and no more of them than needed', () => {
  const { add, clock, unread } = open(3 * SIZE)
  const first = add('a')
  clock.ms = 1
  const second = add('b')
  clock.ms = 2
  const third = add('c')
  clock.ms = 4_999
  expect(add('d')).toBeNull()
  clock.ms = 5_000
  expect(add('d')).not.toBeNull()
  expect([first, second, third].map((it) => it?.destroyed)).toEqual([true, false, false])
  expect(unread.counts()).toEqual({ bytes: 3 * SIZE, dropped: 1 })
  clock.ms = 5_002
  expect(add('e', 2 * SIZE)).not.toBeNull()
  expect([second, third].map((it) => it?.destroyed)).toEqual([true, true])
  expect(unread.counts()).toEqual({ bytes: 3 * SIZE, dropped: 3 })
})

test('a response that was ended does not count a second time when its connection closes', async () => {
  const { add, clock, unread } = open(3 * SIZE)
  const readers = [add('a'), add('b'), add('c')]
  clock.ms = 5_000
  const closed = new Promise((resolve) => readers[0]?.once('close', resolve))
  expect(add('d')).not.toBeNull()
  await closed
  expect(unread.counts()).toEqual({ bytes: 3 * SIZE, dropped: 1 })
})

test('an address that has its half makes room among its own responses, and not among those of others', () => {
  const { add, clock, bytes } = open(8 * SIZE)
  const [other, own, newer] = [add('b'), add('a', 2 * SIZE), add('a')]
  clock.ms = 5_000
  expect(add('a', 2 * SIZE)).not.toBeNull()
  expect([other, own, newer].map((it) => it?.destroyed)).toEqual([false, true, false])
  expect(bytes()).toBe(4 * SIZE)
})

test('an address whose own responses are not slow ends none of others', () => {
  const { add, clock } = open(4 * SIZE)
  const others = [add('b'), add('c')]
  clock.ms = 5_000
  const own = [add('a'), add('a')]
  expect(own).not.toContain(null)
  expect(add('a')).toBeNull()
  expect(others.map((it) => it?.destroyed)).toEqual([false, false])
})

test('a client that has left takes no room', () => {
  const { unread, bytes } = open(SIZE)
  expect(unread.add({ destroyed: true } as ServerResponse, SIZE, 'a')).toBe(true)
  expect(bytes()).toBe(0)
})
