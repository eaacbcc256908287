import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { changeEndpoint, type Endpoint } from '../../src/db/webhooks/endpoints.ts'
import { type Delivering, deliver } from '../../src/webhooks/deliver.ts'
import type { Post, Posted } from '../../src/webhooks/post.ts'
import { createVault, newSecret } from '../../src/webhooks/secrets.ts'
import { openWebhookStore, type WebhookStore } from '../support/webhook-store.ts'

let store: WebhookStore
beforeAll(async () => {
  store = await openWebhookStore()
})
afterAll(() => store?.close())
beforeEach(async () => {
  await store.clear()
  await store.count(0)
})

const at = Date.parse('2026-11-25T10:00:00Z')
const SECOND_MS = 1_000
const HOUR_MS = 3_600 * SECOND_MS

const after = (ms: number): Date => new Date(at + ms)
const good: Posted = { ok: true, status: 204 }
const bad: Posted = { ok: false, status: 500, failure: 'status 500' }

/** Runs one job at a time. Returns the ids of what was sent, in order. */
const run = async (
  post: Post = async () => good,
  {
    ms = at,
    sizes = {},
    signal = new AbortController().signal,
  }: { ms?: number; sizes?: Delivering['sizes'] & object; signal?: AbortSignal } = {},
): Promise<string[]> => {
  const sent: string[] = []
  const recording: Post = (url, headers, body, ends) => {
    sent.push(headers['webhook-id'])
    return post(url, headers, body, ends)
  }
  const { database, tokens, vault } = store
  await deliver({ database, tokens, vault, post: recording, now: () => ms, random: () => 0, sizes }, 'we_1', signal)
  return sent
}

const idsOf = (...seqs: number[]): string[] => seqs.map((seq) => `event.changed.${seq}`)
const change = (to: Partial<Endpoint>) => store.database.run((handle) => changeEndpoint(handle, 'we_1', to))
const addWith = async (...seqs: number[]): Promise<void> => {
  await store.add('we_1')
  for (const seq of seqs) await store.store('we_1', seq)
}

test('a message is posted to the URL of its endpoint, signed, with its id and body', async () => {
  await store.add('we_1', { url: 'https://example.com/a' })
  await store.store('we_1', 7, { body: '{"a":1}' })
  let posted: unknown
  await run(async (url, headers, body) => {
    posted = { url, headers, body }
    return good
  })
  const { headers } = posted as { headers: Record<string, string> }
  expect(posted).toMatchObject({ url: 'https://example.com/a', body: '{"a":1}' })
  expect(headers).toMatchObject({ 'webhook-id': 'event.changed.7', 'webhook-timestamp': String(at / 1_000) })
  const clock = vi.spyOn(Date, 'now').mockReturnValue(at)
  expect(new Webhook(store.secret).verify('{"a":1}', headers)).toEqual({ a: 1 })
  clock.mockRestore()
})

test('an attempt that a stopping worker interrupts is no attempt, and the message is sent again after its claim', async () => {
  await addWith(1)
  const stop = new AbortController()
  const sent = await run(
    async () => {
      stop.abort()
      return { ok: false, failure: 'This operation was aborted' }
    },
    { signal: stop.signal },
  )
  expect(sent).toEqual(idsOf(1))
  expect(await store.stored()).toMatchObject([{ state: 'waiting', attempt: 0, failure: null, nextAt: after(60_000) }])
  expect(await store.endpoint('we_1')).toMatchObject({
    state: 'active',
    failingSince: null,
    retryAt: null,
    failure: null,
  })
  expect(await run(undefined, { ms: at + 59_999 })).toEqual([])
  expect(await run(undefined, { ms: at + 60_000 })).toEqual(idsOf(1))
})

test('a delivery that succeeded is recorded also when the worker stops', async () => {
  await addWith(1)
  const stop = new AbortController()
  const posts = async (): Promise<Posted> => {
    stop.abort()
    return good
  }
  await run(posts, { signal: stop.signal })
  expect([await store.stored(), (await store.endpoint('we_1')).succeededAt]).toEqual([[], after(0)])
})

test('a worker that stops begins nothing more: neither pages of changes, nor rounds', async () => {
  await addWith(1, 2)
  await store.floor(8453, 0)
  await store.change('event', '9', 5)
  await store.count(5)
  const stop = new AbortController()
  stop.abort()
  expect(await run(undefined, { signal: stop.signal })).toEqual([])
  expect([(await store.stored()).length, (await store.endpoint('we_1')).seq]).toEqual([2, 0])
  const ends = new AbortController()
  const posts = async (): Promise<Posted> => {
    ends.abort()
    return good
  }
  expect(await run(posts, { signal: ends.signal, sizes: { atOnce: 1 } })).toHaveLength(1)
})

test.each([
  [3, 3],
  [4, 4],
  [5, 4],
])('of %i messages a job of two rounds with two at once sends %i', async (many, sent) => {
  await addWith(...Array.from({ length: many }, (_, seq) => seq))
  let [running, most] = [0, 0]
  const posts = async (): Promise<Posted> => {
    running += 1
    most = Math.max(most, running)
    await new Promise(setImmediate)
    running -= 1
    return good
  }
  expect(await run(posts, { sizes: { rounds: 2, atOnce: 2 } })).toHaveLength(sent)
  expect([most, (await store.stored()).length]).toEqual([2, many - sent])
})

test('ten messages are sent at once by default, and one at a time while the endpoint fails', async () => {
  await addWith(...Array.from({ length: 11 }, (_, seq) => seq))
  const sizes = { rounds: 1 }
  expect(await run(undefined, { sizes })).toHaveLength(10)
  for (let seq = 20; seq < 25; seq += 1) await store.store('we_1', seq)
  await change({ failingSince: after(-1) })
  expect(await run(async () => bad, { sizes })).toHaveLength(1)
})

test('pages of changes are read until there are no more, before anything is sent', async () => {
  await store.add('we_1', { types: ['event.changed'] })
  await store.floor(8453, 0)
  for (const seq of [1, 2, 3]) await store.change('event', String(seq), seq)
  await store.count(3)
  expect(await run(undefined, { sizes: { page: 1 } })).toEqual(idsOf(1, 2, 3))
})

test('a message waits for the earlier ones of its entity, and one that failed holds them', async () => {
  await store.add('we_1')
  for (const seq of [1, 2]) await store.store('we_1', seq, { entity: 'a' })
  await store.store('we_1', 3)
  const results: string[] = []
  const posts: Post = async (_, headers) => {
    results.push(headers['webhook-id'])
    return headers['webhook-id'].endsWith('.1') && results.length < 3 ? bad : good
  }
  expect(await run(posts)).toEqual(idsOf(1, 3))
  expect(await run(posts, { ms: at + 5 * SECOND_MS })).toEqual(idsOf(1, 2))
})

test.each([
  ['paused', { state: 'paused' as const }, 0],
  ['disabled', { state: 'disabled' as const }, 0],
  ['to be tried a moment later', { retryAt: after(1) }, 0],
  ['to be tried now', { retryAt: after(0) }, 1],
])('an endpoint that is %s gets %#', async (_, to, sent) => {
  await addWith(1)
  await change(to)
  expect(await run()).toHaveLength(sent)
})

test('a failed attempt is recorded with its reason and its next time', async () => {
  await addWith(1)
  await run(async () => bad)
  expect(await store.stored()).toMatchObject([
    {
      state: 'waiting',
      attempt: 1,
      failure: 'status 500',
      nextAt: after(5 * SECOND_MS),
      sentAt: after(0),
      endedAt: null,
    },
  ])
  expect(await store.endpoint('we_1')).toMatchObject({
    ...{
      state: 'active',
      failingSince: after(0),
      retryAt: after(5 * SECOND_MS),
      failure: 'status 500',
      succeededAt: null,
    },
  })
})

test.each([
  [8, 500, 'waiting', 'active'],
  [9, 500, 'dead', 'paused'],
  [0, 410, 'waiting', 'disabled'],
  [9, 410, 'dead', 'disabled'],
])(
  'after %i attempts a further one with status %i leaves the message %s and the endpoint %s',
  async (attempt, status, state, endpoint) => {
    await store.add('we_1')
    await store.store('we_1', 1, { attempt })
    await run(async () => ({ ok: false, status, failure: `status ${status}` }))
    const ended = state === 'dead' ? after(0) : null
    expect(await store.stored()).toMatchObject([{ state, attempt: attempt + 1, endedAt: ended }])
    expect((await store.endpoint('we_1')).state).toBe(endpoint)
  },
)

test('a Retry-After delays the message and the endpoint', async () => {
  await addWith(1)
  await run(async () => ({ ...bad, retryAfter: '7200' }))
  expect(await store.stored()).toMatchObject([{ nextAt: after(2 * HOUR_MS) }])
  expect(await store.endpoint('we_1')).toMatchObject({ retryAt: after(2 * HOUR_MS) })
})

test('a delivered settlement is kept, and a delivered change is not', async () => {
  await store.add('we_1')
  for (const [seq, id] of ['settlement.settled.1', 'wallet.changed.2', 'event.changed.3'].entries())
    await store.store('we_1', seq, { id, failure: 'status 500', attempt: 1 })
  expect(await run()).toHaveLength(3)
  expect(await store.stored()).toMatchObject([
    { id: 'settlement.settled.1', state: 'delivered', attempt: 2, endedAt: after(0), failure: null },
  ])
})

test('the previous secret signs until its time, and not at it', async () => {
  const next = newSecret()
  const previous = { previousSecret: store.vault.encrypt('we_1', store.secret), previousUntil: after(1) }
  await store.add('we_1', { secret: store.vault.encrypt('we_1', next), ...previous })
  const clock = vi.spyOn(Date, 'now').mockReturnValue(at)
  for (const [seq, ms, secrets] of [
    [1, at, [next, store.secret]],
    [2, at + 1, [next]],
  ] as const) {
    await store.store('we_1', seq)
    let signed: Record<string, string> = {}
    const posts: Post = async (_, headers) => {
      signed = headers
      return good
    }
    expect(await run(posts, { ms })).toHaveLength(1)
    expect(signed['webhook-signature']?.split(' ')).toHaveLength(secrets.length)
    for (const secret of secrets) expect(new Webhook(secret).verify('{}', signed)).toEqual({})
  }
  clock.mockRestore()
})

test('without the key of a secret nothing is sent for a minute, and the endpoint reports why and since when', async () => {
  await addWith(1)
  const other = { ...store, vault: createVault([randomBytes(32)]) }
  const posts = vi.fn<Post>(async () => good)
  const to = {
    database: store.database,
    tokens: store.tokens,
    vault: other.vault,
    post: posts,
    now: () => at,
    random: () => 0,
  }
  await expect(deliver(to, 'we_1', new AbortController().signal)).rejects.toThrow('WEBHOOKS_KEY')
  const failure = expect.stringContaining('cannot be decrypted')
  expect(await store.endpoint('we_1')).toMatchObject({ failure, failingSince: after(0), retryAt: after(60_000) })
  const later = deliver({ ...to, now: () => at + 60_000 }, 'we_1', new AbortController().signal)
  await expect(later).rejects.toThrow('WEBHOOKS_KEY')
  expect(await store.endpoint('we_1')).toMatchObject({ failingSince: after(0), retryAt: after(120_000) })
  // One that an operator paused is left as it is.
  await change({ state: 'paused', retryAt: null })
  await deliver({ ...to, now: () => at + HOUR_MS }, 'we_1', new AbortController().signal)
  expect(await store.endpoint('we_1')).toMatchObject({ state: 'paused', retryAt: null })
  expect(posts).not.toHaveBeenCalled()
})

test('no change becomes a message while as many as may wait do', async () => {
  await addWith(1)
  await store.floor(8453, 0)
  await store.change('event', '9', 5)
  await store.count(5)
  await run(undefined, { sizes: { maxWaiting: 1, rounds: 0 } })
  expect((await store.endpoint('we_1')).seq).toBe(0)
})
