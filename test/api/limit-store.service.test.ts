import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLimitStore } from '../../src/api/limit-store.ts'
import { openApp } from '../support/app.ts'
import { startTestRedis, type TestService } from '../support/services.ts'

const lines: string[] = []
const log = pino({ level: 'warn' }, { write: (line) => lines.push(line) })

let redis: TestService
beforeAll(async () => {
  redis = await startTestRedis()
})
afterAll(() => redis.close())

/** An API process with a limit of four requests a minute. */
const start = async (redisUrl: string, prefix: string) => {
  const limitStore = createLimitStore({ redisUrl, prefix, log })
  const { app, close } = await openApp({ limits: { requestsPerMinute: 4 }, limitStore })
  return {
    limitStore,
    ask: async (headers = {}) => (await app.inject({ url: '/v1/chains', headers })).statusCode,
    async close() {
      await close()
      limitStore.close()
    },
  }
}

test('processes on one Redis share a limit, systems of another prefix do not', async () => {
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

test('a Redis out of reach refuses nobody, and is logged once', async () => {
  const alone = await start('redis://127.0.0.1:9', 'nowhere')
  for (let request = 0; request < 10; request += 1) expect(await alone.ask()).toBe(200)
  await expect.poll(() => lines.filter((line) => line.includes('requests are not counted')).length).toBe(1)
  await alone.close()
})
