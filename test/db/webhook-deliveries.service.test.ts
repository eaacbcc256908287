import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Database } from '../../src/db/pool.ts'
import { type Attempt, recordAttempts } from '../../src/db/webhooks/attempts.ts'
import {
  claimDeliveries,
  newestDeliveries,
  pruneDeliveries,
  replayDeliveries,
  storeDeliveries,
} from '../../src/db/webhooks/deliveries.ts'
import { changeEndpoint, type Endpoint, removeEndpoint } from '../../src/db/webhooks/endpoints.ts'
import { resumeEndpoint } from '../../src/db/webhooks/resume.ts'
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
  await store.count(0)
  await store.add('we_1')
  await store.add('we_2')
})

const at = Date.parse('2026-11-25T10:00:00Z')
const now = new Date(at)
const after = (ms: number): Date => new Date(at + ms)
const never = new AbortController().signal

const claim = async (limit = 10, ms = at, signal = never): Promise<number[]> =>
  (await claimDeliveries(database, 'we_1', limit, () => ms, signal)).map(({ seq }) => seq)

const change = (to: Partial<Endpoint>) => database.run((handle) => changeEndpoint(handle, 'we_1', to))
const seqs = async (): Promise<number[]> => (await store.stored()).map(({ seq }) => seq)

test('messages that are due are claimed, those that are due longest first, in the order of their numbers', async () => {
  await store.store('we_1', 1, { nextAt: after(0) })
  await store.store('we_1', 2, { nextAt: after(1) })
  await store.store('we_1', 3, { nextAt: after(-2) })
  await store.store('we_1', 4, { nextAt: after(-1) })
  for (const seq of [3, 5]) await store.store('we_2', seq)
  expect(await claim(2)).toEqual([3, 4])
  expect(await claim(2)).toEqual([1])
  expect(await claim(2, at + 1)).toEqual([2])
  const [first, ...others] = await store.stored()
  expect(first).toMatchObject({ nextAt: after(60_000), sentAt: now, attempt: 0, state: 'waiting' })
  expect(others.filter(({ endpoint }) => endpoint === 'we_2').map(({ sentAt }) => sentAt)).toEqual([null, null])
  expect(await claim(10, at + 59_999)).toEqual([])
  expect(await claim(10, at + 60_000)).toEqual([1, 3, 4])
})

test('of messages that are due equally long, the oldest ones are claimed', async () => {
  for (const seq of [4, 2, 3, 1]) await store.store('we_1', seq)
  expect(await claim(3)).toEqual([1, 2, 3])
})

test('of each entity only the oldest message that waits is claimed, also when it is not due', async () => {
  await store.store('we_1', 1, { entity: 'a', state: 'dead' })
  await store.store('we_1', 2, { entity: 'a' })
  await store.store('we_1', 3, { entity: 'a' })
  await store.store('we_1', 4, { entity: 'b', nextAt: after(1) })
  await store.store('we_1', 5, { entity: 'b' })
  await store.store('we_1', 6, { entity: 'c', state: 'delivered' })
  await store.store('we_1', 8, { entity: 'd' })
  await store.store('we_2', 7, { entity: 'd' })
  expect(await claim()).toEqual([2, 8])
})

test('nothing is claimed while the endpoint is not active, or for a worker that stops', async () => {
  await store.store('we_1', 1)
  const controller = new AbortController()
  controller.abort()
  expect(await claim(10, at, controller.signal)).toEqual([])
  for (const state of ['paused', 'disabled'] as const) {
    await change({ state })
    expect(await claim()).toEqual([])
  }
  await change({ state: 'active' })
  expect(await claim()).toEqual([1])
})

const success = (seq: number, keeps = true, ms = 0): Attempt => ({
  ...{ id: `event.changed.${seq}`, at: after(ms), failed: null, keeps },
})
const failure = (seq: number, to: Partial<NonNullable<Attempt['failed']>> = {}, ms = 0): Attempt => ({
  ...success(seq, true, ms),
  failed: { failure: `no ${seq}`, nextAt: after(5_000), retryAt: after(5_000), state: 'active', ...to },
})

test('attempts are recorded for the messages of their endpoint only', async () => {
  for (const endpoint of ['we_1', 'we_2'])
    for (const seq of [1, 2, 3, 4]) await store.store(endpoint, seq, { failure: seq === 1 ? 'an earlier one' : null })
  const attempts = [success(1), success(2, false, 7), failure(3), failure(4, { nextAt: null, state: 'paused' }, 9)]
  await recordAttempts(database, await store.endpoint('we_1'), attempts)
  const rows = await store.stored()
  expect(rows.filter(({ endpoint }) => endpoint === 'we_1')).toMatchObject([
    { seq: 1, state: 'delivered', attempt: 1, endedAt: after(7), failure: null },
    { seq: 3, state: 'waiting', attempt: 1, endedAt: null, nextAt: after(5_000), failure: 'no 3' },
    { seq: 4, state: 'dead', attempt: 1, endedAt: after(9), failure: 'no 4' },
  ])
  const others = rows.filter(({ endpoint }) => endpoint === 'we_2')
  expect(others.map(({ state, attempt }) => [state, attempt])).toEqual(Array(4).fill(['waiting', 0]))
  expect(await store.endpoint('we_1')).toMatchObject({ state: 'paused', succeededAt: after(7), failingSince: now })
  expect(await store.endpoint('we_2')).toMatchObject({ state: 'active', succeededAt: null, failingSince: null })
})

test('attempts whose rows are locked for too long are not recorded at all', async () => {
  await store.store('we_1', 1)
  const before = await store.endpoint('we_1')
  await database.transaction(async (handle) => {
    await handle.execute(sql`SELECT FROM deliveries FOR UPDATE`)
    await expect(recordAttempts(database, before, [failure(1)], 20)).rejects.toThrow()
  })
  expect(await store.endpoint('we_1')).toEqual(before)
  expect(await store.stored()).toMatchObject([{ attempt: 0, failure: null }])
})

test('a success ends a failure of the endpoint, unless another message failed since it was sent', async () => {
  const failing = { failingSince: after(-9), retryAt: after(-1), failure: 'status 500' }
  await change(failing)
  const before = await store.endpoint('we_1')
  await change({ retryAt: after(1_000) })
  await recordAttempts(database, before, [success(1)])
  expect(await store.endpoint('we_1')).toMatchObject({ ...failing, retryAt: after(1_000), succeededAt: now })
  await recordAttempts(database, await store.endpoint('we_1'), [success(1)])
  expect(await store.endpoint('we_1')).toMatchObject({ failingSince: null, retryAt: null, failure: null })
  const working = await store.endpoint('we_1')
  await change(failing)
  await recordAttempts(database, working, [success(1)])
  expect(await store.endpoint('we_1')).toMatchObject(failing)
})

test('a failure of a message that another worker has delivered meanwhile changes nothing', async () => {
  const before = await store.endpoint('we_1')
  await store.store('we_1', 1, { state: 'delivered', attempt: 10 })
  await store.store('we_1', 2)
  await recordAttempts(database, before, [failure(1, { nextAt: null, state: 'paused' }), failure(3)])
  expect(await store.stored()).toMatchObject([
    { seq: 1, state: 'delivered', attempt: 10, failure: null },
    { seq: 2, state: 'waiting', attempt: 0 },
  ])
  expect(await store.endpoint('we_1')).toEqual(before)
})

test('failures together keep the first time, the longest pause and the last reason', async () => {
  for (const seq of [1, 2]) await store.store('we_1', seq)
  const attempts = [failure(1, { retryAt: after(9_000) }), failure(2, {}, 50)]
  await recordAttempts(database, await store.endpoint('we_1'), attempts)
  expect(await store.endpoint('we_1')).toMatchObject({ failingSince: now, retryAt: after(9_000), failure: 'no 2' })
})

test('a failure leaves an endpoint disabled that was disabled meanwhile, and paused one paused', async () => {
  const before = await store.endpoint('we_1')
  await change({ state: 'disabled', failure: 'status 410' })
  await store.store('we_1', 1)
  await recordAttempts(database, before, [failure(1, { state: 'paused' })])
  expect(await store.endpoint('we_1')).toMatchObject({ state: 'disabled', failure: 'status 410', failingSince: null })
  expect(await store.stored()).toMatchObject([{ attempt: 1, failure: 'no 1' }])
  await change({ state: 'paused' })
  await recordAttempts(database, before, [failure(1)])
  expect((await store.endpoint('we_1')).state).toBe('paused')
})

test('attempts of an endpoint that was removed are recorded nowhere', async () => {
  const before = await store.endpoint('we_1')
  await store.store('we_2', 1)
  await database.run((handle) => removeEndpoint(handle, 'we_1'))
  await recordAttempts(database, before, [success(1), failure(1)])
  expect(await store.stored()).toMatchObject([{ endpoint: 'we_2', attempt: 0 }])
})

test('a record waits for a command of an operator no longer than its limit', async () => {
  const endpoint = await store.endpoint('we_1')
  await database.transaction(async (handle) => {
    await handle.execute(sql`SELECT FROM webhook_endpoints WHERE id = 'we_1' FOR UPDATE`)
    await expect(recordAttempts(database, endpoint, [success(1)], 20)).rejects.toThrow(/lock timeout/)
  })
  await recordAttempts(database, endpoint, [success(1)])
  expect((await store.endpoint('we_1')).succeededAt).toEqual(now)
})

const storeEnded = async (): Promise<void> => {
  await store.store('we_1', 1, { state: 'dead', attempt: 10, endedAt: after(-10), failure: 'status 500' })
  await store.store('we_1', 2, { state: 'delivered', attempt: 1, endedAt: after(-9) })
  await store.store('we_1', 3, { attempt: 3 })
  await store.store('we_2', 1, { state: 'dead', attempt: 10, endedAt: after(-10) })
}

test.each([
  ['dead' as const, [1]],
  [{ id: 'event.changed.2' }, [2]],
  [{ id: 'event.changed.3' }, []],
  [{ since: after(-10) }, [1, 2]],
  [{ since: after(-9) }, [2]],
  [{ since: after(-8) }, []],
])('a replay of %j sends %j again, with all their attempts', async (which, expected) => {
  await storeEnded()
  const many = await database.run((handle) => replayDeliveries(handle, 'we_1', which, now))
  expect(many).toBe(expected.length)
  const again = (await store.stored()).filter(({ sentAt }) => sentAt !== null)
  expect(again.map(({ endpoint, seq }) => [endpoint, seq])).toEqual(expected.map((seq) => ['we_1', seq]))
  for (const row of again)
    expect(row).toMatchObject({ state: 'waiting', attempt: 0, nextAt: now, sentAt: now, endedAt: null })
  expect((await store.stored()).find(({ seq }) => seq === 3)).toMatchObject({ attempt: 3, nextAt: new Date(0) })
})

test('messages that ended are deleted after the time of their state, the oldest first, so many at most', async () => {
  for (const [seq, ms] of [1, 0, -1, -2].entries()) {
    await store.store('we_1', 10 + seq, { state: 'delivered', endedAt: after(ms) })
    await store.store('we_1', 20 + seq, { state: 'dead', endedAt: after(ms - 1_000) })
  }
  await store.store('we_1', 30)
  const prune = (limit: number) =>
    database.run((handle) => pruneDeliveries(handle, { delivered: now, dead: after(-1_000) }, limit))
  expect([await prune(1), await seqs()]).toEqual([1, [10, 11, 12, 13, 20, 21, 22, 30]])
  expect([await prune(2), await seqs()]).toEqual([2, [10, 11, 12, 20, 21, 30]])
  expect([await prune(10), await seqs()]).toEqual([1, [10, 11, 20, 21, 30]])
})

test('a resume makes messages due now, dead ones included, and those of another endpoint stay as they are', async () => {
  await storeEnded()
  await store.store('we_1', 4, { nextAt: after(3_600_000), sentAt: after(-60_001) })
  await store.store('we_1', 5, { nextAt: after(60_000), sentAt: after(-59_000) })
  await store.store('we_1', 6, { nextAt: after(-5) })
  await store.store('we_1', 8, { nextAt: after(3_660_000), sentAt: after(3_600_000) })
  for (const seq of [4, 6, 7]) await store.store('we_2', seq, { nextAt: after(3_600_000) })
  await change({ state: 'paused', failingSince: now, retryAt: after(9), failure: 'status 500' })
  expect(await resumeEndpoint(database, 'we_1', false, now)).toEqual({ waiting: 6, revived: 1 })
  const due = (await store.stored()).map(({ endpoint, seq, nextAt }) => [endpoint, seq, nextAt.getTime() - at])
  expect(due.filter(([, seq]) => Number(seq) > 3)).toEqual([
    ['we_1', 4, 0],
    ['we_2', 4, 3_600_000],
    // Its attempt may be under way for another second.
    ['we_1', 5, 1_000],
    ['we_1', 6, -5],
    ['we_2', 6, 3_600_000],
    ['we_2', 7, 3_600_000],
    // It was sent while the clock was an hour ahead.
    ['we_1', 8, 60_000],
  ])
  expect((await store.stored()).map(({ endpoint, state }) => [endpoint, state])).toContainEqual(['we_2', 'dead'])
  const endpoint = { state: 'active', failingSince: null, retryAt: null, failure: null }
  expect(await store.endpoint('we_1')).toMatchObject(endpoint)
})

test('a resume can leave dead messages, and of no endpoint it is nothing', async () => {
  await storeEnded()
  expect(await resumeEndpoint(database, 'we_1', true, now)).toEqual({ waiting: 1, revived: 0 })
  expect((await store.stored())[0]).toMatchObject({ endpoint: 'we_1', state: 'dead' })
  expect(await resumeEndpoint(database, 'we_none', false, now)).toBeUndefined()
})

test('the newest messages of an endpoint are listed, of one state or all', async () => {
  await storeEnded()
  const list = async (state: 'dead' | 'waiting' | undefined, limit: number) =>
    (await database.run((handle) => newestDeliveries(handle, 'we_1', state, limit))).map(({ seq }) => seq)
  expect(await list(undefined, 10)).toEqual([3, 2, 1])
  expect(await list(undefined, 2)).toEqual([3, 2])
  expect(await list('dead', 10)).toEqual([1])
})

test('messages that are stored already stay as they are, and the cursor moves', async () => {
  await store.store('we_1', 1, { attempt: 5 })
  const message = (seq: number) => ({ id: `event.changed.${seq}`, seq, entity: 'a', body: '{"new":1}' })
  const put = (messages: ReturnType<typeof message>[], seq: number) =>
    database.transaction((handle) => storeDeliveries(handle, 'we_1', messages, { epoch: 'e2', seq }, now))
  await put([message(1), message(2)], 2)
  expect(await store.stored()).toMatchObject([
    { attempt: 5, body: '{}' },
    { attempt: 0, body: '{"new":1}', nextAt: now, sentAt: null, state: 'waiting' },
  ])
  await put([], 3)
  expect(await store.endpoint('we_1')).toMatchObject({ epoch: 'e2', seq: 3 })
  expect(await store.endpoint('we_2')).toMatchObject({ epoch: 'e1', seq: 0 })
})
