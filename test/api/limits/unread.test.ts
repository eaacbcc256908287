import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createUnread, isLarge, noRoom } from '../../../src/api/unread.ts'

const SIZE = 100

/** A response that sends a body, until its client has read it or leaves: it closes then. */
class Reader extends EventEmitter {
  destroyed = false
  destroy(): void {
    if (this.destroyed) return
    this.destroyed = true
    // Later, as a real response does.
    queueMicrotask(() => this.emit('close'))
  }
}

const open = (maxBytes: number, options: Parameters<typeof createUnread>[1] = {}) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const clock = { ms: 0 }
  const unread = createUnread(maxBytes, { slowMs: 5_000, now: () => clock.ms, ...options })
  /** Adds a body of an address. Returns its reader, or null when there is no room. */
  const add = (address: string, body: Buffer | number = SIZE): Reader | null => {
    const reader = new Reader()
    const bytes = typeof body === 'number' ? Buffer.alloc(body) : body
    return unread.add(reader as unknown as ServerResponse, bytes, address) ? reader : null
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

test('a body that is slow for exactly long enough makes room, the oldest first, and no more of them than needed', () => {
  const { add, clock, unread } = open(3 * SIZE)
  const first = add('a')
  clock.ms = 1
  const second = add('b')
  clock.ms = 2
  const third = add('c')
  clock.ms = 4_999
  expect(add('d')).toBeNull()
  clock.ms = 5_001
  expect(add('d')).not.toBeNull()
  expect([first, second, third].map((it) => it?.destroyed)).toEqual([true, false, false])
  expect(unread.counts()).toEqual({ bytes: 3 * SIZE, dropped: 1 })
  clock.ms = 5_002
  expect(add('e', 2 * SIZE)).not.toBeNull()
  expect([second, third].map((it) => it?.destroyed)).toEqual([true, true])
  expect(unread.counts()).toEqual({ bytes: 3 * SIZE, dropped: 3 })
})

test('a body that was dropped does not count a second time when its connection closes', async () => {
  const { add, clock, unread } = open(3 * SIZE)
  const readers = [add('a'), add('b'), add('c')]
  clock.ms = 5_000
  const closed = new Promise((resolve) => readers[0]?.once('close', resolve))
  expect(add('d')).not.toBeNull()
  await closed
  expect(unread.counts()).toEqual({ bytes: 3 * SIZE, dropped: 1 })
})

test('nothing is dropped when all slow bodies together do not make enough room', () => {
  const { add, clock, unread } = open(3 * SIZE)
  const readers = [add('a')]
  clock.ms = 5_000
  readers.push(add('b'), add('c'))
  expect(add('d', 2 * SIZE)).toBeNull()
  expect(readers.map((it) => it?.destroyed)).toEqual([false, false, false])
  expect(unread.counts()).toEqual({ bytes: 3 * SIZE, dropped: 0 })
})

test('an address makes room among its own slow bodies first, and nothing is dropped when these do not suffice', () => {
  const { add, clock } = open(8 * SIZE)
  const [other, own, newer] = [add('b'), add('a', 2 * SIZE), add('a')]
  clock.ms = 5_000
  expect(add('a', 2 * SIZE)).not.toBeNull()
  expect([other, own, newer].map((it) => it?.destroyed)).toEqual([false, true, false])
  expect(add('a', 4 * SIZE)).toBeNull()
  expect(newer?.destroyed).toBe(false)
})

test('what an address frees counts for the room of all', () => {
  const { add, clock, bytes } = open(4 * SIZE)
  const [own, other] = [add('a', 2 * SIZE), add('b', 2 * SIZE)]
  clock.ms = 5_000
  expect(add('a', 2 * SIZE)).not.toBeNull()
  expect([own?.destroyed, other?.destroyed, bytes()]).toEqual([true, false, 4 * SIZE])
})

test('what an address frees does not count twice: others make the rest of the room', () => {
  const { add, clock, bytes } = open(8 * SIZE)
  const [own, other, third] = [add('a', 2 * SIZE), add('b', 3 * SIZE), add('c', 3 * SIZE)]
  clock.ms = 5_000
  expect(add('a', 4 * SIZE)).not.toBeNull()
  expect([own, other, third].map((it) => it?.destroyed)).toEqual([true, true, false])
  expect(bytes()).toBe(7 * SIZE)
})

test('a body that several responses send counts once, until the last of them ends', () => {
  const { add, bytes, unread } = open(SIZE)
  const body = Buffer.alloc(SIZE)
  const [first, second] = [add('a', body), add('b', body)]
  expect(bytes()).toBe(SIZE)
  first?.emit('close')
  expect([bytes(), add('c')]).toEqual([SIZE, null])
  second?.emit('close')
  expect(unread.counts()).toEqual({ bytes: 0, dropped: 0 })
})

test('a body that two addresses read counts for none of them, also when one of them leaves', () => {
  const { add, clock } = open(4 * SIZE)
  const body = Buffer.alloc(2 * SIZE)
  const first = add('a', body)
  expect(add('a')).toBeNull()
  const second = add('b', body)
  const own = add('a')
  expect([own !== null, add('b') !== null]).toEqual([true, true])
  first?.emit('close')
  second?.emit('close')
  expect(add('a')).not.toBeNull()
  clock.ms = 5_000
  // Both bodies are its own, and one of them makes room.
  expect(add('a')).not.toBeNull()
  expect(own?.destroyed).toBe(true)
})

test('a body that one address reads twice stays its own', () => {
  const { add } = open(4 * SIZE)
  const body = Buffer.alloc(2 * SIZE)
  add('a', body)
  const again = add('a', body)
  expect(add('a')).toBeNull()
  again?.emit('close')
  expect(add('a')).toBeNull()
})

test('a body is as slow as its newest reader, and all of its readers are dropped', () => {
  const { add, clock, unread } = open(2 * SIZE)
  const body = Buffer.alloc(SIZE)
  const first = add('a', body)
  clock.ms = 1
  const other = add('b')
  clock.ms = 4_000
  const second = add('c', body)
  clock.ms = 5_001
  expect(add('d')).not.toBeNull()
  expect([first, other, second].map((it) => it?.destroyed)).toEqual([false, true, false])
  clock.ms = 9_000
  expect(add('e')).not.toBeNull()
  expect([first, second].map((it) => it?.destroyed)).toEqual([true, true])
  expect(unread.counts()).toEqual({ bytes: 2 * SIZE, dropped: 3 })
})

test('a client that has not read a body in time is disconnected: longer for a longer body', () => {
  const { add, unread } = open(10 * SIZE, { readWithinMs: 1_000, msPerByte: 2 })
  const [short, long, quick] = [add('a', 100), add('b', 200), add('c', 100)]
  quick?.emit('close')
  vi.advanceTimersByTime(1_199)
  expect(short?.destroyed).toBe(false)
  vi.advanceTimersByTime(1)
  expect([short?.destroyed, long?.destroyed]).toEqual([true, false])
  vi.advanceTimersByTime(200)
  expect([long?.destroyed, quick?.destroyed]).toEqual([true, false])
  expect(unread.counts()).toEqual({ bytes: 0, dropped: 2 })
})

test('by default a client has 30 s for a body, and a second more for each 16 KiB', () => {
  const { add } = open(10 * 65_536, {})
  const reader = add('a', 65_536)
  vi.advanceTimersByTime(33_999)
  expect(reader?.destroyed).toBe(false)
  vi.advanceTimersByTime(1)
  expect(reader?.destroyed).toBe(true)
})

test('a client that has left takes no room', () => {
  const { unread, bytes } = open(SIZE)
  expect(unread.add({ destroyed: true } as ServerResponse, Buffer.alloc(SIZE), 'a')).toBe(true)
  expect(bytes()).toBe(0)
})
