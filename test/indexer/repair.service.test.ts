import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import { parseLogs } from '../../src/chain/rpc/log-shape.ts'
import type { Outcome } from '../../src/chain/rpc/transport.ts'
import type { LastIds } from '../../src/db/index/work/progress.ts'
import type { Database } from '../../src/db/pool.ts'
import { DuplicateRow, MissingRow, WrongRow } from '../../src/indexer/reading/gaps.ts'
import { ChainMoved, fetchRange } from '../../src/indexer/reading/range.ts'
import { createRepair } from '../../src/indexer/repair.ts'
import type { RawLog } from '../../src/protocol/abi/packed-log.ts'
import { createFakeChain, type FakeChain, jsonLog } from '../support/fake-log-chain.ts'
import { openIndexDatabase, openWrites } from '../support/index-writes.ts'
import { addEndpoint, denial } from '../support/second-endpoint.ts'

/* Ranges whose node left logs out, over a chain in memory. Only positions are created. */

const none: LastIds = { event: null, deposit: null, position: null }
const READ = 'row read from the state: no node returned a log of it'

let index: Awaited<ReturnType<typeof openIndexDatabase>>
let database: Database
let fake: FakeChain
let repair: ReturnType<typeof createRepair>
let open: (wait?: Parameters<typeof createRepair>[0]['wait']) => typeof repair
let clock: { now: number }
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
  clock = { now: 5_000 }
  open = (wait) => createRepair({ chain: fake.chain, database, log, now: () => clock.now, wait })
  repair = open({ ms: 2_000, answers: 1 })
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
  return { range, ...(await repair.complete({ last, range, head: fake.head() })) }
}
/** Waits until a missing row is read from the state. */
const wait = async (): Promise<void> => {
  await expect(complete()).rejects.toBeInstanceOf(MissingRow)
  clock.now += 2_000
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

test('a missing row next to an unknown log is read at once, and no node is blamed', async () => {
  hide(2)
  fake.create('position', 1, 2, 3)
  const head = fake.head()
  const range = await fetchRange(fake.chain, { from: 0n, upTo: head.number, head })
  const unknown = parseLogs([{ ...jsonLog(fake.chain.deployment.diamond, 'Paused', {}, head, 9), topics: [] }])
  const { facts, gapFrom } = await repair.complete({ last: none, range: { ...range, unknown }, head })
  expect([idsOf(facts), gapFrom, fake.faults()]).toEqual([[1, 3, 2], 1n, []])
})

test('a range that is known to be complete is not checked again', async () => {
  fake.create('position', 1)
  const head = fake.head()
  const range = { ...(await fetchRange(fake.chain, { from: 0n, upTo: head.number, head })), complete: true }
  fake.sent()
  expect((await repair.complete({ last: none, range, head })).facts).toBe(range.facts)
  expect(sent()).toEqual([])
})

test('a complete range in which position 1 was missing is checked for a position 0', async () => {
  fake.create('position', 0, 1, 2)
  hide(0, 1)
  const head = fake.head()
  const range = { ...(await fetchRange(fake.chain, { from: 0n, upTo: head.number, head })), complete: true }
  const attempt = () => repair.complete({ last: none, range, head })
  await expect(attempt()).rejects.toBeInstanceOf(MissingRow)
  clock.now += 2_000
  expect(idsOf((await attempt()).facts)).toEqual([2, 1, 0])
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

  test('is requested again for two seconds, and then its state is read', async () => {
    for (const ms of [0, 1_000, 999]) {
      clock.now += ms
      await expect(complete()).rejects.toThrow('position 2 is missing: its log was left out')
      expect(repair.problem()).toMatch(/^position 2 is missing since \d{4}-\d\d-\d\dT.*Z$/)
      expect(sent()).toEqual([])
    }
    expect(fake.faults()).toEqual(['0 left out: it left out the log of position 2'])
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([[30, 'a row is missing']])
    clock.now += 1
    const next = fake.block(4n)
    const { facts, gapFrom } = await complete()
    expect(idsOf(facts)).toEqual([1, 4, 5, 2, 3])
    expect(readRows()).toEqual(['position 2', 'position 3'])
    expect(lines.at(-1)).toMatchObject({ level: 40, msg: READ })
    // At the head, up to the next row, by which they are dated.
    expect(sent()).toContain('2 at 5')
    for (const fact of facts.slice(3))
      expect(fact).toMatchObject({
        ...{ blockNumber: next.number, blockHash: next.hash, blockTimestamp: next.timestamp, txHash: null },
      })
    // The logs are not before that of position 1.
    expect(gapFrom).toBe(1n)
    expect(repair.problem()).toBeNull()
  })

  test.each([
    ['two seconds have passed, however many answers there were', 9, 1_999 / 8],
    ['it was requested five times again, however rarely', 5, 2_000],
  ])('has its state read when %s', async (_, answers, everyMs) => {
    repair = open()
    for (let at = 0; at < answers; at += 1) {
      await expect(complete()).rejects.toBeInstanceOf(MissingRow)
      clock.now += everyMs
    }
    clock.now = Math.max(clock.now, 7_000)
    await complete()
    expect(readRows()).toEqual(['position 2', 'position 3'])
  })

  test('of an older range is read at the head: nodes may have dropped older state', async () => {
    fake.pass(3)
    await expect(complete({ upTo: 5n })).rejects.toBeInstanceOf(MissingRow)
    clock.now += 2_000
    await complete({ upTo: 5n })
    expect(sent()).toContain('2 at 8')
  })

  test('has its log when the node returns it in time, and no state is read', async () => {
    await expect(complete()).rejects.toBeInstanceOf(MissingRow)
    clock.now += 1_500
    hide()
    const { facts, range, gapFrom } = await complete()
    expect(idsOf(facts)).toEqual([1, 2, 3, 4, 5])
    expect([facts === range.facts, gapFrom, readRows()]).toEqual([true, null, []])
  })

  test('is waited for since any row was missing', async () => {
    await expect(complete()).rejects.toThrow('position 2 is missing')
    clock.now += 1_999
    hide(3)
    await expect(complete()).rejects.toThrow('position 3 is missing')
    expect(repair.problem()).toContain('position 3 is missing since')
    clock.now += 1
    await complete()
    expect(readRows()).toEqual(['position 3'])
  })

  test('is waited for again after a complete range', async () => {
    await wait()
    hide()
    await complete()
    hide(2)
    await expect(complete()).rejects.toThrow('its log was left out')
    expect(fake.faults()).toHaveLength(2)
  })

  test('has its log from the block of the row before on, which may be in the index', async () => {
    const { write } = await openWrites(database)
    const range = await fetchRange(fake.chain, { from: 0n, upTo: 1n, head: fake.head() })
    await write(fake.block(1n), { facts: range.facts })
    const last = { ...none, position: 1n }
    await expect(complete({ last, from: 3n })).rejects.toBeInstanceOf(MissingRow)
    clock.now += 2_000
    expect((await complete({ last, from: 3n })).gapFrom).toBe(1n)
  })

  test('is missing while the state does not have it either', async () => {
    fake.mine(['PositionCreated', { positionId: 7n }])
    await wait()
    await expect(complete()).rejects.toThrow('position 6 is missing: no node returns its log or its record')
  })
})

test('the log of the first row is at the start block or later', async () => {
  fake = createFakeChain({ startBlock: 1n })
  repair = createRepair({
    chain: fake.chain,
    database,
    log: pino({ level: 'silent' }),
    now: () => clock.now,
    wait: { ms: 0, answers: 0 },
  })
  fake.pass(2)
  fake.create('position', 1)
  hide(1)
  expect(await complete({ from: 2n })).toMatchObject({ facts: { length: 1 }, gapFrom: 1n })
})

describe('a row after the last one of the range', () => {
  beforeEach(() => {
    for (const id of [1, 2, 3]) fake.create('position', id)
    hide(2, 3)
  })

  test('is read from the state at the block of the range, by which it is dated', async () => {
    await wait()
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
})

test('a row whose log is missing is read from the only endpoint, which is not asked again', async () => {
  fake.create('position', 1, 2, 3)
  hide(2, 3)
  await wait()
  const queryAllEndpoints = vi.fn(fake.chain.queryAllEndpoints)
  Object.assign(fake.chain, { queryAllEndpoints })
  expect(idsOf((await complete()).facts)).toEqual([1, 2, 3])
  expect(queryAllEndpoints).not.toHaveBeenCalled()
})

describe('of two endpoints, one may deny every row', () => {
  let error: NodeError | null
  let asked: number
  beforeEach(() => {
    error = denial
    asked = 0
    addEndpoint(fake, () => {
      asked += 1
      return error
    })
  })

  test('a row without a log after it is not read while nodes disagree, and the problem is named', async () => {
    fake.create('position', 1, 2, 3)
    hide(2, 3)
    await wait()
    await expect(complete()).rejects.toThrow('position 3 is missing: nodes disagree about position 3')
    expect(repair.problem()).toBe('nodes disagree about position 3')
    await repair.confirm(fake.head(), [])
    expect(repair.problem()).toMatch(/^position 2 is missing since /)
    error = null
    expect(idsOf((await complete()).facts)).toEqual([1, 2, 3])
    expect(repair.problem()).toBeNull()
  })

  test('a row before one with a log is not read either: the log may be invented', async () => {
    fake.create('position', 1, 2, 3)
    hide(1, 2)
    await wait()
    await expect(complete()).rejects.toThrow('position 2 is missing: nodes disagree about position 2')
  })

  test('the answers belong to more than one chain while only one endpoint has the block', async () => {
    error = new NodeError({ code: -32_000, message: 'header not found' })
    fake.create('position', 1)
    const { facts } = await fetchRange(fake.chain, { from: 0n, upTo: 1n, head: fake.head() })
    const confirmed = repair.confirm(fake.head(), facts)
    await vi.waitFor(() => expect(asked).toBeGreaterThan(0))
    clock.now += 6_000
    await expect(confirmed).rejects.toBeInstanceOf(ChainMoved)
    expect(repair.problem()).toBe('no second node has block 1, which showed position 1')
  })
})

describe('a log of a row that the index has from an earlier block', () => {
  const logs = {
    its: { name: 'PositionCreated', given: { positionId: 1n } },
    'another id': { name: 'PositionCreated', given: { positionId: 2n } },
    'another kind': { name: 'DepositCreated', given: { depositId: 1n } },
  }
  type Answer = keyof typeof logs | 'none' | 'refused'

  const logsIn = (answer: Answer): Outcome<readonly RawLog[]> => {
    if (answer === 'refused') return { ok: false, error: new NodeError({ code: -32_005, message: 'limit exceeded' }) }
    if (answer === 'none') return { ok: true, value: [] }
    const { name, given } = logs[answer]
    return { ok: true, value: parseLogs([jsonLog(fake.chain.deployment.diamond, name, given, fake.head(), 0)]) }
  }
  /** What endpoints answer for the later and for the earlier block. */
  let answers: readonly (readonly [later: Answer, earlier: Answer])[]

  /** Stores the row, with the log's transaction or without, and returns how a range with the later log ends. */
  const open = async (hasTx: boolean) => {
    fake.create('position', 1)
    const { write } = await openWrites(database)
    const { facts } = await fetchRange(fake.chain, { from: 0n, upTo: 1n, head: fake.head() })
    const place = hasTx ? {} : { txHash: null, logIndex: null }
    await write(fake.block(1n), { facts: facts.map((fact) => ({ ...fact, ...place })) })
    fake.mine(['PositionCreated', { positionId: 1n }])
    const { status } = fake.chain
    const endpoints = [...status().endpoints, ...status().endpoints]
    const queryAllEndpoints = async () =>
      answers.map(([later, earlier], endpoint) => ({
        endpoint,
        outcomes: { now: logsIn(later), before: logsIn(earlier) },
      }))
    Object.assign(fake.chain, { queryAllEndpoints, status: () => ({ ...status(), endpoints }) })
    return () =>
      complete({ last: { ...none, position: 1n }, from: 2n }).then(
        () => 'complete',
        (fault: unknown) => (fault instanceof WrongRow ? fault.trusted : fault instanceof DuplicateRow && 'kept'),
      )
  }

  test.each<[string, boolean, readonly [Answer, Answer], unknown]>([
    ['shows the row wrong, if endpoints have no log in the earlier block', true, ['its', 'none'], [0, 1]],
    ['shows nothing, if they have the log in the earlier block too', true, ['its', 'its'], 'kept'],
    ['shows a row without a log wrong in any case', false, ['its', 'its'], [0, 1]],
    ['shows nothing, if they do not have it', true, ['none', 'none'], 'kept'],
    ['shows nothing, if they refuse the earlier block', true, ['its', 'refused'], 'kept'],
    ['shows nothing, if it is of another row', true, ['another id', 'none'], 'kept'],
    ['shows nothing, if it is of another kind', true, ['another kind', 'none'], 'kept'],
  ])('%s', async (_, hasTx, answer, ends) => {
    const end = await open(hasTx)
    answers = [answer, answer]
    expect(await end()).toEqual(ends)
  })

  test('by the only endpoint that answers has to be repeated for ten seconds in which no other one contradicts it', async () => {
    const end = await open(true)
    const single: typeof answers = [['its', 'none']]
    answers = single
    expect(await end()).toBe('kept')
    clock.now += 9_000
    answers = [...single, ['none', 'none']]
    expect(await end()).toBe('kept')
    clock.now += 1_000
    answers = single
    expect(await end()).toBe('kept')
    clock.now += 9_999
    expect(await end()).toBe('kept')
    clock.now += 1
    expect(await end()).toEqual([0])
  })
})

describe('the sizes of a repair', () => {
  // Position 1 has a log, and a number of positions after it do not.
  test.each([
    [99, true],
    [100, false],
    [101, false],
  ])('of %i rows after the last one, 100 are read, and the steps that follow read the rest', async (count, all) => {
    fake.create('position', 1)
    fake.create('position', ...ids(2, count + 1))
    hide(...ids(2, count + 1))
    await wait()
    const { facts, isComplete } = await complete()
    expect([facts.length, isComplete]).toEqual([all ? count + 1 : 101, all])
    expect(sent().filter((it) => it.startsWith('100'))).toEqual(['100 at 2'])
  })

  test.each([
    [100, ['100 at 3']],
    [101, ['100 at 3', '1 at 3']],
  ])('of %i rows before another one, 100 are read at a time', async (count, reads) => {
    fake.create('position', 1)
    fake.create('position', ...ids(2, count + 1))
    fake.create('position', count + 2)
    hide(...ids(2, count + 1))
    await wait()
    expect((await complete()).facts).toHaveLength(count + 2)
    expect(sent().filter((it) => / at 3$/.test(it) && !it.startsWith('6'))).toEqual(reads)
  })
})

test('an endpoint that returns logs of rows which the index has already is penalized', async () => {
  fake.create('position', 1)
  await expect(complete({ last: { ...none, position: 1n } })).rejects.toBeInstanceOf(DuplicateRow)
  expect(fake.faults()).toEqual(['0 penalized: it returned logs of rows that the index already has'])
  expect(lines).toEqual([])
})
