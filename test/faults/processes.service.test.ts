import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { createClosers } from '../../src/lib/lifecycle.ts'
import { longTimeouts } from '../support/long-timeouts.ts'
import { eventually } from '../support/process.ts'
import { startTestRedis } from '../support/services.ts'
import { createBalancer, type Outcome, type Question } from './balancer.ts'
import { type Chains, type Index, openChains, openIndex } from './rig.ts'
import { startApi } from './service.ts'

/*
 * Two processes of each kind on one database and one Redis, as in production, under load. No client notices a process
 * that stops in order. A process that is killed only breaks the connections it had.
 */

const wallet = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const approval = { chainId: 8453, token: wallet, spender: wallet, amount: '1' }
const questions: readonly Question[] = [
  ...[
    '/v1/hedge/events/8453/1',
    '/v1/hedge/events/8453/1/stats',
    '/v1/hedge/events?chainId=8453&limit=5',
    `/v1/hedge/positions/8453/wallet/${wallet}`,
    `/v1/wallets/${wallet}/portfolio`,
    '/v1/hedge/settlements?chainId=8453',
  ].map((path) => ({ method: 'GET', path }) as const),
  { method: 'POST', path: '/v1/tx/erc20/approve', body: JSON.stringify(approval) },
]

/** Concurrent requests. */
const AT_ONCE = 3

/**
 * Longer than the balancer needs to notice that a member is not ready, and longer than the time in which two signals
 * count as one.
 */
const DRAIN_MS = 1_000

const closers = createClosers()
const balancer = createBalancer()
let chains: Chains
let index: Index
let redis: { readonly REDIS_URL: string; readonly JOBS_PREFIX: string }
const traffic = new AbortController()
let last: Promise<void>

const startWorker = async (name: string) => {
  const worker = await index.start('worker', name, { ...longTimeouts, ...redis })
  await worker.waitForLine(/worker started/, 30_000)
  return worker
}

const startMember = async (name: string) => {
  const api = await startApi(index, { ...longTimeouts, DRAIN_MS: String(DRAIN_MS) }, { name })
  balancer.add(name, api.url)
  return api
}

const isGood = ({ status }: Outcome): boolean => status === 200
const bad = (outcomes: readonly Outcome[]): Outcome[] => outcomes.filter((outcome) => !isGood(outcome))

/** Resolves when each of these members has answered that many more requests. */
const answersOf = async (names: readonly string[], count: number): Promise<Outcome[]> => {
  const seen: Outcome[] = []
  const by = (name: string): number => seen.filter((outcome) => isGood(outcome) && outcome.tried.at(-1) === name).length
  await eventually(`answers of ${names}`, () => {
    seen.push(...balancer.take())
    return names.every((name) => by(name) >= count)
  })
  return seen
}

/** An open stream of settlements; `received` resolves at its end with everything that was sent. */
const listen = async (url: string): Promise<{ readonly received: Promise<string> }> => {
  const asked = get(`${url}/v1/hedge/settlements?since=now`, { headers: { accept: 'text/event-stream' } })
  const [response]: IncomingMessage[] = await once(asked, 'response')
  let text = ''
  response?.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  return { received: once(asked, 'close').then(() => text) }
}

let workers: Record<'first' | 'second', Awaited<ReturnType<typeof startWorker>>>
let apis: Record<'one' | 'two', Awaited<ReturnType<typeof startApi>>>

/** The last log lines of the members. */
const lastLogs = (): string => [apis.one, apis.two].map(({ process }) => process.tail()).join('\n')

beforeAll(async () => {
  const server = closers.add('Redis', await startTestRedis(), (it) => it.close())
  redis = { REDIS_URL: server.url, JOBS_PREFIX: `test-${process.pid}-processes` }
  chains = closers.add('chains', await openChains(1), (it) => it.close())
  const store = { server: inject('postgresUrl'), template: inject('templateDatabase') }
  index = closers.add('index', await openIndex({ store, chains, seed: 1 }), (it) => it.close())
  for (let at = 0; at < 3; at += 1) await chains.traffic.mine(3)
  await chains.traffic.createEvent()
  const [first, second] = await Promise.all([startWorker('first'), startWorker('second')])
  workers = { first, second }
  const [one, two] = await Promise.all([startMember('one'), startMember('two')])
  apis = { one, two }
  last = chains.traffic.run({ everyMs: 200, perSecond: 10, signal: traffic.signal })
  closers.add('traffic', traffic, async (it) => {
    it.abort()
    await last
  })
  closers.add('balancer', balancer, (it) => it.stop())
  balancer.start(questions, AT_ONCE)
}, 120_000)
afterAll(() => closers.close())

test('a rolling restart fails no request, and its streams end with the time to reconnect', async () => {
  await answersOf(['one', 'two'], 20)
  const { received } = await listen(apis.one.url)
  for (const name of ['one', 'two'] as const) {
    balancer.take()
    apis[name].process.terminate()
    expect(await apis[name].process.exited).toBe('exited with code 0')
    balancer.remove(name)
    const stopped = balancer.take()
    expect(stopped.length).toBeGreaterThan(AT_ONCE)
    apis[name] = await startMember(name)
    const outcomes = [...stopped, ...(await answersOf(['one', 'two'], 20))]
    const [failed, again] = [bad(outcomes), outcomes.filter(({ tried }) => tried.length > 1)]
    console.log(
      `shutdown: ${name} restarted under ${outcomes.length} requests, ${failed.length} failed, ${again.length} put to the other`,
    )
    expect([failed, again], lastLogs()).toEqual([[], []])
  }
  expect(await received).toMatch(/\nretry: \d+\nevent: end\ndata: .*\n\n$/)
})

test('a killed API process fails only the requests it was answering, and reads are retried at the other process', async () => {
  balancer.take()
  await apis.one.process.kill()
  const outcomes = await answersOf(['two'], 50)
  balancer.remove('one')
  const failed = bad(outcomes)
  const others = failed.filter(({ method, tried }) => method === 'GET' || tried.at(-1) !== 'one')
  console.log(
    `kill of an API: ${outcomes.length} requests, ${failed.length - others.length} POSTs that broke with its connections, ${others.length} others that failed`,
  )
  expect(others, lastLogs()).toEqual([])
  apis.one = await startMember('one')
  expect(bad(await answersOf(['one', 'two'], 20))).toEqual([])
})

test('a killed worker fails no request, and the other worker follows the chain and finishes its jobs', async () => {
  balancer.take()
  const leads = async (): Promise<'first' | 'second'> => {
    const { who } = await index.commits.first(Date.now(), undefined, 10_000)
    return who === 'first' ? 'first' : 'second'
  }
  const leader = await leads()
  const other = leader === 'first' ? 'second' : 'first'
  const first = Date.now()
  await workers[leader].kill()
  await index.commits.first(first, other, 10_000)
  const answers = await answersOf(['one', 'two'], 50)

  // A job that a worker began before it was killed is taken over by the next worker that starts.
  const queue = new Redis(redis.REDIS_URL)
  const key = `${redis.JOBS_PREFIX}:observe`
  const runsHere = async (): Promise<boolean> => {
    const ids = await queue.lrange(`${key}:active`, 0, -1)
    const jobs = await Promise.all(ids.map((id) => queue.hget(`${key}:${id}`, 'data')))
    return jobs.some((data) => data?.includes('8453'))
  }
  const stopsInJob = async (): Promise<boolean> => {
    workers[other].freeze()
    if (await runsHere()) return true
    workers[other].thaw()
    return false
  }
  await eventually('it is stopped while a job of the chain runs', stopsInJob)
  expect(bad([...answers, ...balancer.take()])).toEqual([])
  const killed = Date.now()
  await workers[other].kill()
  expect(await runsHere()).toBe(true)
  queue.disconnect()
  const third = await startWorker('third')
  traffic.abort()
  await last
  const block = await chains.traffic.mine(2)
  await index.untilExact(block, 20_000)
  const client = new Client(index.database.url)
  await client.connect()
  const waiting = async (): Promise<number> => {
    const { rows } = await client.query('SELECT count(*)::int AS waiting FROM refresh_queue WHERE chain_id = 8453')
    return rows[0]?.waiting
  }
  await eventually('everything is observed', async () => (await waiting()) === 0, 90_000)
  const without = balancer.take()
  const failed = bad(without)
  console.log(
    `kill of both workers: ${without.length} requests, ${failed.length} failed; all is observed ${Date.now() - killed} ms after the second`,
  )
  await client.end()
  // No member is ready when the start of the third takes longer than a worker may be silent.
  expect(failed.filter(({ tried }) => tried.length > 0)).toEqual([])
  // On a busy machine the database may answer late; the next job does what such a job leaves.
  expect(third.logged(/job dropped/).filter((line) => !line.includes('the database is out of reach'))).toEqual([])
}, 120_000)

test('a second signal ends a draining process at once, with exit code 1', async () => {
  apis.one.process.terminate()
  await eventually('it drains', async () => (await apis.one.get('/readyz')).status === 503)
  // Waits, because two signals in quick succession count as one: under npm a Ctrl-C arrives twice.
  apis.one.process.terminate()
  await sleep(600)
  expect(apis.one.process.hasExited()).toBe(false)
  apis.one.process.terminate()
  expect(await apis.one.process.exited).toBe('exited with code 1')
  expect(apis.one.process.tail()).toContain('stopping at once')
})
