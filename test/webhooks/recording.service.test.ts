import { isNotNull } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Database } from '../../src/db/pool.ts'
import { deliveries } from '../../src/db/schema/webhooks.ts'
import { deliver } from '../../src/webhooks/deliver.ts'
import type { Post } from '../../src/webhooks/post.ts'
import { eventually } from '../support/process.ts'
import { openWebhookStore, type WebhookStore } from '../support/webhook-store.ts'

let store: WebhookStore
beforeAll(async () => {
  store = await openWebhookStore()
})
afterAll(() => store?.close())
beforeEach(() => store.clear())

const at = Date.parse('2026-11-25T10:00:00Z')

/** Delivers ten messages, with transactions that `before` precedes. Returns its fault, and how many sent ones are left. */
const deliverTen = async (post: Post, before: () => void) => {
  await store.add('we_1')
  for (let seq = 0; seq < 10; seq += 1) await store.store('we_1', seq)
  const transaction: Database['transaction'] = async (work) => {
    before()
    return await store.database.transaction(work)
  }
  const { vault } = store
  const to = {
    database: { ...store.database, transaction },
    tokens: store.tokens,
    vault,
    post,
    now: () => at,
    random: () => 0.5,
  }
  const fault = await deliver(to, 'we_1', new AbortController().signal).then(() => null, String)
  const claimed = isNotNull(deliveries.sentAt)
  return { fault, left: await store.database.run((handle) => handle.$count(deliveries, claimed)) }
}

test('results of an endpoint that arrive together are recorded together, and all sending ends with the job', async () => {
  let [transactions, begun, ended] = [0, 0, 0]
  let release = (): void => {}
  const all = new Promise<void>((resolve) => {
    release = resolve
  })
  const post: Post = async () => {
    begun += 1
    if (begun === 10) release()
    if (begun === 1) throw new Error('lost')
    await all
    ended += 1
    return { ok: true, status: 204 }
  }
  const count = (): void => {
    transactions += 1
  }
  expect(await deliverTen(post, count)).toEqual({ fault: 'Error: lost', left: 1 })
  expect(ended).toBe(9)
  // One may be about new messages, and one about the first result alone.
  expect(transactions).toBeLessThanOrEqual(3)
})

test('results whose record failed are recorded with the next one', async () => {
  let [begun, failures] = [0, 0]
  const post: Post = async () => {
    begun += 1
    if (begun === 10) await eventually('a record failed', () => failures === 1)
    return { ok: true, status: 204 }
  }
  const failOnce = (): void => {
    if (begun < 9 || failures > 0) return
    failures += 1
    throw new Error('no connection')
  }
  expect(await deliverTen(post, failOnce)).toEqual({ fault: 'Error: no connection', left: 0 })
})

test('a worker that stops after it read the endpoint claims nothing', async () => {
  await store.add('we_1')
  await store.store('we_1', 1)
  const stop = new AbortController()
  const { database } = store
  const vault: typeof store.vault = {
    ...store.vault,
    decrypt(...args) {
      stop.abort()
      return store.vault.decrypt(...args)
    },
  }
  let posts = 0
  const post: Post = async () => {
    posts += 1
    return { ok: true, status: 204 }
  }
  await deliver({ database, tokens: store.tokens, vault, post, now: () => at, random: () => 0 }, 'we_1', stop.signal)
  expect([stop.signal.aborted, posts, (await store.stored())[0]?.sentAt]).toEqual([true, 0, null])
})
