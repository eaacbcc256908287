import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { addApiKey, removeApiKey } from '../../src/db/api-keys.ts'
import type { Database } from '../../src/db/pool.ts'
import {
  changeEndpoint,
  changeLocked,
  dueEndpoints,
  type Endpoint,
  readEndpoint,
  readEndpoints,
  removeEndpoint,
  webhooksHealth,
} from '../../src/db/webhooks/endpoints.ts'
import { createMetrics } from '../../src/lib/observe/metrics.ts'
import { attempts } from '../../src/webhooks/channel.ts'
import { createWebhookJobs } from '../../src/webhooks/jobs.ts'
import { measureWebhooks } from '../../src/webhooks/metrics.ts'
import { createPost } from '../../src/webhooks/post.ts'
import { openWebhookStore, type WebhookStore } from '../support/webhook-store.ts'

let store: WebhookStore
let database: Database
beforeAll(async () => {
  store = await openWebhookStore()
  database = store.database
})
afterAll(() => store?.close())
beforeEach(async () => {
  await store.clear()
  await store.count(100)
})

const at = Date.parse('2026-11-25T10:00:00Z')
const now = new Date(at)
const after = (ms: number): Date => new Date(at + ms)

const change = (id: string, to: Partial<Endpoint>) => database.run((handle) => changeEndpoint(handle, id, to))
const ids = async (): Promise<string[]> => (await database.run(readEndpoints)).map(({ id }) => id)

test('an endpoint begins at the newest change, and as many as a worker serves can be added', async () => {
  await store.add('we_1', {}, 2)
  expect(await store.endpoint('we_1')).toMatchObject({ epoch: 'e1', seq: 100, state: 'active', succeededAt: null })
  await store.add('we_0', {}, 2)
  await expect(store.add('we_3', {}, 2)).rejects.toThrow('there are 2 endpoints, the most that a worker serves')
  expect(await ids()).toEqual(['we_1', 'we_0'])
})

test('a key has as many endpoints as it may have, next to those of others, and lists its own', async () => {
  for (const id of ['ak_1', 'ak_2']) {
    const key = { id, name: id, hash: id, createdAt: now }
    await database.run(async (handle) => {
      await removeApiKey(handle, id)
      await addApiKey(handle, key)
    })
  }
  await store.add('we_0')
  await store.add('we_1', { apiKey: 'ak_1', createdAt: after(1) }, 200, 2)
  await store.add('we_2', { apiKey: 'ak_1', createdAt: after(2) }, 200, 2)
  await expect(store.add('we_3', { apiKey: 'ak_1' }, 200, 2)).rejects.toThrow('the key has 2 endpoints, the most')
  await store.add('we_3', { apiKey: 'ak_2' }, 200, 1)
  await store.add('we_4', {}, 200, 1)
  await expect(store.add('we_5', { apiKey: 'ak_2' }, 5, 2)).rejects.toThrow('there are 5 endpoints')
  const own = await database.run((handle) => readEndpoints(handle, 'ak_1'))
  expect(own.map(({ id }) => id)).toEqual(['we_1', 'we_2'])
})

test('an endpoint of a database without changes begins at their beginning', async () => {
  await store.clear()
  await store.add('we_1')
  expect(await store.endpoint('we_1')).toMatchObject({ epoch: '', seq: 0 })
})

test('endpoints are listed by age', async () => {
  await store.add('we_c', { createdAt: after(2) })
  await store.add('we_b', { createdAt: after(1) })
  await store.add('we_a', { createdAt: after(1) })
  expect(await ids()).toEqual(['we_a', 'we_b', 'we_c'])
})

test('an endpoint is changed and removed alone, with its messages', async () => {
  for (const id of ['we_1', 'we_2']) {
    await store.add(id)
    await store.store(id, 1)
  }
  expect(await change('we_1', { state: 'paused' })).toBe(true)
  expect(await change('we_none', { state: 'paused' })).toBe(false)
  expect([(await store.endpoint('we_1')).state, (await store.endpoint('we_2')).state]).toEqual(['paused', 'active'])
  const remove = (id: string) => database.run((handle) => removeEndpoint(handle, id))
  expect([await remove('we_none'), await remove('we_1'), await remove('we_1')]).toEqual([false, true, false])
  expect(await database.run((handle) => readEndpoint(handle, 'we_1'))).toBeUndefined()
  expect([await ids(), (await store.stored()).map(({ endpoint }) => endpoint)]).toEqual([['we_2'], ['we_2']])
})

test('a change of a locked endpoint is of its newest state, and an error changes nothing', async () => {
  await store.add('we_1', { url: '0' })
  const add = () => changeLocked(database, 'we_1', async ({ url }) => ({ url: String(Number(url) + 1) }))
  expect(await Promise.all([add(), add(), add()])).toEqual([true, true, true])
  expect((await store.endpoint('we_1')).url).toBe('3')
  const fails = changeLocked(database, 'we_1', () => Promise.reject(new Error('no')))
  await expect(fails).rejects.toThrow('no')
  let called = false
  const none = changeLocked(database, 'we_none', async () => {
    called = true
    return {}
  })
  expect([await none, called]).toEqual([false, false])
})

const due = () => database.run((handle) => dueEndpoints(handle, now))

test('an endpoint is due when there are changes that it has not read', async () => {
  await store.add('we_1')
  expect(await due()).toEqual([])
  await store.count(101)
  expect(await due()).toEqual(['we_1'])
  await change('we_1', { seq: 101 })
  expect(await due()).toEqual([])
  await store.count(101, 'e2')
  expect(await due()).toEqual(['we_1'])
  await change('we_1', { state: 'paused' })
  expect(await due()).toEqual([])
})

test('an endpoint is due when one of its messages is due and it does not pause', async () => {
  await store.add('we_1')
  await store.add('we_2')
  await store.store('we_1', 1, { nextAt: after(1) })
  await store.store('we_1', 2, { state: 'dead' })
  expect(await due()).toEqual([])
  await store.store('we_1', 3, { nextAt: now })
  expect(await due()).toEqual(['we_1'])
  for (const [ms, expected] of [
    [1, []],
    [0, ['we_1']],
  ] as const) {
    await change('we_1', { retryAt: after(ms) })
    expect(await due()).toEqual(expected)
  }
  await change('we_1', { state: 'disabled' })
  expect(await due()).toEqual([])
})

test('health has the endpoints, what waits, and which endpoints fail, the longest first', async () => {
  for (const id of ['we_1', 'we_2', 'we_3']) await store.add(id)
  await store.store('we_1', 1)
  await store.store('we_2', 2)
  await store.store('we_2', 3, { state: 'dead' })
  const ago = (hours: number): Date => new Date(Date.now() - hours * 3_600_000)
  await change('we_1', { failingSince: ago(1), failure: 'status 500' })
  await change('we_3', { failingSince: ago(30), failure: 'status 410', state: 'disabled' })
  const health = await database.run(webhooksHealth)
  expect(health).toMatchObject({
    ...{ endpoints: 3, waiting: 2 },
    failing: [
      { id: 'we_3', state: 'disabled', failure: 'status 410' },
      { id: 'we_1', state: 'active', failure: 'status 500' },
    ],
  })
  expect(Math.round(Number(health.failing[0]?.failingSeconds) / 3_600)).toBe(30)
})

test('metrics have the attempts by their outcome, the endpoints, what waits and what fails', async () => {
  const metrics = createMetrics()
  const stop = measureWebhooks(metrics, database)
  for (const id of ['we_1', 'we_2', 'we_3']) await store.add(id)
  for (const seq of [1, 2]) await store.store('we_1', seq)
  await change('we_2', { failingSince: new Date(Date.now() - 3_600_000) })
  const results = [
    { ok: true, status: 200 },
    { ok: false, failure: 'no' },
    { ok: false, failure: 'no' },
  ] as const
  for (const result of results) await attempts.trace({ endpoint: 'we_1' }, async () => result)
  stop()
  await attempts.trace({ endpoint: 'we_1' }, async () => ({ ok: true, status: 200 }))
  const text = await metrics.metrics()
  expect(text).toContain('fx_webhook_attempt_duration_seconds_count{outcome="delivered"} 1\n')
  expect(text).toContain('fx_webhook_attempt_duration_seconds_count{outcome="failed"} 2\n')
  expect(text).toContain('fx_webhook_endpoints 3\n')
  expect(text).toContain('fx_webhooks_waiting 2\n')
  expect(text).toMatch(/^fx_webhook_failing_seconds\{endpoint="we_2"\} 36\d\d(\.\d+)?$/m)
  expect(text).not.toContain('endpoint="we_1"')
})

const DAY_MS = 86_400_000

test('a dispatch requests each endpoint that is due, and deletes what is no longer kept', async () => {
  for (const id of ['we_1', 'we_2', 'we_3']) await store.add(id)
  await store.store('we_1', 1)
  await store.store('we_3', 2)
  const ended = [
    [10, 'delivered', -3 * DAY_MS - 1],
    [11, 'delivered', -3 * DAY_MS],
    [12, 'dead', -30 * DAY_MS - 1],
    [13, 'dead', -30 * DAY_MS],
  ] as const
  for (const [seq, state, ms] of ended) await store.store('we_2', seq, { state, endedAt: after(ms) })
  const post = createPost({ allowsLoopback: false })
  const to = { database, tokens: store.tokens, vault: store.vault, post, now: () => at, random: () => 0 }
  const asked: string[] = []
  const request = async (id: string): Promise<void> => void asked.push(id)
  const left = async (): Promise<number[]> => (await store.stored()).map(({ seq }) => seq)
  await createWebhookJobs(database, null, request).dispatch()
  expect([asked, await left()]).toEqual([[], [1, 2, 10, 11, 12, 13]])
  await createWebhookJobs(database, to, request, 1).dispatch()
  expect([asked.toSorted(), await left()]).toEqual([
    ['we_1', 'we_3'],
    [1, 2, 10, 11, 13],
  ])
  await createWebhookJobs(database, to, request).dispatch()
  expect(await left()).toEqual([1, 2, 11, 13])
})
