import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { readHeartbeat } from '../../src/db/index/work/heartbeat.ts'
import { takeLease } from '../../src/db/index/work/lease.ts'
import { readProgress } from '../../src/db/index/work/progress.ts'
import type { Database } from '../../src/db/pool.ts'
import { createDemand } from '../../src/indexer/demand.ts'
import { type FollowDeps, follow } from '../../src/indexer/follow.ts'
import { unavailable } from '../../src/lib/errors.ts'
import { createFakeChain, type FakeChain } from '../support/fake-log-chain.ts'
import { CHAIN, openIndexDatabase, rowsOf } from '../support/index-writes.ts'
import { openDatabase } from '../support/open-database.ts'
import { eventually } from '../support/process.ts'

/* The follower's loop over a chain in memory. */

let index: Awaited<ReturnType<typeof openIndexDatabase>>
let database: Database
let fake: FakeChain
let clock: { now: number }
let lines: { readonly msg: string; readonly fault?: string; readonly faults?: number }[]
const open: (() => Promise<void>)[] = []

beforeAll(async () => {
  index = await openIndexDatabase(8)
  database = index.database
})
afterAll(() => index?.close())
beforeEach(async () => {
  await index.empty()
  fake = createFakeChain()
  lines = []
  clock = { now: 5_000 }
})
afterEach(async () => {
  for (const stop of open.splice(0)) await stop()
})

/** Follows the chain until the returned function is called, which a test may do itself. */
const start = (options: Partial<FollowDeps> = {}) => {
  const end = new AbortController()
  const session = openDatabase(index.url, { maxConnections: 1 })
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const done = follow(
    {
      chain: fake.chain,
      database,
      session,
      pollMs: { idle: 10, fast: 10 },
      demand: createDemand(),
      onWrite: () => {},
      log,
      leaseTtlMs: 400,
      now: () => clock.now,
      ...options,
    },
    end.signal,
  )
  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => {
    stopped ??= (async () => {
      end.abort()
      await done
      await session.close()
    })()
    return stopped
  }
  open.push(stop)
  return stop
}
const cursor = async () => (await readProgress(database, CHAIN)).cursor
const heartbeat = () => database.run((handle) => readHeartbeat(handle, CHAIN))
const atHead = () => eventually('the index is at the head', async () => (await cursor())?.hash === fake.head().hash)
const polls = () => fake.sent().filter((batch) => batch.includes('eth_getBlockByNumber')).length

test('a follower that is behind takes its steps without a pause, and waits at the head', async () => {
  fake.state.width = 10n
  fake.pass(44)
  let writes = 0
  start({
    pollMs: { idle: 60_000, fast: 60_000 },
    onWrite: () => {
      writes += 1
    },
  })
  await atHead()
  await eventually('every write is announced', () => writes === 5)
  fake.sent()
  fake.pass(1)
  await sleep(100)
  expect([polls(), writes]).toEqual([0, 5])
})

test('an idle follower polls again and again, announces no write, and stores a heartbeat with each poll', async () => {
  let writes = 0
  start({
    onWrite: () => {
      writes += 1
    },
  })
  await atHead()
  const version = async () => (await rowsOf(database, 'SELECT xmin::text AS version FROM heartbeats'))[0]?.version
  const first = await version()
  fake.sent()
  await eventually('it polls', () => fake.asked() > 5)
  expect(writes).toBe(1)
  await eventually('the next heartbeat', async () => (await version()) !== first)
})

test('while it is behind, the heartbeat is kept for a second', async () => {
  fake.state.width = 1n
  fake.pass(60)
  start()
  await eventually('the heartbeat is stored', async () => (await heartbeat()) !== null)
  const reportedAt = async () => (await rowsOf(database, 'SELECT reported_at::text AS at FROM heartbeats'))[0]?.at
  const first = await reportedAt()
  await eventually('it has advanced', async () => ((await cursor())?.number ?? 0n) > 5n)
  expect(await reportedAt()).toBe(first)
  clock.now += 1_000
  await eventually('the next heartbeat', async () => (await reportedAt()) !== first)
})

test('a follower polls fast while a reader waits, and at once when one begins to', async () => {
  const demand = createDemand(() => clock.now)
  start({ pollMs: { idle: 60_000, fast: 1 }, demand })
  await atHead()
  fake.sent()
  const wanted = fake.pass(1)
  demand.ask(wanted.number, 1_000)
  await eventually('the index is at the block', async () => (await cursor())?.hash === wanted.hash)
  await eventually('nothing is waited for', () => !demand.isFast())
  demand.ask(null, 1_000)
  await eventually('it polls again and again', () => fake.asked() > 5)
  clock.now += 1_001
  await sleep(50)
  fake.sent()
  await sleep(100)
  expect(polls()).toBe(0)
})

test('why no step succeeds is stored, without a new time of the last heartbeat', async () => {
  start()
  await atHead()
  await eventually('the heartbeat is stored', async () => (await heartbeat()) !== null)
  Object.assign(fake.chain, { poll: () => Promise.reject(unavailable('no node of chain 8453 answers')) })
  await eventually(
    'the problem is stored',
    async () => (await heartbeat())?.problem === 'no node of chain 8453 answers',
  )
  const { at } = (await heartbeat()) ?? {}
  await sleep(50)
  expect((await heartbeat())?.at).toEqual(at)
})

test('a worker that lost the lease while no node answers does not store its problem, and stands by', async () => {
  start()
  await atHead()
  let asked = 0
  const poll = () => {
    asked += 1
    return Promise.reject(unavailable('no node of chain 8453 answers'))
  }
  Object.assign(fake.chain, { poll })
  await eventually('the problem is stored', async () => ((await heartbeat())?.problem ?? null) !== null)
  await rowsOf(
    database,
    `UPDATE leases SET holder = 'another', epoch = epoch + 1, expires_at = now() + interval '1 minute', session_pid = NULL;
     UPDATE heartbeats SET problem = 'that of another'`,
  )
  let before = -1
  await eventually(
    'it stands by',
    () => {
      const isStill = asked === before
      before = asked
      return isStill
    },
    10_000,
    1_200,
  )
  expect((await heartbeat())?.problem).toBe('that of another')
})

test('the heartbeat has the head, the proof, the source and the problem, which is stored at once', async () => {
  fake.create('position', 1)
  start({ jobsFault: () => 'OOM' })
  await atHead()
  await eventually('it is stored', async () => (await heartbeat())?.proven !== undefined)
  expect(await heartbeat()).toMatchObject({ source: 'logs', problem: null, jobsFault: 'OOM', proven: fake.head() })
  const [stored] = await rowsOf(database, 'SELECT reported_at AS at FROM heartbeats')
  fake.state.hides = () => true
  fake.create('position', 2)
  await eventually('the problem is stored', async () =>
    ((await heartbeat())?.problem ?? '').startsWith('position 2 is missing'),
  )
  const [later] = await rowsOf(database, 'SELECT reported_at AS at FROM heartbeats')
  expect(later?.at).not.toEqual(stored?.at)
})

test('a worker that lost the lease stores no heartbeat, and stands by', async () => {
  start()
  await atHead()
  await eventually('the heartbeat is stored', async () => (await heartbeat()) !== null)
  await rowsOf(
    database,
    "UPDATE leases SET holder = 'another', epoch = epoch + 1, expires_at = now() + interval '1 minute', session_pid = NULL",
  )
  const before = await rowsOf(database, 'SELECT xmin::text AS version FROM heartbeats')
  clock.now += 1_000
  await eventually('it has noticed', () => lines.some(({ fault }) => fault?.includes('another worker took the lease')))
  expect(await rowsOf(database, 'SELECT xmin::text AS version FROM heartbeats')).toEqual(before)
  fake.sent()
  await sleep(150)
  expect(polls()).toBe(0)
  // When the lease is free, the worker follows again.
  await rowsOf(database, 'UPDATE leases SET expires_at = now()')
  await eventually('it follows', () => polls() > 0)
  expect(lines.filter(({ msg }) => msg === 'following')).toHaveLength(2)
})

test('a standby takes over an expired lease, and a lease that is released at the end', async () => {
  await takeLease(database, CHAIN, 'dead', 300)
  const stopFirst = start()
  await atHead()
  await stopFirst()
  expect(await rowsOf(database, 'SELECT expires_at <= now() AS free FROM leases')).toEqual([{ free: true }])
  const [before] = await rowsOf(database, 'SELECT epoch FROM leases')
  start()
  fake.pass(3)
  await atHead()
  const [after] = await rowsOf(database, 'SELECT epoch FROM leases')
  expect(Number(after?.epoch)).toBe(Number(before?.epoch) + 1)
})

test('an extension of the lease that is under way at the end does not outlast its release', async () => {
  const own = openDatabase(index.url, { maxConnections: 1 })
  let calls = 0
  let letExtend = (): void => {}
  const gate = new Promise<void>((resolve) => {
    letExtend = resolve
  })
  const session: Database = {
    ...own,
    async run(work) {
      calls += 1
      // The first call takes the lease.
      if (calls === 2) await gate
      return own.run(work)
    },
  }
  const stop = start({ session })
  await eventually('the extension is under way', () => calls === 2)
  const stopped = stop()
  await sleep(100)
  expect(calls).toBe(2)
  letExtend()
  await stopped
  expect(await rowsOf(database, 'SELECT expires_at <= now() AS free FROM leases')).toEqual([{ free: true }])
  await own.close()
})

test('a leader keeps its lease over several lifetimes while a step takes long', async () => {
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const { poll } = fake.chain
  Object.assign(fake.chain, { poll: (...sent: Parameters<typeof poll>) => held.then(() => poll(...sent)) })
  start()
  const expiry = async () => (await rowsOf(database, 'SELECT expires_at::text AS at FROM leases'))[0]?.at
  await eventually('it leads', async () => (await expiry()) !== undefined)
  const seen = new Set<unknown>()
  await eventually('the lease is extended several times', async () => seen.add(await expiry()).size > 3)
  release()
  await atHead()
})

test('a worker whose steps cannot reach the database does not extend its lease', async () => {
  let isBroken = false
  const broken: Database = {
    ...database,
    run: (work) => (isBroken ? Promise.reject(unavailable('no database')) : database.run(work)),
  }
  start({ database: broken })
  await atHead()
  isBroken = true
  await eventually('the lease has expired', async () => {
    const [row] = await rowsOf(database, 'SELECT expires_at < now() AS expired FROM leases')
    return row?.expired === true
  })
})

test('faults are logged when their number is a power of two, and counted from one again after a step', async () => {
  const { poll } = fake.chain
  const fail = { poll: () => Promise.reject(unavailable('no node')) }
  Object.assign(fake.chain, fail)
  start()
  const counted = () => lines.flatMap(({ msg, faults }) => (msg === 'index step failed' ? faults : []))
  await eventually('it failed four times', () => counted().includes(4))
  expect(counted()).toEqual([1, 2, 4])
  Object.assign(fake.chain, { poll })
  await atHead()
  Object.assign(fake.chain, fail)
  await eventually('it fails again', () => counted().length > 3)
  expect(counted()[3]).toBe(1)
})
