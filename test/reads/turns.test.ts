import { expect, test } from 'vitest'
import { createReadTurns } from '../../src/reads/turns.ts'

const clientAt = (address: string) => ({ address, disconnected: new AbortController().signal })
const greedy = () => clientAt('198.51.100.1')
const other = clientAt('198.51.100.2')

/** Reads that run until `end`, with the number of them that run. */
const createReads = () => {
  const ends: (() => void)[] = []
  const read = (): Promise<void> => new Promise((resolve) => ends.push(resolve))
  return { read, running: () => ends.length, end: () => ends.splice(0).map((end) => end()) }
}

test('an address with 40 reads of each kind leaves connections to pages and to long reads of another address', async () => {
  const turns = createReadTurns(10)
  const reads = createReads()
  const all = Array.from({ length: 40 }, () => [
    turns.page(greedy(), reads.read),
    turns.long(greedy(), reads.read),
  ]).flat()
  expect(reads.running()).toBe(4 + 1)
  expect(await Promise.all([turns.page(other, async () => 'page'), turns.long(other, async () => 'long')])).toEqual([
    'page',
    'long',
  ])
  while (reads.running() > 0) {
    reads.end()
    await new Promise(setImmediate)
  }
  await Promise.all(all)
})

test('long reads and pages together use no more than the connections', () => {
  const turns = createReadTurns(10)
  const reads = createReads()
  for (const nth of Array(40).keys()) {
    void turns.page(clientAt(`198.51.100.${nth}`), reads.read)
    void turns.long(clientAt(`198.51.100.${nth}`), reads.read)
  }
  expect(reads.running()).toBe(10)
})

test('a single connection serves a page and a long read', async () => {
  const turns = createReadTurns(1)
  expect(await Promise.all([turns.page(other, async () => 'page'), turns.long(other, async () => 'long')])).toEqual([
    'page',
    'long',
  ])
})

test('a read whose client left before its turn does not begin', async () => {
  const turns = createReadTurns(1)
  const reads = createReads()
  const first = turns.page(greedy(), reads.read)
  const leaving = new AbortController()
  const second = turns.page({ address: other.address, disconnected: leaving.signal }, reads.read)
  leaving.abort(new Error('the client left'))
  await expect(second).rejects.toThrow('the client left')
  reads.end()
  await first
  expect(reads.running()).toBe(0)
})

test('as many reads of each kind wait as may, and one more is refused', async () => {
  const turns = createReadTurns(1)
  const reads = createReads()
  for (const kind of ['page', 'long'] as const) {
    const waiting = Array.from({ length: 512 + (kind === 'page' ? 1 : 2) }, (_, nth) =>
      turns[kind](clientAt(`198.51.${nth % 256}.${nth >> 8}`), reads.read),
    )
    await expect(turns[kind](other, reads.read)).rejects.toThrow('too many reads at once: retry after 1 s')
    while (reads.running() > 0) {
      reads.end()
      await new Promise(setImmediate)
    }
    await Promise.all(waiting)
  }
})
