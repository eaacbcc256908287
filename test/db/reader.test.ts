import { DatabaseError } from 'pg'
import { pino } from 'pino'
import { beforeEach, expect, test, vi } from 'vitest'
import { newestChange } from '../../src/db/changes/changes.ts'
import { createReader } from '../../src/db/changes/reader.ts'
import type { Reader } from '../../src/db/pool.ts'
import { unavailable } from '../../src/lib/errors.ts'
import { eventually } from '../support/process.ts'

/** More reads of the state than any test needs: a reader that does not pause between them reaches this at once. */
const MOST_STATES = 20_000

/** A database with a state, that can be out of reach or slow. */
const fakeDatabase = (name: string) => {
  const fake = {
    change: 0,
    /** What a read throws; null when it works. */
    fault: null as Error | null,
    /** Resolves before a read answers. */
    before: Promise.resolve() as Promise<unknown>,
    /** The same for reads of the state. */
    beforeState: Promise.resolve() as Promise<unknown>,
    states: 0,
    reads: 0,
  }
  const answer = async <T>(before: Promise<unknown>, value: () => T): Promise<T> => {
    await before
    if (fake.fault !== null) throw fake.fault
    return value()
  }
  const reader: { -readonly [K in keyof Reader]: Reader[K] } = {
    run: async <T>(query: unknown) => {
      if (query !== newestChange) {
        fake.reads += 1
        return answer(fake.before, () => name as T)
      }
      fake.states += 1
      if (fake.states > MOST_STATES) throw new Error('the state is read without a pause')
      return answer(fake.beforeState, () => fake.change as T)
    },
    rows: async () => {
      fake.reads += 1
      return answer(fake.before, () => [[name]])
    },
  }
  return Object.assign(fake, { reader })
}

let copy: ReturnType<typeof fakeDatabase>
let origin: ReturnType<typeof fakeDatabase>
let lines: string[]
beforeEach(() => {
  copy = fakeDatabase('copy')
  origin = fakeDatabase('origin')
  lines = []
})

const down = () => unavailable('the database is out of reach')
const create = (returnAfterMs = 0, catchUpWithinMs = 60_000): ReturnType<typeof createReader> => {
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line).msg) })
  return createReader({ copy: copy.reader, origin: origin.reader, log, returnAfterMs, catchUpWithinMs })
}
const source = (reader: Reader): Promise<string> => reader.run(async () => '')
const isUsed = (reader: Reader) =>
  eventually('the replica is used', async () => (await source(reader)) === 'copy', 5_000, 1)
/** Lets everything that waits for nothing run. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 5))
const held = () => {
  let release = (): void => {}
  const until = new Promise<void>((resolve) => {
    release = resolve
  })
  return { until, release }
}

test('reads use the replica, both single statements and queries, and never the primary', async () => {
  const reader = create()
  expect(await source(reader)).toBe('copy')
  expect(await reader.rows({ text: 'SELECT 1', values: [] })).toEqual([['copy']])
  expect([copy.reads, origin.reads, copy.states, origin.states]).toEqual([2, 0, 0, 0])
})

test('a replica that is out of reach, or cancels a read for its recovery, is replaced by the primary', async () => {
  const conflict = Object.assign(new DatabaseError('canceling statement', 1, 'error'), { code: '40001' })
  for (const fault of [down(), conflict]) {
    const reader = create(60_000)
    copy.fault = fault
    expect([await source(reader), await reader.rows({ text: 'SELECT 1', values: [] })]).toEqual([
      'origin',
      [['origin']],
    ])
    // While it is replaced, no read asks it.
    expect(copy.reads).toBe(1)
    copy.reads = 0
  }
  expect(lines).toEqual(['the database replica is out of reach', 'the database replica is out of reach'])
})

test.each([
  ['a rejected statement', Object.assign(new DatabaseError('division by zero', 1, 'error'), { code: '22012' })],
  ['a fault of the program', new TypeError('no')],
])('%s is thrown, and the replica stays in use', async (_, fault) => {
  const reader = create()
  copy.fault = fault
  await expect(source(reader)).rejects.toBe(fault)
  copy.fault = null
  expect(await source(reader)).toBe('copy')
  expect([origin.reads, lines]).toEqual([0, []])
})

test('the fault of the primary is thrown when both are out of reach', async () => {
  const reader = create()
  ;[copy.fault, origin.fault] = [down(), down()]
  await expect(source(reader)).rejects.toBe(origin.fault)
})

test('the replica is tried again only after the pause, and each attempt begins another one', async () => {
  const reader = create(60_000)
  copy.fault = down()
  await source(reader)
  copy.fault = null
  for (let at = 0; at < 3; at += 1) expect(await source(reader)).toBe('origin')
  await settle()
  expect(copy.states).toBe(0)
  const eager = create()
  copy.fault = down()
  await source(eager)
  await settle()
  await source(eager)
  await settle()
  const first = copy.states
  expect(first).toBeGreaterThan(0)
  await source(eager)
  await settle()
  expect(copy.states).toBe(first + 1)
  copy.fault = null
  await isUsed(eager)
})

test('a failed attempt begins another pause', async () => {
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  try {
    const reader = create(1_000)
    copy.fault = down()
    await source(reader)
    const attemptsAt = async (time: number): Promise<number> => {
      now = time
      await source(reader)
      await settle()
      return copy.states
    }
    expect([
      await attemptsAt(1_000),
      await attemptsAt(1_001),
      await attemptsAt(2_001),
      await attemptsAt(2_002),
    ]).toEqual([...[0, 1, 1, 2]])
  } finally {
    clock.mockRestore()
  }
})

test('the pause doubles with each time that reads waited in vain, up to twelve pauses', async () => {
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  const slow = held()
  try {
    const reader = create(1_000, 1)
    copy.fault = down()
    // A read of the primary that does not end: the replica never has what it will return.
    origin.before = slow.until
    const waiting = source(reader)
    await settle()
    Object.assign(copy, { fault: null, change: 9 })
    origin.before = Promise.resolve()
    const pauses: number[] = []
    for (let before = copy.states, since = 0; pauses.length < 6; now += 250) {
      await source(reader)
      await settle()
      if (copy.states === before) continue
      pauses.push(now - since)
      before = copy.states
      since = now
    }
    expect(pauses).toEqual([1_250, 2_250, 4_250, 8_250, 12_250, 12_250])
    slow.release()
    await waiting
  } finally {
    clock.mockRestore()
  }
})

test.each([
  ['an older change', 4, false],
  ['the same change', 5, true],
  ['a newer change', 6, true],
])('a replica with %s (%i) than was read from the primary is used: %s', async (_, change, used) => {
  const reader = create()
  origin.change = 5
  copy.fault = down()
  expect(await source(reader)).toBe('origin')
  Object.assign(copy, { fault: null, change })
  await settle()
  await source(reader)
  await eventually('the replica was checked', () => copy.states > 0)
  await settle()
  expect([await source(reader), reader.isReplicaUsed()]).toEqual([used ? 'copy' : 'origin', used])
  expect(lines.includes('the database replica is used again')).toBe(used)
  Object.assign(copy, { change: 9 })
  await isUsed(reader)
})

test('a replica that is always a moment behind is used again, however often something changes', async () => {
  const reader = create(0, 2_000)
  copy.fault = down()
  await source(reader)
  copy.fault = null
  const run = { copy: copy.reader.run, origin: origin.reader.run }
  // Something changes before each read of the primary, and the replica has it after its next answer.
  origin.reader.run = (query) => {
    origin.change += 1
    return run.origin(query)
  }
  copy.reader.run = async (query) => {
    const answer = await run.copy(query)
    copy.change = origin.change
    return answer
  }
  await isUsed(reader)
})

test('an empty database has the state of nothing, and a replica is used again if the primary was not read since', async () => {
  const reader = create()
  ;[copy.fault, origin.fault] = [down(), down()]
  await source(reader).catch(() => {})
  await settle()
  // The primary has more, and no read of it succeeded.
  Object.assign(copy, { fault: null, change: 0 })
  Object.assign(origin, { change: 9 })
  await source(reader).catch(() => {})
  await settle()
  await isUsed(reader)
  expect(origin.states).toBe(0)
})

test('a second outage begins without what was read in the first one', async () => {
  const reader = create()
  copy.fault = down()
  await source(reader)
  copy.fault = null
  await isUsed(reader)
  const asked = origin.states
  ;[copy.fault, origin.fault] = [down(), down()]
  await source(reader).catch(() => {})
  await settle()
  copy.fault = null
  await source(reader).catch(() => {})
  await settle()
  await isUsed(reader)
  expect(origin.states).toBe(asked)
})

/** Begins a read of a database that answers once it is released. */
const beginSlow = async (reader: Reader, database: ReturnType<typeof fakeDatabase>) => {
  const { until, release } = held()
  const { reads } = database
  database.before = until
  const result = source(reader)
  await eventually('the read has begun', () => database.reads > reads, 5_000, 1)
  database.before = Promise.resolve()
  return { result, release }
}

/** A reader whose replica has returned, but waits for a read of the primary. */
const catchingUp = async (reader: Reader) => {
  copy.fault = down()
  await source(reader)
  const pending = await beginSlow(reader, origin)
  await settle()
  copy.fault = null
  const { states } = copy
  expect(await source(reader)).toBe('origin')
  await eventually('the replica is checked', () => copy.states > states, 5_000, 1)
  await settle()
  return pending
}

test('the replica returns only after pending reads of the primary, whose results it then has', async () => {
  const reader = create()
  const pending = await catchingUp(reader)
  // The read of the primary sees more than was checked before.
  Object.assign(origin, { change: 7 })
  let isOver = false
  const next = source(reader).finally(() => {
    isOver = true
  })
  await settle()
  expect([isOver, lines]).toEqual([false, ['the database replica is out of reach']])
  pending.release()
  expect(await pending.result).toBe('origin')
  await settle()
  expect(isOver).toBe(false)
  Object.assign(copy, { change: 7 })
  expect(await next).toBe('copy')
  expect(lines.at(-1)).toBe('the database replica is used again')
})

test.each(['pending reads', 'the state of the primary', 'the state of the replica'])(
  'reads do not wait longer than allowed for a replica that waits for %s',
  async (what) => {
    const reader = create(0, 30)
    const pending = await catchingUp(reader)
    const slow = held()
    if (what === 'the state of the primary') origin.beforeState = slow.until
    if (what === 'the state of the replica') copy.beforeState = slow.until
    if (what !== 'pending reads') pending.release()
    expect(await source(reader)).toBe('origin')
    expect(lines).toEqual(['the database replica is out of reach'])
    pending.release()
    slow.release()
    origin.beforeState = Promise.resolve()
    copy.beforeState = Promise.resolve()
    expect(await pending.result).toBe('origin')
    await isUsed(reader)
  },
)

test('reads go on with the primary when the replica fails while it catches up', async () => {
  const reader = create()
  const pending = await catchingUp(reader)
  const next = source(reader)
  copy.fault = down()
  pending.release()
  expect(await next).toBe('origin')
  copy.fault = null
  await isUsed(reader)
})

test('only one attempt runs at a time', async () => {
  const reader = create()
  const slow = held()
  copy.fault = down()
  await source(reader)
  await settle()
  copy.beforeState = slow.until
  for (let at = 0; at < 5; at += 1) await source(reader)
  expect(copy.states).toBe(1)
  copy.fault = null
  slow.release()
  await isUsed(reader)
})

test('a read that fails on the replica while that catches up is repeated there', async () => {
  const reader = create()
  const late = await beginSlow(reader, copy)
  const pending = await catchingUp(reader)
  const { reads } = origin
  copy.fault = down()
  late.release()
  await settle()
  copy.fault = null
  pending.release()
  expect(await late.result).toBe('copy')
  expect([origin.reads, lines.length]).toEqual([reads, 2])
})

test('concurrent reads that fail report one outage', async () => {
  const reader = create(60_000)
  copy.fault = down()
  expect(await Promise.all([source(reader), source(reader), source(reader)])).toEqual(['origin', 'origin', 'origin'])
  expect(lines).toEqual(['the database replica is out of reach'])
})
