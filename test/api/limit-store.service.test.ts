import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLimitStore } from '../../src/api/limits/store.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { refusalNames, startRefusingRedis } from '../support/refusing-redis.ts'
import { startTestRedis, type TestService } from '../support/services.ts'

const lines: string[] = []
const log = pino({ level: 'warn' }, { write: (line) => lines.push(line) })

let redis: TestService
let database: TestDatabase
let clients = 0
beforeAll(async () => {
  ;[redis, database] = await Promise.all([startTestRedis(), createTestDatabase()])
})
afterAll(() => Promise.all([redis.close(), database.close()]))

/** An API process with a limit of four requests a minute. */
const start = async (redisUrl: string, prefix: string, name = 'one') => {
  const limitStore = createLimitStore({ redisUrl, prefix, log: log.child({ process: name }) })
  const limits = { requestsPerMinute: 4, trustedProxies: 1 }
  const { app, metrics, close } = await openApp({ databaseUrl: database.url, limits, limitStore })
  return {
    limitStore,
    ask: async (headers = {}) => (await app.inject({ url: '/v1/chains', headers })).statusCode,
    /** What `/status` reports of the process, asked by a client whom no limit has stopped yet. */
    async alarms() {
      clients += 1
      const headers = { 'x-forwarded-for': `198.51.100.${clients}` }
      return (await app.inject({ url: '/status', headers })).json().data.alarms
    },
    metric: () => metrics.metrics(),
    async close() {
      await close()
      limitStore.close()
    },
  }
}

test('processes on one Redis share a limit, and systems with another prefix do not', async () => {
  const prefix = `test-${randomUUID()}`
  const [one, two, other] = await Promise.all([
    start(redis.url, prefix),
    start(redis.url, prefix),
    start(redis.url, `${prefix}-b`),
  ])
  await expect
    .poll(() => [one, two, other].map(({ limitStore }) => limitStore.redis.status))
    .toEqual(['ready', 'ready', 'ready'])
  const tagged = { 'if-none-match': '"x"' }
  expect([await one.ask(), await two.ask(), await one.ask(tagged)]).toEqual([200, 200, 200])
  // What came with a tag is counted after it is answered.
  await expect.poll(() => one.limitStore.redis.get(`${prefix}:requests:127.0.0.1`)).toBe('3')
  expect([await two.ask(), await one.ask(), await two.ask(tagged)]).toEqual([200, 429, 429])
  expect(await other.ask()).toBe(200)
  await Promise.all([one.close(), two.close(), other.close()])
})

test('each process counts on its own while the Redis is out of reach, which is logged a few times', async () => {
  lines.length = 0
  const alone = await start('redis://127.0.0.1:9', 'nowhere', 'alone')
  const statuses: number[] = []
  for (let request = 0; request < 10; request += 1) statuses.push(await alone.ask())
  expect(statuses).toEqual([200, 200, 200, 200, 429, 429, 429, 429, 429, 429])
  const logged = lines.filter((line) => line.includes('counts requests on its own'))
  expect(logged.length).toBeGreaterThan(0)
  expect(logged.length).toBeLessThanOrEqual(3)
  await alone.close()
})

test.each(refusalNames)(
  'a process keeps the limit while its Redis rejects writes (%s), reports it, and then counts with the others again',
  async (refusal) => {
    lines.length = 0
    const own = await startRefusingRedis()
    const [one, two] = await Promise.all([start(own.url, 'system'), start(own.url, 'system', 'two')])
    try {
      await expect.poll(() => [one, two].map(({ limitStore }) => limitStore.redis.status)).toEqual(['ready', 'ready'])
      expect(await one.ask()).toBe(200)
      await own.refuse(refusal)
      const from = (client: number) => ({ 'x-forwarded-for': `192.0.2.${client}` })
      const statuses: number[] = []
      for (let request = 0; request < 90; request += 1) statuses.push(await one.ask({ ...from(1) }))
      expect(statuses.filter((status) => status === 200)).toHaveLength(4)
      // A request with a tag is counted after its answer, and judged by the same count.
      expect(await one.ask({ ...from(1), 'if-none-match': '"x"' })).toBe(429)
      // Each process logs at most three faults in ten seconds, and the other one may log its own.
      const logged = lines.filter((line) => line.includes('counts requests on its own') && line.includes('"one"'))
      expect(logged.length).toBeLessThanOrEqual(3)
      expect(lines.join('')).toContain(refusal)
      expect(await one.alarms()).toEqual([expect.stringContaining('counts requests on its own')])
      expect(await one.metric()).toMatch(/^fx_rate_limit_alone_total [1-9]/m)

      await own.accept(refusal)
      await expect.poll(() => one.alarms()).toEqual([])
      const shared = [await one.ask(from(2)), await two.ask(from(2)), await one.ask(from(2)), await two.ask(from(2))]
      expect([...shared, await one.ask(from(2)), await two.ask(from(2))]).toEqual([200, 200, 200, 200, 429, 429])
    } finally {
      await Promise.all([one.close(), two.close()])
      await own.close()
    }
  },
)
