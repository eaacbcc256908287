import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { changesAfter, newestChange } from '../../src/db/changes/changes.ts'
import type { Lease } from '../../src/db/index/work/lease.ts'
import { readProgress } from '../../src/db/index/work/progress.ts'
import type { Database } from '../../src/db/pool.ts'
import { recordCall } from '../../src/indexer/reading/existence.ts'
import { createStep, type StepDeps } from '../../src/indexer/step.ts'
import { createFakeChain, type FakeChain } from '../support/fake-log-chain.ts'
import { CHAIN, leaseOf, openIndexDatabase, rowsOf } from '../support/index-writes.ts'
import { addEndpoint, denial } from '../support/second-endpoint.ts'

/* The follower's steps without logs, over a chain in memory: entities are read by their ids. */

let index: Awaited<ReturnType<typeof openIndexDatabase>>
let database: Database
let lease: Lease
let fake: FakeChain
let clock: { now: number }

beforeAll(async () => {
  index = await openIndexDatabase()
  database = index.database
})
afterAll(() => index?.close())
beforeEach(async () => {
  await index.empty()
  lease = await leaseOf(database)
  fake = createFakeChain()
  fake.state.hasLogs = false
  clock = { now: 50_000 }
})

const open = (options: Partial<StepDeps> = { readBatches: { first: 2, max: 4, factor: 2 } }) => {
  const log = pino({ level: 'silent' })
  const step = createStep({ chain: fake.chain, database, leaseTtlMs: 60_000, log, now: () => clock.now, ...options })
  return () => step(lease)
}
const progress = () => readProgress(database, CHAIN)
const ids = (from: number, upTo: number) => Array.from({ length: upTo - from + 1 }, (_, at) => from + at)
/** Takes the requests for the protocol out of the queue and returns their number. */
const protocolRequests = async () =>
  (await rowsOf(database, "DELETE FROM refresh_queue WHERE subject = 'chain' RETURNING id")).length

test('batches grow by a factor up to the greatest, and the index is proved when no further id exists', async () => {
  fake.create('position', ...ids(1, 20))
  const step = open()
  const read: (bigint | null)[] = []
  for (let proven: unknown = null; proven === null; ) {
    const result = await step()
    proven = result.proven
    const left = proven === null ? 'work' : 'nothing'
    expect(result).toMatchObject({ left, isWritten: true, source: 'ids', proven: proven === null ? null : fake.head() })
    read.push((await progress()).last.position)
    expect((await progress()).cursor).toEqual(proven)
  }
  // From id 0, which does not exist: 2, 4, 4, …
  expect(read).toEqual([1n, 5n, 9n, 13n, 17n, 20n])
  expect(await rowsOf(database, 'SELECT fees_number FROM cursors')).toEqual([{ fees_number: null }])
  // Once complete, the next batch is small again.
  fake.create('position', ...ids(21, 25))
  await step()
  while ((await progress()).last.position === 20n) await step()
  expect((await progress()).last.position).toBe(22n)
})

test('by default the first batch has 8 ids of each kind', async () => {
  fake.create('position', ...ids(1, 9))
  const step = open({})
  await step()
  expect(await progress()).toMatchObject({ cursor: null, last: { position: 7n } })
  await step()
  expect(await progress()).toMatchObject({ cursor: fake.head(), last: { position: 9n } })
})

test('what is above the cursor is continued by ids, even when a node serves logs again', async () => {
  fake.create('position', ...ids(1, 9))
  const step = open()
  expect((await step()).source).toBe('ids')
  fake.state.hasLogs = true
  expect((await step()).source).toBe('ids')
  while ((await step()).proven === null);
  expect(await step()).toMatchObject({ source: 'logs', left: 'nothing', isWritten: false })
})

describe('a chain whose nodes refuse logs from now on', () => {
  const refusal = new Error('no node serves logs')
  let areServed: boolean
  beforeEach(() => {
    fake.state.hasLogs = true
    areServed = false
  })
  /** Refuses logs, to this caller only while others are served. */
  const refuse = () => {
    const logs = async () => {
      fake.state.hasLogs = areServed
      throw refusal
    }
    Object.assign(fake.chain, { logs })
  }

  test('is continued by ids in the same step', async () => {
    areServed = true
    refuse()
    fake.create('position', ...ids(1, 3))
    const step = open()
    await expect(step()).rejects.toBe(refusal)
    areServed = false
    expect(await step()).toMatchObject({ source: 'ids', left: 'work', isWritten: true })
    expect((await progress()).last.position).toBe(1n)
  })

  test('is read by ids only if it still has the anchor', async () => {
    fake.create('position', 1)
    const step = open({ widthMargin: 1_000_000n })
    while ((await step()).proven === null);
    await step()
    fake.reorg(0n)
    fake.create('position', ...ids(1, 3))
    fake.pass(5)
    refuse()
    // Within the second after which an index with logs compares its anchor again.
    expect(await step()).toMatchObject({ source: 'ids', left: 'a decision', isWritten: false })
    expect(await step()).toMatchObject({ source: 'ids', left: 'work', isWritten: true })
    expect(await progress()).toMatchObject({ anchor: null, last: { position: null } })
  })

  test('is read by ids from where the index is then', async () => {
    fake.create('position', ...ids(1, 6))
    const [step, earlier] = [open(), open()]
    const logs = async () => {
      fake.state.hasLogs = false
      await earlier()
      throw refusal
    }
    Object.assign(fake.chain, { logs })
    expect(await step()).toMatchObject({ source: 'ids', isWritten: true })
    expect((await progress()).last.position).toBe(3n)
  })

  test('is read by ids although its next range was requested before, and failed', async () => {
    fake.state.width = 10n
    fake.pass(44)
    const step = open()
    expect(await step()).toMatchObject({ source: 'logs', left: 'work' })
    fake.state.hasLogs = false
    expect(await step()).toMatchObject({ source: 'ids', proven: fake.head() })
  })

  test('is read by ids once in a step', async () => {
    fake.state.hasLogs = false
    const fault = new Error('the node is down')
    const poll = vi.fn(() => Promise.reject(fault))
    Object.assign(fake.chain, { poll })
    await expect(open()()).rejects.toBe(fault)
    expect(poll).toHaveBeenCalledOnce()
  })
})

test('records of which two endpoints disagree are not written, and the problem is named', async () => {
  let denies = true
  addEndpoint(fake, () => (denies ? denial : null))
  fake.create('event', 1)
  fake.create('position', ...ids(1, 5))
  const step = open()
  expect(await step()).toMatchObject({ problem: 'nodes disagree about event 1', isWritten: false, proven: null })
  expect((await progress()).last).toEqual({ event: null, deposit: null, position: null })
  denies = false
  expect(await step()).toMatchObject({ problem: null, isWritten: true })
  expect((await progress()).last).toEqual({ event: 1n, deposit: null, position: 1n })
})

test('batches shrink while nodes disagree about their last row, so that the rows before it are written', async () => {
  const { data } = recordCall({ kind: 'position', id: 8n })
  addEndpoint(fake, (batch) => (JSON.stringify(batch).includes(data) ? denial : null))
  fake.create('position', ...ids(1, 8))
  const step = open({ readBatches: { first: 6, max: 24, factor: 4 } })
  const written: (bigint | null)[] = []
  for (let at = 0; at < 6; at += 1) {
    const { isWritten } = await step()
    written.push(isWritten ? (await progress()).last.position : null)
  }
  expect(written).toEqual([5n, null, null, 6n, null, 7n])
  expect(await step()).toMatchObject({ problem: 'nodes disagree about position 8' })
})

test.each([
  [1, 'a node denies position 2, and has a later one'],
  [2, 'nodes disagree about position 2'],
])('of %s nodes, one denies an id and has a later one: the index waits, with the problem', async (nodes, problem) => {
  if (nodes === 2) addEndpoint(fake, () => null)
  fake.create('position', 1, 3)
  const step = open({ readBatches: { first: 8, max: 8, factor: 2 } })
  expect(await step()).toMatchObject({ isWritten: true, left: 'work' })
  expect(await step()).toMatchObject({ isWritten: false, left: 'a decision', problem })
  fake.create('position', 2)
  expect(await step()).toMatchObject({ isWritten: true, problem: null })
  expect((await progress()).last.position).toBe(3n)
})

test('rows above the cursor are announced when the cursor passes them', async () => {
  const step = open()
  fake.create('event', 1)
  while ((await step()).proven === null);
  fake.create('position', ...ids(1, 6))
  const { cursor } = await progress()
  expect(await step()).toMatchObject({ left: 'work', proven: null })
  expect(await progress()).toMatchObject({ cursor, anchor: fake.head() })
  let since = 0
  for (let proven: unknown = null; proven === null; ) {
    since = await database.run(newestChange)
    proven = (await step()).proven
  }
  const changes = await database.run((handle) => changesAfter(handle, since))
  expect(changes.map(({ scopes }) => scopes)).toEqual([null])
})

test('the protocol is requested by the first write and then every five seconds, also by writes without news', async () => {
  const step = open()
  fake.create('position', 1)
  while ((await step()).proven === null);
  expect(await protocolRequests()).toBe(1)
  /** Adds a block, which the cursor follows. */
  const settle = async () => {
    fake.pass(1)
    expect(await step()).toMatchObject({ left: 'nothing', proven: fake.head() })
  }
  clock.now += 4_999
  await settle()
  expect(await protocolRequests()).toBe(0)
  clock.now += 1
  await settle()
  expect(await protocolRequests()).toBe(1)
  clock.now += 5_000
  fake.create('position', 2)
  await step()
  expect(await protocolRequests()).toBe(1)
})

test('only the first write of an empty index is behind the head', async () => {
  fake.create('position', ...ids(1, 3))
  const step = open()
  await step()
  expect(await rowsOf(database, 'SELECT FROM feed_floors')).toEqual([])
  await step()
  expect(await rowsOf(database, 'SELECT FROM feed_floors')).toHaveLength(1)
})

test('a reorg during the batches removes the rows of the orphaned fork', async () => {
  fake.create('position', ...ids(1, 9))
  const step = open()
  await step()
  await step()
  expect(await progress()).toMatchObject({ cursor: null, last: { position: 5n } })
  fake.reorg(0n)
  fake.create('position', 1, 2)
  // Within the second after which an index with logs compares its anchor again.
  for (const left of ['a decision', 'work']) expect((await step()).left).toBe(left)
  expect(await progress()).toMatchObject({ cursor: null, anchor: null, last: { position: null } })
  while ((await step()).proven === null);
  expect(await progress()).toMatchObject({ cursor: fake.head(), last: { position: 2n } })
})

test('the logs of a first write are missing from the start block on', async () => {
  fake = createFakeChain({ startBlock: 2n })
  fake.state.hasLogs = false
  fake.pass(3)
  await open({})()
  expect(await rowsOf(database, 'SELECT from_block::integer, to_block::integer FROM log_gaps')).toEqual([
    { from_block: 2, to_block: 3 },
  ])
})

test('a step at the cursor adds no gap', async () => {
  fake.create('position', 1)
  const step = open({})
  while ((await step()).proven === null);
  await rowsOf(database, 'DELETE FROM log_gaps')
  await step()
  expect(await rowsOf(database, 'SELECT FROM log_gaps')).toEqual([])
})
