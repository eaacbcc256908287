import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import { type Lease, LeaseLost } from '../../src/db/index/lease.ts'
import { readProgress } from '../../src/db/index/progress.ts'
import type { Database } from '../../src/db/pool.ts'
import { createStep, type StepDeps } from '../../src/indexer/step.ts'
import { createFakeChain, type FakeChain } from '../support/fake-log-chain.ts'
import { CHAIN, leaseOf, openIndexDatabase, rowsOf } from '../support/index-writes.ts'

/* The follower's steps by logs, over a chain in memory. */

let index: Awaited<ReturnType<typeof openIndexDatabase>>
let database: Database
let lease: Lease
let fake: FakeChain
let lines: { readonly msg: string; readonly level: number }[]
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
  lines = []
  clock = { now: 5_000 }
})

const open = (options: Partial<StepDeps> = {}) => {
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const step = createStep({ chain: fake.chain, database, leaseTtlMs: 60_000, log, now: () => clock.now, ...options })
  return () => step(lease)
}
const progress = () => readProgress(database, CHAIN)
const said = () => lines.splice(0).map(({ msg }) => msg)
const probe = (logs: boolean, calls = 3) => [
  ...Array<string>(3).fill('eth_getBlockByNumber'),
  ...Array<string>(calls).fill('eth_call'),
  ...(logs ? ['eth_getLogs'] : []),
]
/** An index of one entity of each kind, up to the head. */
const openIndexed = async (options: Partial<StepDeps> = {}) => {
  for (const kind of ['event', 'deposit', 'position'] as const) fake.create(kind, 1)
  const step = open(options)
  await step()
  fake.sent()
  said()
  return step
}

test('the first step reads all blocks, requests the protocol, and proves the index', async () => {
  for (const kind of ['event', 'deposit', 'position'] as const) fake.create(kind, 1, 2)
  const head = fake.head()
  expect(await open()()).toEqual({ did: 'advanced', proven: head, head, source: 'logs', problem: null })
  expect(await progress()).toEqual({ cursor: head, anchor: head, last: { event: 2n, deposit: 2n, position: 2n } })
  expect(await rowsOf(database, 'SELECT fees_number::integer AS at FROM cursors')).toEqual([{ at: 3 }])
  expect(said()).toEqual([])
})

test('the protocol is requested on the first step, even if no event exists, and not by later ones', async () => {
  const step = open()
  await step()
  expect(await rowsOf(database, 'SELECT subject FROM unobserved')).toEqual([{ subject: 'chain' }])
  await rowsOf(database, 'DELETE FROM unobserved')
  fake.mine(['CapitalWithdrawn', { depositId: 7n }])
  expect((await step()).did).toBe('advanced')
  expect(await rowsOf(database, 'SELECT subject FROM unobserved')).toEqual([{ subject: 'deposit' }])
})

test('nothing is written before the chain has reached the start block', async () => {
  fake = createFakeChain({ startBlock: 3n })
  const step = open()
  fake.pass(2)
  expect(await step()).toMatchObject({ did: 'idle', proven: null, head: fake.head() })
  expect(await progress()).toMatchObject({ cursor: null, anchor: null })
  fake.pass(1)
  expect(await step()).toMatchObject({ did: 'advanced', proven: fake.head() })
})

describe('a quiet chain', () => {
  test('a probe without new blocks is one request, and writes nothing', async () => {
    const step = await openIndexed()
    expect(await step()).toMatchObject({ did: 'idle', proven: fake.head() })
    expect(fake.sent()).toEqual([probe(true)])
  })

  test('the cursor follows once the new block is known to be on the chain', async () => {
    const step = await openIndexed()
    const [before, after] = [fake.head(), fake.pass(3)]
    expect(await step()).toMatchObject({ did: 'idle', proven: before, head: after })
    expect((await progress()).cursor).toEqual(before)
    expect(await step()).toMatchObject({ did: 'settled', proven: after })
    expect(await progress()).toMatchObject({ cursor: after, anchor: after })
    expect(await rowsOf(database, 'SELECT fees_number::integer AS at FROM cursors')).toEqual([{ at: 6 }])
    expect(await step()).toMatchObject({ did: 'idle', proven: after })
  })

  test.each([
    [0n, 'idle'],
    [1n, 'settled'],
  ])('blocks that are %i seconds apart: %s while newer ones come', async (seconds, did) => {
    const step = await openIndexed()
    fake.state.seconds = seconds
    const known = fake.pass(1)
    await step()
    fake.pass(1)
    expect(await step()).toMatchObject({ did, proven: known })
    // At the head the cursor follows in any case.
    expect(await step()).toMatchObject({ did: 'settled', proven: fake.head() })
  })

  test('a head below the known block means that the node lags', async () => {
    const step = await openIndexed()
    fake.state.lag = 1
    for (let times = 0; times < 3; times += 1) expect(await step()).toMatchObject({ did: 'idle', proven: null })
    fake.state.lag = 0
    expect(await step()).toMatchObject({ did: 'idle', proven: fake.head() })
  })
})

describe('new logs', () => {
  test('at the head are indexed with one more request', async () => {
    const step = await openIndexed()
    const block = fake.create('position', 2)
    expect(await step()).toMatchObject({ did: 'advanced', proven: block })
    expect(await progress()).toMatchObject({ cursor: block, last: { position: 2n } })
    expect(fake.sent()).toEqual([probe(true), [...probe(false).slice(3), ...Array(3).fill('eth_getBlockByNumber')]])
  })

  // One block after the cursor is verified: two blocks, four times.
  test.each([
    [8n, undefined, true],
    [7n, undefined, false],
    [6n, 3n, true],
    [5n, 3n, false],
  ])('are part of the probe at a log width of %i and a margin of %s: %j', async (width, widthMargin, isPart) => {
    const step = await openIndexed(widthMargin === undefined ? {} : { widthMargin })
    fake.state.seconds = 0n
    fake.pass(1)
    await step()
    fake.state.width = width
    const block = fake.create('position', 2)
    fake.sent()
    expect(await step()).toMatchObject({ did: 'advanced', proven: block })
    const [first, second] = fake.sent()
    expect(first).toEqual(probe(isPart))
    expect(second?.[0]?.startsWith('logs')).toBe(!isPart)
  })

  test('an upgrade is logged, but not that of the deployment itself', async () => {
    const cut = ['DiamondCut', {}] as const
    fake.mine(cut)
    const step = open()
    await step()
    expect(said()).toEqual([])
    fake.mine(cut)
    await step()
    expect(said()).toEqual(['the functions of the diamond changed: every entity is read again'])
  })

  test('a log that only the state shows is found missing, reported, and indexed when the node returns it', async () => {
    const step = await openIndexed()
    fake.state.hides = () => true
    fake.create('position', 2)
    expect((await step()).did).toBe('idle')
    // The block is known now, and the state at it has a row that the index lacks.
    for (const times of [1, 2])
      expect(await step()).toMatchObject({
        ...{ did: 'idle', proven: null, problem: `position 2 is missing (attempt ${times})` },
      })
    expect(fake.faults()).toEqual(['0 left out: it left out the log of position 2'])
    fake.state.hides = () => false
    expect(await step()).toMatchObject({ did: 'advanced', proven: fake.head(), problem: null })
    expect(await progress()).toMatchObject({ last: { position: 2n } })
  })

  test('fee rates of a range whose facts had to be searched for are not complete', async () => {
    const step = await openIndexed()
    let answers = 0
    // The third attempt searches for the log, which the fourth answer has.
    fake.state.hides = ({ name, topics }) => name === 'PositionCreated' && Number(topics[2]) === 2 && ++answers < 4
    fake.create('position', 2)
    fake.mine(['CapitalWithdrawn', { depositId: 1n }])
    for (const did of ['idle', 'idle', 'advanced']) expect((await step()).did).toBe(did)
    expect(await progress()).toMatchObject({ cursor: fake.head(), last: { position: 2n } })
    expect(await rowsOf(database, 'SELECT fees_number::integer AS at FROM cursors')).toEqual([{ at: 3 }])
    expect(answers).toBe(4)
  })

  test('logs of rows that the index has already are of another chain: all endpoints are asked about the anchor', async () => {
    const step = await openIndexed()
    fake.create('position', 1)
    expect(await step()).toMatchObject({ did: 'idle', proven: null })
    expect(said()).toEqual(['the answers belong to more than one chain'])
    expect(fake.faults()).toEqual(['0 penalized: it returned logs of rows that the index already has'])
    expect(fake.sent().at(-1)).toEqual(['all endpoints'])
  })

  test('other faults are thrown', async () => {
    const step = await openIndexed()
    lease = { ...lease, epoch: lease.epoch + 1n }
    fake.create('position', 2)
    await expect(step()).rejects.toThrow(LeaseLost)
  })
})

describe('far behind the head', () => {
  const ranges = () => fake.sent().flatMap((batch) => (batch[0]?.startsWith('logs') ? batch[0] : []))

  test('ranges follow one another, prefetched ones without a probe for a second', async () => {
    fake.state.width = 10n
    fake.pass(44)
    const step = open()
    expect(await step()).toMatchObject({ did: 'advanced', proven: null })
    expect(said()).toEqual(['catching up'])
    clock.now += 1_000
    expect(await step()).toMatchObject({ did: 'advanced', proven: null, head: fake.head() })
    expect(ranges()).toEqual(['logs 0..9', 'logs 10..19', 'logs 20..29', 'logs 30..39', 'logs 40..44'])
    expect((await progress()).cursor).toEqual(fake.block(19n))
    clock.now += 1
    await step()
    // Both ids at which each kind may begin.
    expect(fake.sent()).toEqual([probe(false, 6)])
    for (const proven of [null, fake.head()]) expect(await step()).toMatchObject({ did: 'advanced', proven })
    expect(fake.sent()).toEqual([['6 at 44']])
  })

  test('after a step that was idle, the chain is probed again', async () => {
    fake.state.width = 10n
    fake.pass(14)
    fake.create('position', 1)
    fake.create('position', 2)
    fake.pass(30)
    const step = open()
    // The second range is prefetched without the log of the first position.
    fake.state.hides = ({ name, topics }) => name === 'PositionCreated' && Number(topics[2]) === 1
    await step()
    fake.sent()
    expect(await step()).toMatchObject({ did: 'idle', problem: 'position 1 is missing (attempt 1)' })
    expect(fake.sent().flat()).not.toContain('eth_getBlockByNumber')
    fake.state.hides = () => false
    expect(await step()).toMatchObject({ did: 'advanced', problem: null })
    expect(fake.sent()[0]).toEqual(probe(false, 6))
  })

  test.each([
    [309, true],
    [310, false],
  ])('with the head at block %i a write is near it: %j', async (head, isNear) => {
    fake.state.width = 10n
    fake.pass(head)
    await open()()
    expect((await progress()).cursor?.number).toBe(9n)
    expect(await rowsOf(database, 'SELECT FROM feed_floors')).toHaveLength(isNear ? 1 : 0)
  })
})

describe('a reorg', () => {
  /** Indexes blocks with an anchor at each. */
  const anchored = async (count: number) => {
    const step = await openIndexed()
    for (let id = 2; id < 2 + count; id += 1) {
      fake.create('position', id)
      await step()
    }
    said()
    fake.sent()
    return step
  }

  test('is confirmed by a second answer of the only endpoint, and then rolled back to the newest common anchor', async () => {
    const step = await anchored(4)
    const [ancestor, top] = [fake.block(5n), fake.head()]
    fake.reorg(5n)
    fake.pass(4)
    expect(await step()).toMatchObject({ did: 'idle', proven: null })
    expect((await progress()).anchor).toEqual(top)
    expect(await step()).toMatchObject({ did: 'rolled back', proven: null })
    expect(await progress()).toMatchObject({ cursor: ancestor, anchor: ancestor, last: { position: 3n } })
    expect(lines).toMatchObject([{ level: 40, from: '7', to: '5' }])
    expect(said()).toEqual(['index rolled back'])
    expect(await step()).toMatchObject({ did: 'advanced', proven: fake.head() })
  })

  test.each([
    [5n, false],
    [6n, true],
  ])('below the finalized block %i is an error: %j', async (finalized, isError) => {
    const step = await anchored(4)
    fake.reorg(5n)
    fake.pass(4)
    fake.state.finalized = finalized
    await step()
    await step()
    expect(said()).toEqual([...(isError ? ['reorg below the finalized block'] : []), 'index rolled back'])
  })

  test('an answer that has the block again begins the confirmation again', async () => {
    const step = await anchored(1)
    const denied = fake.head()
    const sendBy = fake.chain.sendBy
    fake.reorg(3n)
    fake.pass(2)
    await step()
    // The node has the old block once more.
    Object.assign(fake.chain, {
      sendBy: async (...args: Parameters<typeof sendBy>) => {
        const { endpoint, outcomes } = await sendBy(...args)
        const block = { ok: true, value: denied }
        const beyond = [1, 2, 3].map(() => ({ ok: false, error: new NodeError({ code: 3, message: 'reverted' }) }))
        const logs = { ok: true, value: [] }
        return { endpoint, outcomes: { ...outcomes, head: block, known: block, anchor: block, beyond, logs } }
      },
    })
    await step()
    Object.assign(fake.chain, { sendBy })
    expect((await step()).did).toBe('idle')
    expect((await step()).did).toBe('rolled back')
  })

  test('above the anchor rolls nothing back', async () => {
    const step = await openIndexed()
    const anchor = fake.head()
    fake.pass(2)
    await step()
    fake.reorg(anchor.number)
    fake.pass(3)
    expect(await step()).toMatchObject({ did: 'idle', proven: null })
    expect(await step()).toMatchObject({ did: 'advanced', proven: fake.head() })
    expect(await rowsOf(database, 'SELECT FROM rollbacks')).toEqual([])
  })

  test('that leaves the node without the known block waits for the block', async () => {
    const step = await openIndexed()
    const anchor = fake.head()
    fake.pass(2)
    await step()
    fake.reorg(anchor.number)
    expect(await step()).toMatchObject({ did: 'idle', proven: null })
    expect((await progress()).anchor).toEqual(anchor)
  })
})
