import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { LastIds } from '../../src/db/index/progress.ts'
import type { Database } from '../../src/db/pool.ts'
import { DuplicateRow, MissingRow } from '../../src/indexer/gaps.ts'
import { fetchRange } from '../../src/indexer/range.ts'
import { createRepair } from '../../src/indexer/repair.ts'
import { createFakeChain, type FakeChain } from '../support/fake-log-chain.ts'
import { openIndexDatabase, openWrites } from '../support/index-writes.ts'

/* Ranges whose node left logs out, over a chain in memory. Only positions are created. */

const none: LastIds = { event: null, deposit: null, position: null }
const READ = 'row read from the state: no node returns its log'

let index: Awaited<ReturnType<typeof openIndexDatabase>>
let database: Database
let fake: FakeChain
let repair: ReturnType<typeof createRepair>
let lines: { readonly msg: string; readonly level: number; readonly row: string }[]

beforeAll(async () => {
  index = await openIndexDatabase()
  database = index.database
})
afterAll(() => index?.close())
beforeEach(async () => {
  await index.empty()
  fake = createFakeChain()
  lines = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  repair = createRepair({ chain: fake.chain, database, log })
})

const ids = (from: number, upTo: number) => Array.from({ length: upTo - from + 1 }, (_, at) => from + at)
/** Hides the logs of some positions. */
const hide = (...hidden: readonly number[]): void => {
  const all = new Set(hidden)
  fake.state.hides = ({ topics }) => all.has(Number(topics[2]))
}
/** Completes the range of these blocks, or of all. Forgets what was sent for the range itself. */
const complete = async ({ last = none, from = 0n, upTo = fake.head().number } = {}) => {
  const range = await fetchRange(fake.chain, { from, upTo, head: fake.head() })
  fake.sent()
  return { range, facts: await repair.complete({ last, range, head: fake.head() }) }
}
const fail = async (times: number): Promise<void> => {
  for (let done = 0; done < times; done += 1) await expect(complete()).rejects.toBeInstanceOf(MissingRow)
}
const idsOf = (facts: readonly { readonly id: bigint }[]) => facts.map(({ id }) => Number(id))
/** The rows that were read from the state. */
const readRows = () => lines.flatMap(({ msg, row }) => (msg === READ ? row : []))
const sent = () => fake.sent().flat()

test('a range without a gap, after which nothing exists, is returned as it is', async () => {
  fake.create('position', 1, 2)
  const { facts, range } = await complete()
  expect(facts).toBe(range.facts)
  // Two ids of each other kind, the next position, and position 0.
  expect(sent()).toEqual(['6 at 1'])
  expect(repair.problem()).toBeNull()
})

test('a range that is known to be complete is not checked again', async () => {
  fake.create('position', 1)
  const head = fake.head()
  const range = { ...(await fetchRange(fake.chain, { from: 0n, upTo: head.number, head })), complete: true }
  fake.sent()
  expect(await repair.complete({ last: none, range, head })).toBe(range.facts)
  expect(sent()).toEqual([])
})

test('below the head, only a position 0 is looked for, at the head', async () => {
  fake.create('position', 1)
  const upTo = fake.head().number
  fake.put('position', 5n, {})
  fake.pass(2)
  expect(idsOf((await complete({ upTo })).facts)).toEqual([1])
  expect(sent()).toEqual(['1 at 3'])
  await complete({ last: { ...none, position: 0n }, upTo })
  expect(sent()).toEqual([])
})

describe('a gap before another row', () => {
  beforeEach(() => {
    for (const id of [1, 2, 3, 4, 5]) fake.create('position', id)
    hide(2, 3)
  })

  test('is requested again twice, then searched for, and its state is read on the sixth attempt', async () => {
    for (const [times, reason] of [
      ...[1, 2].map((time) => [time, 'its log was left out']),
      ...[3, 4, 5].map((time) => [time, 'no node returns its log']),
    ]) {
      await expect(complete()).rejects.toThrow(`position 2 is missing: ${reason}`)
      expect(repair.problem()).toBe(`position 2 is missing (attempt ${times})`)
      // Between the blocks of positions 1 and 4; nothing is read from the state.
      expect(sent().filter((it) => !it.startsWith('eth'))).toEqual(Number(times) < 3 ? [] : ['logs 1..4'])
    }
    expect(fake.faults()).toEqual(['0 left out: it left out the log of position 2'])
    const next = fake.block(4n)
    const { facts } = await complete()
    expect(idsOf(facts)).toEqual([1, 4, 5, 2, 3])
    expect(readRows()).toEqual(['position 2', 'position 3'])
    // At the head, up to the next row, by which they are dated.
    expect(sent()).toContain('2 at 5')
    for (const fact of facts.slice(3))
      expect(fact).toMatchObject({
        ...{ blockNumber: next.number, blockHash: next.hash, blockTimestamp: next.timestamp, txHash: null },
      })
    expect(repair.problem()).toBeNull()
  })

  test('is logged on the attempts 1, 2 and 4', async () => {
    await fail(5)
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
      [30, 'a row is missing'],
      [40, 'a row is missing'],
      [40, 'a row is missing'],
    ])
  })

  test('has its log as soon as a search finds it, and no state is read', async () => {
    await fail(2)
    let answers = 0
    fake.state.hides = ({ topics }) => Number(topics[2]) === 3 || (Number(topics[2]) === 2 && answers++ === 0)
    await expect(complete()).rejects.toThrow('position 3 is missing: no node returns its log')
    hide()
    const { facts, range } = await complete()
    expect(idsOf(facts)).toEqual([1, 2, 3, 4, 5])
    expect(facts).toBe(range.facts)
    expect(readRows()).toEqual([])
  })

  test('is counted from one again after a complete range', async () => {
    await fail(2)
    hide()
    await complete()
    hide(2)
    await fail(1)
    expect(repair.problem()).toBe('position 2 is missing (attempt 1)')
    expect(fake.faults()).toHaveLength(2)
  })

  test('is searched for from the block of the row before, which may be in the index', async () => {
    const { write } = await openWrites(database)
    const range = await fetchRange(fake.chain, { from: 0n, upTo: 1n, head: fake.head() })
    await write(fake.block(1n), { facts: range.facts })
    const last = { ...none, position: 1n }
    for (let times = 1; times <= 2; times += 1)
      await expect(complete({ last, from: 2n })).rejects.toBeInstanceOf(MissingRow)
    await expect(complete({ last, from: 2n })).rejects.toThrow('no node returns its log')
    expect(sent()[0]).toBe('logs 1..4')
  })
})

describe('a row after the last one of the range', () => {
  beforeEach(() => {
    for (const id of [1, 2, 3]) fake.create('position', id)
    hide(2, 3)
  })

  test('is read from the state at the block of the range, by which it is dated', async () => {
    await fail(5)
    const head = fake.head()
    const { facts } = await complete()
    expect(idsOf(facts)).toEqual([1, 2, 3])
    expect(readRows()).toEqual(['position 2', 'position 3'])
    expect(sent()).toContain('100 at 3')
    for (const fact of facts.slice(1))
      expect(fact).toMatchObject({
        ...{ blockNumber: head.number, blockHash: head.hash, blockTimestamp: head.timestamp, txHash: null },
      })
  })

  test('is searched for up to the end of the range', async () => {
    await fail(3)
    expect(sent().find((it) => it.startsWith('logs'))).toBe('logs 1..3')
  })
})

describe('the sizes of a repair', () => {
  // Position 1 has a log, and a number of positions after it do not.
  test.each([
    [99, ['100 at 2'], false],
    [100, ['100 at 2', '100 at 2'], true],
    [101, ['100 at 2', '100 at 2'], true],
  ])('of %i rows after the last one, 100 are read at a time', async (count, reads) => {
    fake.create('position', 1)
    fake.create('position', ...ids(2, count + 1))
    hide(...ids(2, count + 1))
    await fail(5)
    expect((await complete()).facts).toHaveLength(count + 1)
    expect(sent().filter((it) => it.startsWith('100'))).toEqual(count === 100 ? reads.slice(0, 1) : reads)
  })

  test.each([
    [100, ['100 at 3']],
    [101, ['100 at 3', '1 at 3']],
  ])('of %i rows before another one, 100 are read at a time', async (count, reads) => {
    fake.create('position', 1)
    fake.create('position', ...ids(2, count + 1))
    fake.create('position', count + 2)
    hide(...ids(2, count + 1))
    await fail(5)
    expect((await complete()).facts).toHaveLength(count + 2)
    expect(sent().filter((it) => / at 3$/.test(it) && !it.startsWith('6'))).toEqual(reads)
  })

  // The search begins at the block of position 1, with one block per request.
  test.each([
    [19, true],
    [20, false],
  ])('a log %i blocks after the row before: found by a search of 20 ranges: %j', async (blocks, isFound) => {
    fake.create('position', 1)
    fake.pass(blocks - 1)
    fake.create('position', 2)
    hide(2)
    await fail(2)
    const range = await fetchRange(fake.chain, { from: 0n, upTo: fake.head().number, head: fake.head() })
    hide()
    fake.state.width = 1n
    const completed = repair.complete({ last: none, range, head: fake.head() }).then(({ length }) => length)
    await (isFound ? expect(completed).resolves.toBe(2) : expect(completed).rejects.toBeInstanceOf(MissingRow))
  })
})

test('an endpoint that returns logs of rows which the index has already is penalized', async () => {
  fake.create('position', 1)
  await expect(complete({ last: { ...none, position: 1n } })).rejects.toBeInstanceOf(DuplicateRow)
  expect(fake.faults()).toEqual(['0 penalized: it returned logs of rows that the index already has'])
  expect(lines).toEqual([])
})
