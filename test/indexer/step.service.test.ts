import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Batch } from '../../src/chain/rpc/batch.ts'
import { LogsPruned } from '../../src/chain/rpc/errors.ts'
import type { Request } from '../../src/chain/rpc/requests.ts'
import { type Lease, LeaseLost } from '../../src/db/index/work/lease.ts'
import { readProgress } from '../../src/db/index/work/progress.ts'
import type { Database } from '../../src/db/pool.ts'
import { createStep, type StepDeps } from '../../src/indexer/step.ts'
import { unavailable } from '../../src/lib/errors.ts'
import { createFakeChain, type FakeChain, UNKNOWN, UNKNOWN_TOPIC } from '../support/fake-log-chain.ts'
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
  return (wanted: bigint | readonly bigint[] = [], isFast = true) => step(lease, { wanted: [wanted].flat(), isFast })
}
/** As above, with every check due at each step. */
const openDue = (options: Partial<StepDeps> = {}) => {
  const step = open({ proveEveryMs: 0, ...options })
  return (wanted?: bigint | readonly bigint[]) => {
    clock.now += 60_000
    return step(wanted)
  }
}
const progress = () => readProgress(database, CHAIN)
const said = () => lines.splice(0).map(({ msg }) => msg)
/** The requests of a poll, and those that move the index to a block. */
const polled = (...others: ('anchor' | 'logs')[]) => [
  ...(others.includes('anchor') ? ['eth_getBlockByNumber'] : []),
  ...(others.includes('logs') ? ['eth_getLogs'] : []),
  'eth_getBlockByNumber',
]
const moved = (blocks: number) => [...Array(3).fill('eth_call'), ...Array(blocks).fill('eth_getBlockByNumber')]
/** An index of one entity of each kind, up to the head. */
const openIndexed = async (options: Partial<StepDeps> = {}, openWith = open) => {
  for (const kind of ['event', 'deposit', 'position'] as const) fake.create(kind, 1)
  const step = openWith(options)
  await step()
  fake.sent()
  said()
  return step
}
/** Configures a second endpoint, which has the same chain. */
const configureTwo = () => {
  const endpoints = { answering: 2 }
  const { status, queryAllEndpoints } = fake.chain
  const query: typeof queryAllEndpoints = async (...asked) => {
    const [answer] = await queryAllEndpoints(...asked)
    return answer === undefined ? [] : Array(endpoints.answering).fill(answer)
  }
  Object.assign(fake.chain, {
    status: () => ({ ...status(), endpoints: [...status().endpoints, ...status().endpoints] }),
    queryAllEndpoints: query,
  })
  return endpoints
}
const nothingLeft = { left: 'nothing', isWritten: false }

test('the first step reads all blocks, requests the protocol, and proves the index', async () => {
  for (const kind of ['event', 'deposit', 'position'] as const) fake.create(kind, 1, 2)
  const head = fake.head()
  const rest = { head, source: 'logs', problem: null }
  expect(await open()()).toEqual({ left: 'nothing', proven: head, isWritten: true, isQuiet: true, ...rest })
  expect(await progress()).toEqual({ cursor: head, anchor: head, last: { event: 2n, deposit: 2n, position: 2n } })
  expect(await rowsOf(database, 'SELECT fees_number::integer AS at FROM cursors')).toEqual([{ at: 3 }])
  expect(said()).toEqual([])
})

test('the protocol is requested on the first step, even if no event exists, and not by later ones', async () => {
  const step = open()
  await step()
  expect(await rowsOf(database, 'SELECT subject FROM refresh_queue')).toEqual([{ subject: 'chain' }])
  await rowsOf(database, 'DELETE FROM refresh_queue')
  fake.mine(['CapitalWithdrawn', { depositId: 7n }])
  expect(await step()).toMatchObject({ proven: fake.head(), isWritten: true })
  expect(await rowsOf(database, 'SELECT subject FROM refresh_queue')).toEqual([{ subject: 'deposit' }])
})

test('nothing is written before the chain has reached the start block', async () => {
  fake = createFakeChain({ startBlock: 3n })
  const step = open()
  fake.pass(2)
  expect(await step()).toMatchObject({ ...nothingLeft, proven: null, head: fake.head() })
  expect(await progress()).toMatchObject({ cursor: null, anchor: null })
  fake.pass(1)
  expect(await step()).toMatchObject({ proven: fake.head() })
})

describe('a quiet chain', () => {
  test('a poll has the head and the logs in one request, writes nothing, and leaves nothing to index', async () => {
    const step = await openIndexed()
    fake.state.finalized = 3n
    await step()
    fake.sent()
    for (let polls = 0; polls < 3; polls += 1) {
      fake.pass(2)
      expect(await step()).toMatchObject({ ...nothingLeft, proven: null, isQuiet: true, head: fake.head() })
      expect(fake.sent()).toEqual([polled('logs')])
    }
    expect((await progress()).cursor).toEqual(fake.block(3n))
  })

  test('the index is proved every ten seconds, at the head of the poll before, of which the logs were requested twice', async () => {
    const step = await openIndexed()
    clock.now += 9_999
    const earlier = fake.pass(3)
    expect(await step()).toMatchObject({ ...nothingLeft, proven: null })
    fake.pass(2)
    clock.now += 1
    fake.sent()
    expect(await step()).toMatchObject({
      left: 'nothing',
      proven: earlier,
      isWritten: true,
      isQuiet: true,
      head: fake.head(),
    })
    expect(fake.sent()).toEqual([polled('logs'), moved(2)])
    expect(await progress()).toMatchObject({ cursor: earlier, anchor: earlier })
    expect(await rowsOf(database, 'SELECT fees_number::integer AS at FROM cursors')).toEqual([{ at: 6 }])
    clock.now += 9_999
    expect(await step()).toMatchObject({ proven: null })
    clock.now += 1
    expect(await step()).toMatchObject({ proven: fake.head() })
  })

  test('a block that is waited for is proved at once, and one above the head is not waited for', async () => {
    const step = await openIndexed()
    const wanted = fake.pass(1)
    for (const other of [1n, 1n, -1n]) expect(await step(wanted.number + other)).toMatchObject({ proven: null })
    expect(await step(wanted.number)).toMatchObject({ proven: wanted })
    expect(await step(wanted.number)).toMatchObject({ proven: null })
  })

  test('a node that has not the head of the poll before is proved at its own', async () => {
    const step = await openIndexed()
    fake.pass(2)
    await step()
    fake.state.lag = 1
    clock.now += 10_000
    expect(await step()).toMatchObject({ proven: fake.block(4n) })
  })

  test('the first poll of a process has no logs, and shows nothing about the blocks after the cursor', async () => {
    await openIndexed()
    const step = open()
    for (const isQuiet of [false, true]) expect(await step()).toMatchObject({ ...nothingLeft, isQuiet })
  })

  test('the logs of a poll begin after the cursor, and no higher than the head of the poll before', async () => {
    const step = await openIndexed()
    const { poll } = fake.chain
    const from: number[] = []
    const watched = (batch: { readonly logs: Request<unknown> }) => {
      from.push(Number((batch.logs.params[0] as { readonly fromBlock: string }).fromBlock))
      return poll(batch)
    }
    Object.assign(fake.chain, { poll: watched })
    await step()
    fake.pass(2)
    for (let polls = 0; polls < 2; polls += 1) await step()
    expect(from).toEqual([3, 3, 4])
  })

  test('a block is proved at once while others wait for blocks above the head', async () => {
    const step = await openIndexed()
    const wanted = fake.pass(1)
    await step()
    expect(await step([wanted.number + 1n])).toMatchObject({ proven: null })
    expect(await step([wanted.number, wanted.number + 1n, 2n ** 63n])).toMatchObject({ proven: wanted })
  })

  test.each([
    ['may be replaced', 2n],
    ['is final', 3n],
  ])('a head below an anchor that %s means that the node lags: all are asked once a second', async (_, finalized) => {
    const step = await openIndexed()
    fake.state.finalized = finalized
    await step()
    fake.state.lag = 1
    clock.now += 1_000
    expect(await step()).toMatchObject({ left: 'a decision', proven: null })
    expect(fake.sent().at(-1)).toEqual(['all endpoints'])
    clock.now += 999
    expect(await step()).toMatchObject({ ...nothingLeft, proven: null })
    expect(fake.sent().flat()).not.toContain('all endpoints')
    fake.state.lag = 0
    clock.now += 10_000
    fake.pass(1)
    await step()
    expect(await step()).toMatchObject({ problem: null, isQuiet: true })
  })
})

describe('the anchor', () => {
  test('is compared with the chain once a second while a reorg may replace something of the protocol', async () => {
    const step = await openIndexed()
    const requests = async (): Promise<number> => {
      fake.pass(1)
      await step()
      return fake
        .sent()
        .flat()
        .filter((method) => method === 'eth_getBlockByNumber').length
    }
    // With the request for the finalized block, and then without.
    expect([await requests(), await requests()]).toEqual([3, 1])
    clock.now += 1_000
    expect([await requests(), await requests()]).toEqual([2, 1])
  })

  test('is compared less often while no reader waits, or has waited for long', async () => {
    const step = await openIndexed({ anchorEveryMs: 4_000 })
    await step()
    fake.sent()
    for (const [ms, isFast, isCompared] of [
      [3_999, false, false],
      [1, false, true],
      // A reader begins to wait, and has waited for a second.
      [1_000, true, false],
      [999, true, false],
      [1, true, true],
      [999, true, false],
      [1, true, true],
      // Another one begins to wait.
      [1_000, false, false],
      [999, true, false],
      [1_000, true, true],
    ] as const) {
      clock.now += ms
      await step(-1n, isFast)
      expect(fake.sent()).toEqual([polled(...(isCompared ? (['anchor', 'logs'] as const) : (['logs'] as const)))])
    }
  })

  test('is found on the chain by a write too', async () => {
    const step = await openIndexed({ anchorEveryMs: 4_000 })
    await step()
    const isCompared = async (ms: number): Promise<boolean> => {
      clock.now += ms
      fake.sent()
      await step(-1n, false)
      return fake.sent()[0]?.length === polled('anchor', 'logs').length
    }
    fake.create('position', 2)
    expect(await isCompared(3_999)).toBe(false)
    expect([await isCompared(3_999), await isCompared(1)]).toEqual([false, true])
  })

  test.each([
    [2n, 2],
    [3n, 1],
    // No node has it.
    [99n, 2],
  ])('with the finalized block at %i and the last row at 3, a poll asks for %i blocks', async (finalized, blocks) => {
    const step = await openIndexed()
    fake.state.finalized = finalized
    await step()
    fake.sent()
    clock.now += 1_000
    await step()
    expect(fake.sent()).toEqual([polled(...(blocks === 2 ? (['anchor', 'logs'] as const) : (['logs'] as const)))])
  })

  test('is not compared because of a proved block without rows', async () => {
    const step = await openIndexed()
    fake.state.finalized = 3n
    await step()
    const empty = fake.pass(1)
    await step()
    clock.now += 10_000
    expect(await step()).toMatchObject({ proven: empty })
    clock.now += 1_000
    fake.sent()
    await step()
    expect(fake.sent()).toEqual([polled('logs')])
  })

  test('is compared again once a new row can be replaced', async () => {
    const step = await openIndexed()
    fake.state.finalized = 3n
    await step()
    fake.create('position', 2)
    await step()
    clock.now += 1_000
    fake.sent()
    await step()
    expect(fake.sent()).toEqual([polled('anchor', 'logs')])
  })
})

describe('new logs', () => {
  test('at the head are indexed with one more request', async () => {
    const step = await openIndexed()
    await step()
    const block = fake.create('position', 2)
    fake.sent()
    expect(await step()).toMatchObject({ left: 'nothing', proven: block, isWritten: true, isQuiet: true })
    expect(await progress()).toMatchObject({ cursor: block, last: { position: 2n } })
    expect(fake.sent()).toEqual([polled('logs'), moved(2)])
  })

  test('above the head of the poll are left to a later one', async () => {
    const step = await openIndexed()
    await step()
    const { poll } = fake.chain
    const block = fake.create('position', 2)
    Object.assign(fake.chain, {
      poll: async (batch: Batch) => ({ ...(await poll(batch)), head: fake.block(3n) }),
    })
    expect(await step()).toMatchObject({ ...nothingLeft, proven: null })
    Object.assign(fake.chain, { poll })
    expect(await step()).toMatchObject({ proven: block })
  })

  test('do not move the index to blocks whose logs a node may have later', async () => {
    const step = await openIndexed()
    await step()
    const block = fake.create('position', 2)
    const late = fake.create('position', 3)
    fake.state.hides = ({ blockNumber }) => BigInt(blockNumber) === late.number
    expect(await step()).toMatchObject({ left: 'nothing', proven: block })
    fake.state.hides = () => false
    expect(await step()).toMatchObject({ proven: late })
    expect(await progress()).toMatchObject({ cursor: late, last: { position: 3n } })
    expect(fake.faults()).toEqual([])
  })

  test('move the index to an earlier head, whose logs were requested twice', async () => {
    const step = await openIndexed()
    const block = fake.create('position', 2)
    fake.pass(2)
    fake.state.hides = ({ blockNumber }) => BigInt(blockNumber) === block.number
    await step()
    fake.state.hides = () => false
    fake.pass(1)
    expect(await step()).toMatchObject({ proven: fake.block(block.number + 2n) })
  })

  // Two blocks after the cursor are known: three blocks, four times.
  test.each([
    [12n, undefined, true],
    [11n, undefined, false],
    [9n, 3n, true],
    [8n, 3n, false],
  ])('are part of the poll at a log width of %i and a margin of %s: %j', async (width, widthMargin, isPart) => {
    const step = await openIndexed(widthMargin === undefined ? {} : { widthMargin })
    fake.pass(2)
    await step()
    fake.state.width = width
    const block = fake.create('position', 2)
    fake.sent()
    expect(await step()).toMatchObject({ proven: block })
    const [first, second] = fake.sent()
    expect(first).toEqual(isPart ? polled('logs') : polled())
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

  test('logs that no release knows mark what they may name, and are counted and reported', async () => {
    const step = await openIndexed()
    await rowsOf(
      database,
      "INSERT INTO heartbeats (chain_id, head_number, head_timestamp, source, endpoints) VALUES (8453, 1, 1, 'logs', '{}')",
    )
    await rowsOf(database, 'DELETE FROM refresh_queue')
    await step()
    // The event, deposit and position 1, and ids that none has.
    const { number } = fake.mine([UNKNOWN, { words: [1n, 9n, 2n ** 255n] }], [UNKNOWN, { words: [] }])
    expect(await step()).toMatchObject({ proven: fake.head(), isWritten: true })
    expect(
      await rowsOf(database, 'SELECT subject, id::integer FROM refresh_queue WHERE id < 2 ORDER BY subject'),
    ).toEqual([{ subject: 'chain', id: 0 }, ...['deposit', 'event', 'position'].map((subject) => ({ subject, id: 1 }))])
    const [seen] = await rowsOf(
      database,
      "SELECT unknown_logs::integer, encode(unknown_topic, 'hex') AS topic, unknown_block::integer FROM heartbeats",
    )
    expect(seen).toEqual({ unknown_logs: 2, topic: UNKNOWN_TOPIC.slice(2), unknown_block: Number(number) })
    expect(said()).toEqual(Array(2).fill(expect.stringContaining('emits a log that this release does not know')))
  })

  test('logs that no release knows name nothing in the first range, which has every row', async () => {
    fake.mine([UNKNOWN, { words: [7n] }])
    await open()()
    expect(said()).toEqual([])
    expect(await rowsOf(database, 'SELECT subject FROM refresh_queue')).toEqual([{ subject: 'chain' }])
  })

  test('a log that only the state shows is found missing, reported, and indexed when the node returns it', async () => {
    const step = await openIndexed({ proveEveryMs: 0 })
    fake.state.hides = () => true
    const { number } = fake.create('position', 2)
    // The block is proved, and the state at it has a row that the index lacks.
    for (let times = 0; times < 2; times += 1)
      expect(await step()).toMatchObject({
        ...{ left: 'a decision', proven: null, isQuiet: false },
        problem: expect.stringContaining('position 2 is missing'),
      })
    expect(fake.faults()).toEqual(['0 left out: it left out the log of position 2'])
    expect((await progress()).cursor?.number).toBe(number - 1n)
    fake.state.hides = () => false
    expect(await step()).toMatchObject({ proven: fake.head(), problem: null })
    expect(await progress()).toMatchObject({ last: { position: 2n } })
  })

  test.each([
    ['the block of the row before it, if the index has that one', 2, [2, 3], { from: 3, to: 8 }],
    ['the first block after the cursor, if the row before it is newer', 3, [2, 3, 4], { from: 6, to: 9 }],
  ])('the gap of a row that is read from the state begins at %s', async (_, hidden, ids, gap) => {
    const step = await openIndexed({ proveEveryMs: 0, wait: { ms: 0, answers: 0 } })
    fake.pass(2)
    expect((await step()).proven?.number).toBe(5n)
    fake.state.hides = ({ topics }) => Number(topics[2]) === hidden
    fake.pass(1)
    for (const id of ids) fake.create('position', id)
    await step()
    expect((await progress()).last.position).toBe(BigInt(ids.at(-1) ?? 0))
    expect(await rowsOf(database, 'SELECT from_block::integer AS from, to_block::integer AS to FROM log_gaps')).toEqual(
      [gap],
    )
  })

  test('logs of rows that the index has already are of another chain: all endpoints are asked about the anchor', async () => {
    const step = await openIndexed()
    fake.create('position', 1)
    expect(await step()).toMatchObject({ left: 'a decision', proven: null })
    expect(said()).toEqual(['the answers belong to more than one chain'])
    expect(fake.faults()).toEqual(['0 penalized: it returned logs of rows that the index already has'])
    expect(fake.sent().at(-1)).toEqual(['all endpoints'])
  })

  test('a row of a block in which the chain did not create it is rolled back once two endpoints have its log in another one', async () => {
    const step = await openIndexed()
    // A node invents the log of position 2.
    fake.create('position', 2)
    await step()
    fake.reorg(3n)
    fake.pass(2)
    const endpoints = configureTwo()
    endpoints.answering = 1
    await rowsOf(
      database,
      `UPDATE anchors SET block_hash = '\\x${fake.block(4n).hash.slice(2)}' WHERE block_number = 4`,
    )
    await rowsOf(database, `UPDATE cursors SET block_hash = '\\x${fake.block(4n).hash.slice(2)}'`)
    const { number } = fake.create('position', 2)
    expect(await step()).toMatchObject({
      left: 'a decision',
      problem: `a node has the log of position 2 in block ${number}, and the index in block 4`,
    })
    endpoints.answering = 2
    expect(await step()).toMatchObject({ left: 'work', isWritten: true })
    expect(await progress()).toMatchObject({ cursor: fake.block(3n), last: { position: 1n } })
    expect(await step()).toMatchObject({ problem: null })
    expect(await progress()).toMatchObject({ cursor: { number }, last: { position: 2n } })
  })

  test('while the other endpoint does not answer, such a row is rolled back after ten seconds, and no one is penalized', async () => {
    const step = await openIndexed({ proveEveryMs: 0, wait: { ms: 0, answers: 0 } })
    configureTwo().answering = 1
    fake.state.hides = () => true
    fake.create('position', 2)
    await step()
    fake.state.hides = () => false
    fake.move(1)
    fake.faults().length = 0
    const problem = 'a node has the log of position 2 in block 5, and the index in block 4'
    expect(await step()).toMatchObject({ left: 'a decision', problem })
    clock.now += 9_999
    expect(await step()).toMatchObject({ left: 'a decision', problem })
    clock.now += 1
    expect(await step()).toMatchObject({ left: 'work', isWritten: true })
    expect(await step()).toMatchObject({ problem: null, proven: fake.head() })
    expect(fake.faults().filter((fault) => fault.includes('penalized'))).toEqual([])
  })

  test('a row that was read before the block of its log is rolled back', async () => {
    const step = await openIndexed({ proveEveryMs: 0, wait: { ms: 0, answers: 0 } })
    fake.state.hides = () => true
    fake.create('position', 2)
    await step()
    expect(await progress()).toMatchObject({ cursor: { number: 4n }, last: { position: 2n } })
    // Its log is of the next block: the node answered from a later state.
    fake.state.hides = () => false
    fake.move(1)
    expect(await step()).toMatchObject({ left: 'work', isWritten: true })
    expect(await step()).toMatchObject({ problem: null, proven: fake.head() })
    const [row] = await rowsOf(database, 'SELECT block_number::integer AS block, log_index FROM positions WHERE id = 2')
    expect(row).toEqual({ block: 5, log_index: 0 })
  })

  test('an anchor that was replaced is rolled back at once when another answer shows it', async () => {
    const step = await openIndexed()
    configureTwo()
    fake.pass(1)
    clock.now += 20_000
    await step()
    fake.reorg(3n)
    fake.pass(1)
    fake.create('position', 2)
    expect(await step()).toMatchObject({ left: 'work', isWritten: true })
    expect(await progress()).toMatchObject({ cursor: fake.block(3n) })
    expect(fake.faults()).toEqual([])
  })

  test('that no node returns in a poll are read as ranges by the next one', async () => {
    const step = await openIndexed()
    await step()
    const { poll } = fake.chain
    Object.assign(fake.chain, {
      // As if each node refuses the whole batch because of the logs in it.
      poll: (batch: Parameters<typeof poll>[0]) =>
        batch.logs === undefined ? poll(batch) : Promise.reject(unavailable('no node answers')),
    })
    fake.create('position', 2)
    await expect(step()).rejects.toThrow('no node answers')
    expect(await step()).toMatchObject({ proven: fake.head() })
    expect(await progress()).toMatchObject({ cursor: fake.head(), last: { position: 2n } })
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

  test('ranges follow one another, prefetched ones without a poll for a second', async () => {
    fake.state.width = 10n
    fake.state.finalized = 44n
    fake.pass(44)
    const step = open()
    expect(await step()).toMatchObject({ left: 'work', proven: null, isQuiet: false })
    expect(said()).toEqual(['catching up'])
    clock.now += 1_000
    expect(await step()).toMatchObject({ left: 'work', proven: null, head: fake.head() })
    expect(ranges()).toEqual(['logs 0..9', 'logs 10..19', 'logs 20..29', 'logs 30..39'])
    expect((await progress()).cursor).toEqual(fake.block(19n))
    clock.now += 1
    await step()
    // Whether the anchor is final, the head, and the range that is prefetched next.
    expect(fake.sent()).toEqual([['eth_getBlockByNumber'], polled(), ['logs 40..44']])
    for (const left of ['work', 'nothing']) expect(await step()).toMatchObject({ left })
    // Both ids at which each kind may begin.
    expect(fake.sent()).toEqual([['6 at 44']])
  })

  test('after a step that could not decide, the chain is polled again', async () => {
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
    expect(await step()).toMatchObject({
      left: 'a decision',
      problem: expect.stringContaining('position 1 is missing'),
    })
    expect(fake.sent().flat()).not.toContain('eth_getBlockByNumber')
    fake.state.hides = () => false
    expect(await step()).toMatchObject({ left: 'work', problem: null })
    expect(fake.sent().flat()).toContain('eth_getBlockByNumber')
  })

  test('entities are read by their ids where no node has the logs any more', async () => {
    fake.create('position', 1, 2)
    const logs = () => Promise.reject(new LogsPruned('no node has the logs of block 0 any more', undefined))
    Object.assign(fake.chain, { logs })
    expect(await open()()).toMatchObject({ left: 'nothing', proven: fake.head(), source: 'ids' })
    expect(await progress()).toMatchObject({ cursor: fake.head(), last: { position: 2n } })
    expect(await rowsOf(database, 'SELECT FROM log_gaps')).toHaveLength(1)
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
    const step = await openIndexed({}, openDue)
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
    expect(await step()).toMatchObject({ left: 'a decision', proven: null })
    expect((await progress()).anchor).toEqual(top)
    expect(await step()).toMatchObject({ left: 'work', proven: null, isWritten: true })
    expect(await progress()).toMatchObject({ cursor: ancestor, anchor: ancestor, last: { position: 3n } })
    expect(lines).toMatchObject([{ level: 40, from: '7', to: '5' }])
    expect(said()).toEqual(['index rolled back'])
    expect(await step()).toMatchObject({ proven: fake.head() })
  })

  test.each([
    [5n, false],
    [6n, true],
  ])('below the finalized block %i is an error: %j', async (finalized, isError) => {
    const step = await anchored(4)
    fake.reorg(5n)
    fake.pass(4)
    await step()
    fake.state.finalized = finalized
    await step()
    expect(said()).toEqual([...(isError ? ['reorg below the finalized block'] : []), 'index rolled back'])
  })

  test('is confirmed by the next step, whenever that is', async () => {
    const step = await openIndexed()
    fake.reorg(2n)
    fake.pass(1)
    clock.now += 1_000
    for (const left of ['a decision', 'work']) expect(await step()).toMatchObject({ left })
  })

  test('leaves an anchor that is compared again, even if the one before was final', async () => {
    const step = await anchored(4)
    fake.state.finalized = 7n
    await step()
    fake.reorg(5n)
    fake.pass(4)
    // The head is below the anchor, which is asked about for that reason.
    Object.assign(fake.state, { lag: 3, finalized: 4n })
    for (const left of ['a decision', 'work']) expect(await step()).toMatchObject({ left })
    fake.sent()
    await step()
    expect(fake.sent()).toContainEqual(polled('anchor', 'logs'))
  })

  test('an answer that has the block again begins the confirmation again', async () => {
    const step = await anchored(1)
    const denied = fake.head()
    const { poll } = fake.chain
    fake.reorg(3n)
    fake.pass(2)
    await step()
    // The node has the old block once more.
    Object.assign(fake.chain, {
      poll: async () => ({ endpoint: 0, head: denied, outcomes: { anchor: { ok: true, value: denied } } }),
    })
    await step()
    Object.assign(fake.chain, { poll })
    expect((await step()).left).toBe('a decision')
    expect((await step()).left).toBe('work')
  })

  test('of blocks without rows above the anchor rolls nothing back', async () => {
    const step = await openIndexed()
    const anchor = fake.head()
    fake.pass(2)
    await step()
    fake.reorg(anchor.number)
    fake.pass(3)
    clock.now += 60_000
    // The head of the poll before was replaced.
    expect(await step()).toMatchObject({ left: 'a decision', proven: null })
    expect(await step()).toMatchObject({ proven: fake.head() })
    expect(await rowsOf(database, 'SELECT FROM rollbacks')).toEqual([])
  })

  test('that leaves the only node below the anchor is the chain after ten seconds, and has a name meanwhile', async () => {
    const step = await anchored(4)
    fake.reorg(5n)
    expect(await step()).toMatchObject({
      left: 'a decision',
      problem: 'the index is at block 7, above the newest block of every node, 5',
    })
    expect(await rowsOf(database, 'SELECT FROM rollbacks')).toEqual([])
  })

  test('that leaves the only node below the anchor is asked about with each poll from when the anchor is due', async () => {
    const step = await openIndexed({ anchorEveryMs: 4_000 })
    await step()
    fake.reorg(fake.head().number - 1n)
    const lefts = async (ms: number) => {
      clock.now += ms
      return (await step(-1n, false)).left
    }
    expect([await lefts(3_999), await lefts(1), await lefts(0)]).toEqual(['nothing', 'a decision', 'a decision'])
  })

  test('a node that denies the block of the anchor, below its own head, has a name', async () => {
    const step = await anchored(2)
    const { poll, queryAllEndpoints } = fake.chain
    const lacking = { ok: true, value: null }
    fake.pass(1)
    Object.assign(fake.chain, {
      poll: async () => ({ endpoint: 0, head: fake.head(), outcomes: { anchor: lacking } }),
      queryAllEndpoints: async () => [
        {
          endpoint: 0,
          outcomes: { block: lacking, head: { ok: true, value: fake.head() }, id: { ok: true, value: 8453 } },
        },
      ],
    })
    expect(await step()).toMatchObject({ left: 'a decision', problem: 'a node with block 6 has no block 5' })
    expect(fake.faults()).toEqual(['0 penalized: it has no block 5, below its newest block'])
    Object.assign(fake.chain, { poll, queryAllEndpoints })
  })
})
