import { sql } from 'drizzle-orm'
import { getAddress } from 'viem'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { WebhookType } from '../../src/db/schema/webhooks.ts'
import { changeEndpoint } from '../../src/db/webhooks/endpoints.ts'
import { bodyOf, type FillSizes, fillDeliveries } from '../../src/webhooks/fill.ts'
import { CHAIN, EPOCH, openWebhookStore, type WebhookStore } from '../support/webhook-store.ts'

let store: WebhookStore
beforeAll(async () => {
  store = await openWebhookStore()
})
afterAll(() => store?.close())
beforeEach(async () => {
  await store.clear()
  await store.count(100)
  await store.floor(CHAIN, 0)
})

const now = new Date('2026-11-25T10:00:00Z')

/** Fills until nothing is left. Returns the number of messages after each call that added some. */
const fillAll = async (id = 'we_1', sizes: FillSizes = {}): Promise<number[]> => {
  const counts = [(await store.stored()).length]
  for (let calls = 0; calls < 20; calls += 1) {
    const hasMore = await fillDeliveries(store, id, now, sizes)
    const { length } = await store.stored()
    if (length !== counts.at(-1)) counts.push(length)
    if (!hasMore) return counts.slice(1)
  }
  throw new Error('the pages have no end')
}

const ids = async (): Promise<string[]> => (await store.stored()).map(({ id }) => id)

/** A wallet by a number. */
const wallet = (of: number): string => `0x${of.toString(16).padStart(40, '0')}`

const range = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, at) => first + at)

const PAGE = 3

test.each([
  [0, []],
  [1, [1]],
  [PAGE, [3]],
  [PAGE + 1, [3, 4]],
  [2 * PAGE, [3, 6]],
  [3 * PAGE + 1, [3, 6, 9, 10]],
])('%i changed wallets, with pages of three, become messages once each', async (many, counts) => {
  await store.add('we_1', { types: ['wallet.changed'] })
  const seqs = range(101, 100 + many)
  for (const seq of seqs) await store.change('wallet', wallet(seq), seq)
  await store.count(200)
  expect(await fillAll('we_1', { page: PAGE })).toEqual(counts)
  expect(await ids()).toEqual(seqs.map((seq) => `wallet.changed.${seq}`))
  expect(await store.endpoint('we_1')).toMatchObject({ seq: 200, epoch: EPOCH })
})

test.each([
  [1, [1]],
  [PAGE, [3]],
  [PAGE + 1, [3, 4]],
  [2 * PAGE, [3, 6]],
  [3 * PAGE + 1, [3, 6, 9, 10]],
])(
  '%i settlements, with pages of three, become messages once each, as do those that became final',
  async (many, counts) => {
    await store.add('we_1', { types: ['settlement.settled'] })
    await store.add('we_2', { types: ['settlement.finalized'] })
    const seqs = range(101, 100 + many)
    for (const seq of seqs) await store.settle(seq, { finalizedSeq: seq + 50 })
    await store.count(200)
    expect(await fillAll('we_1', { page: PAGE })).toEqual(counts)
    expect(await ids()).toEqual(seqs.map((seq) => `settlement.settled.${seq}`))
    expect(await fillAll('we_2', { page: PAGE })).toEqual(counts.map((count) => count + many))
    expect((await ids()).slice(many)).toEqual(seqs.map((seq) => `settlement.finalized.${seq + 50}`))
  },
)

test.each([
  [1, [1]],
  [PAGE, [3]],
  [PAGE + 1, [3, 4]],
  [3 * PAGE + 1, [3, 6, 9, 10]],
])('%i rows of activity, with pages of three, become messages once each', async (many, counts) => {
  await store.add('we_1', { types: ['activity.recorded', 'activity.reverted'] })
  const seqs = range(101, 100 + many)
  for (const seq of seqs) await store.act(seq, wallet(1), {}, seq % 2 === 0)
  // Rows of the past have no number.
  await store.act(300, wallet(1), { seq: null })
  await store.count(200)
  expect(await fillAll('we_1', { page: PAGE })).toEqual(counts)
  expect(await ids()).toEqual(seqs.map((seq) => `activity.${seq % 2 === 0 ? 'reverted' : 'recorded'}.${seq}`))
  expect(new Set((await store.stored()).map(({ entity }) => entity))).toEqual(
    new Set([`${CHAIN} activity ${getAddress(wallet(1))}`]),
  )
})

test('activity is that of the wallets and chains of an endpoint, and a reset stands for what is not in the feed', async () => {
  await store.add('we_1', { types: ['activity.recorded'], wallets: [wallet(1)], chainIds: [CHAIN] })
  await store.act(101, wallet(1))
  await store.act(102, wallet(2))
  await store.act(103, wallet(1), { chainId: 56 })
  await store.act(104, wallet(1), {}, true)
  await store.floor(CHAIN, 105, 'rebuilt')
  await store.count(110)
  await fillAll()
  expect(await ids()).toEqual(['activity.recorded.101', 'changes.reset.105'])
  const [{ body } = { body: '' }] = await store.stored()
  expect(JSON.parse(body)).toMatchObject({
    cursor: `${EPOCH}.101`,
    data: {
      seq: 101,
      chainId: CHAIN,
      type: 'deposit.created',
      wallet: getAddress(wallet(1)),
      netAmount: '7',
      token: null,
    },
  })
  // A cursor of another history has no rows: the reset covers them.
  await store.database.run((handle) => changeEndpoint(handle, 'we_1', { epoch: 'e0', seq: 0 }))
  await fillAll()
  expect((await ids()).filter((id) => id.startsWith('activity'))).toEqual(['activity.recorded.101'])
})

test('a feed with a further page stops the others where its page ends', async () => {
  await store.add('we_1')
  for (const seq of [101, 104, 107, 110]) await store.change('wallet', wallet(seq), seq)
  for (const seq of [102, 105, 108, 111]) await store.change('event', String(seq), seq)
  for (const seq of [103, 106, 109, 112]) await store.settle(seq)
  await store.count(112)
  expect(await fillDeliveries(store, 'we_1', now, { page: PAGE })).toBe(true)
  // The third wallet ends the page.
  expect((await store.endpoint('we_1')).seq).toBe(107)
  expect((await store.stored()).map(({ seq }) => seq)).toEqual(range(101, 107))
  expect(await fillAll('we_1', { page: PAGE })).toEqual([12])
  expect((await store.stored()).map(({ seq }) => seq)).toEqual(range(101, 112))
})

test('pages of which the endpoint wants nothing do not delay what comes after them', async () => {
  await store.add('we_1', { types: ['settlement.reverted'] })
  for (const seq of range(101, 107)) await store.settle(seq)
  await store.settle(108, { type: 'reverted' })
  await store.count(110)
  expect(await fillAll('we_1', { page: PAGE })).toEqual([1])
  expect([await ids(), (await store.endpoint('we_1')).seq]).toEqual([['settlement.reverted.108'], 110])
})

test('500 items of a feed are a page by default', async () => {
  await store.add('we_1', { types: ['event.changed'] })
  await store.database.run((handle) =>
    handle.execute(sql`INSERT INTO feed (chain_id, type, key, events, deposits, positions, claimables, seq, block_number, block_hash)
      SELECT ${CHAIN}::integer, 'event', n::text, 100 + n, 0, 0, 0, 100 + n, 1, '\\xab' FROM generate_series(1, 501) AS n`),
  )
  await store.count(1_000)
  expect(await fillAll()).toEqual([500, 501])
})

test.each([
  [2, true],
  [3, false],
])('with %i messages that wait, of three at most, whether the cursor moves: %s', async (waiting, moves) => {
  await store.add('we_1', { types: ['wallet.changed'] })
  await store.add('we_2')
  for (const seq of range(1, waiting)) await store.store('we_1', seq)
  // Neither messages that ended nor those of another endpoint wait.
  await store.store('we_1', 10, { state: 'dead' })
  await store.store('we_1', 11, { state: 'delivered' })
  await store.store('we_2', 12)
  await store.change('wallet', wallet(1), 101)
  await store.count(101)
  expect(await fillDeliveries(store, 'we_1', now, { maxWaiting: 3 })).toBe(false)
  expect((await store.endpoint('we_1')).seq).toBe(moves ? 101 : 100)
})

test('an endpoint that is not active, or that another worker has, gets no messages', async () => {
  await store.add('we_1')
  await store.change('event', '1', 101)
  await store.count(101)
  await store.database.transaction(async (handle) => {
    await handle.execute(sql`SELECT FROM webhook_endpoints FOR UPDATE`)
    expect(await fillDeliveries(store, 'we_1', now)).toBe(false)
  })
  for (const state of ['paused', 'disabled'] as const) {
    await store.database.run((handle) => changeEndpoint(handle, 'we_1', { state }))
    expect(await fillDeliveries(store, 'we_1', now)).toBe(false)
  }
  expect([await ids(), (await store.endpoint('we_1')).seq]).toEqual([[], 100])
  expect(await fillDeliveries(store, 'we_none', now)).toBe(false)
})

const body = (changed: readonly string[]): string =>
  bodyOf({ type: 'event.changed', cursor: 'e1.90', data: { seq: 90, changed, note: 'old' } }, new Date(0))

test('a newer change of an entity replaces the message that waits for it, with the aspects of both', async () => {
  await store.add('we_1', { types: ['event.changed'] })
  await store.add('we_2')
  const entity = `${CHAIN} event 7`
  await store.store('we_1', 90, { entity, body: body(['positions', 'events']) })
  await store.store('we_2', 91, { entity, body: body([]) })
  await store.change('event', '7', 101)
  await store.change('event', '8', 102)
  await store.count(102)
  expect(await fillAll()).toEqual([3])
  const [ofOther, combined, single] = await store.stored()
  expect([ofOther?.id, single?.id]).toEqual(['event.changed.91', 'event.changed.102'])
  expect(combined).toMatchObject({
    endpoint: 'we_1',
    id: 'event.changed.101',
    seq: 101,
    entity,
    nextAt: now,
    sentAt: null,
  })
  expect(JSON.parse(combined?.body ?? '')).toMatchObject({
    ...{ type: 'event.changed', timestamp: now.toISOString(), cursor: 'e1.101' },
    data: { seq: 101, eventId: 7, changed: ['events', 'deposits', 'positions'] },
  })
})

test.each([
  ['was sent', { sentAt: now }],
  ['ended', { state: 'delivered' as const }],
  ['is about another entity', { entity: `${CHAIN} event 9` }],
])('a message that %s is not replaced', async (_, to) => {
  await store.add('we_1', { types: ['event.changed'] })
  await store.store('we_1', 90, { entity: `${CHAIN} event 7`, body: body(['positions']), ...to })
  await store.change('event', '7', 101)
  await store.count(101)
  await fillAll()
  expect(await ids()).toEqual(['event.changed.90', 'event.changed.101'])
})

test('aspects of an entity that changed at different numbers are one message, at the place of the last one', async () => {
  await store.add('we_1', { types: ['event.changed'] })
  await store.change('event', '7', 105, { events: 101, deposits: 0, claimables: 105 })
  await store.change('event', '8', 103)
  await store.count(110)
  await fillAll()
  expect(await ids()).toEqual(['event.changed.103', 'event.changed.105'])
  expect(JSON.parse((await store.stored())[1]?.body ?? '').data.changed).toEqual(['events', 'claimables'])
})

test('each type of an endpoint has its messages, and no other type', async () => {
  await store.settle(101, { finalizedSeq: 106 })
  await store.settle(102, { type: 'reverted', eventId: 101n, finalizedSeq: 107 })
  await store.change('wallet', wallet(1), 103)
  await store.change('event', '1', 104)
  const messages = {
    'settlement.settled': 'settlement.settled.101',
    'settlement.reverted': 'settlement.reverted.102',
    'settlement.finalized': 'settlement.finalized.106',
    'activity.recorded': 'activity.recorded.107',
    'activity.reverted': 'activity.reverted.108',
    'wallet.changed': 'wallet.changed.103',
    'event.changed': 'event.changed.104',
  } as const satisfies Readonly<Record<WebhookType, string>>
  await store.act(107, wallet(7))
  await store.act(108, wallet(7), {}, true)
  for (const type of Object.keys(messages) as (keyof typeof messages)[]) await store.add(type, { types: [type] })
  await store.count(110)
  for (const [type, id] of Object.entries(messages)) {
    await fillAll(type)
    const own = (await store.stored()).filter(({ endpoint }) => endpoint === type)
    expect(own.map((it) => it.id)).toEqual([id])
    expect(await store.endpoint(type)).toMatchObject({ seq: 110 })
  }
  const [settled, reverted] = await store.stored()
  // The reversal is sent after the settlement that it is about.
  expect([settled?.entity, reverted?.entity]).toEqual([`${CHAIN} settlement 101`, `${CHAIN} settlement 101`])
  expect(JSON.parse(settled?.body ?? '')).toMatchObject({ cursor: '101', data: { seq: 101, eventId: 101 } })
})

test('an endpoint of both feeds of settlements gets a reversal once', async () => {
  const types = ['settlement.settled', 'settlement.reverted', 'settlement.finalized'] as const
  await store.add('we_1', { types: [...types] })
  await store.settle(101, { finalizedSeq: 105 })
  await store.settle(102, { type: 'reverted', eventId: 101n, finalizedSeq: 106 })
  await store.count(110)
  // Settlements replace no message that waits, though a reversal is of the same entity.
  expect(await fillAll('we_1', { page: 1 })).toEqual([1, 3])
  expect(await ids()).toEqual(['settlement.settled.101', 'settlement.reverted.102', 'settlement.finalized.105'])
})

test('chains, wallets and events of an endpoint select its messages', async () => {
  await store.floor(56, 0)
  for (const chainId of [CHAIN, 56]) {
    await store.change('wallet', wallet(1), chainId === 56 ? 101 : 102, { chainId })
    await store.change('event', '1', chainId === 56 ? 103 : 104, { chainId })
    await store.settle(chainId === 56 ? 105 : 106, { chainId, eventId: 1n })
  }
  await store.change('wallet', wallet(2), 107)
  await store.change('event', '2', 108)
  await store.settle(109, { eventId: 2n })
  await store.count(100)
  await store.add('chain', { chainIds: [56] })
  await store.add('wallet', { types: ['wallet.changed'], wallets: [wallet(1)] })
  await store.add('event', { types: ['event.changed', 'settlement.settled'], chainIds: [CHAIN], eventIds: [2] })
  await store.add('none', { types: ['settlement.settled'], wallets: [wallet(9)] })
  await store.count(110)
  const seqsOf = async (id: string): Promise<number[]> => {
    await fillAll(id)
    return (await store.stored()).filter(({ endpoint }) => endpoint === id).map(({ seq }) => seq)
  }
  expect(await seqsOf('chain')).toEqual([101, 103, 105])
  expect(await seqsOf('wallet')).toEqual([101, 102])
  expect(await seqsOf('event')).toEqual([108, 109])
  expect(await seqsOf('none')).toEqual([])
})

test('a chain whose feed begins again is a reset, with what changed since', async () => {
  await store.add('we_1', { types: ['event.changed'] })
  await store.add('we_2', { types: ['settlement.settled'] })
  await store.floor(56, 103, 'rebuilt')
  await store.floor(CHAIN, 105)
  await store.change('event', '1', 104)
  await store.change('event', '2', 106)
  await store.settle(107)
  await store.count(110)
  await fillAll()
  await fillAll('we_2')
  const [reset, changed, settled] = await store.stored()
  expect([reset?.id, changed?.id, settled?.id]).toEqual([
    'changes.reset.105',
    'event.changed.106',
    'settlement.settled.107',
  ])
  const { cursor, data } = JSON.parse(reset?.body ?? '')
  expect([cursor, data.resets.length]).toEqual(['e1.105', 2])
  expect(data.resets).toEqual(
    expect.arrayContaining([
      { chainId: 56, reason: 'rebuilt' },
      { chainId: CHAIN, reason: 'backfill' },
    ]),
  )
})

test('a reset after the end of a page comes with a later page', async () => {
  await store.add('we_1', { types: ['event.changed', 'settlement.settled'] })
  for (const seq of range(101, 104)) await store.settle(seq)
  await store.floor(CHAIN, 104)
  await store.count(110)
  await fillDeliveries(store, 'we_1', now, { page: PAGE })
  expect((await ids()).filter((id) => id.startsWith('changes'))).toEqual([])
  await fillAll('we_1', { page: PAGE })
  expect((await ids()).filter((id) => id.startsWith('changes'))).toEqual(['changes.reset.104'])
})

test('another history of the database is a reset of every chain, and settlements continue', async () => {
  await store.add('we_1')
  await store.change('event', '1', 101)
  await store.change('wallet', wallet(1), 102)
  await store.settle(103)
  await store.count(110, 'e2')
  await fillAll()
  expect(await ids()).toEqual(['settlement.settled.103', 'changes.reset.110'])
  expect(JSON.parse((await store.stored())[1]?.body ?? '')).toMatchObject({
    cursor: 'e2.110',
    data: { resets: [CHAIN, 56].map((chainId) => ({ chainId, reason: 'other_history' })) },
  })
  expect(await store.endpoint('we_1')).toMatchObject({ epoch: 'e2', seq: 110 })
  expect(await fillAll()).toEqual([])
})
