import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { eq, isNotNull, sql } from 'drizzle-orm'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, expect, inject, test, vi } from 'vitest'
import { finalizeSettlements, newestNotFinal } from '../../src/db/index/settlements.ts'
import type { Database } from '../../src/db/pool.ts'
import { feed } from '../../src/db/schema-feed.ts'
import { settlements } from '../../src/db/schema-index.ts'
import { deliveries, webhookTypes } from '../../src/db/schema-webhooks.ts'
import { storeDeliveries } from '../../src/db/webhooks/deliveries.ts'
import { addEndpoint, changeEndpoint, readEndpoint, readEndpoints } from '../../src/db/webhooks/endpoints.ts'
import { createRandom } from '../../src/sandbox/random.ts'
import { deliver } from '../../src/webhooks/deliver.ts'
import { createWebhookJobs } from '../../src/webhooks/jobs.ts'
import { createPost, type Post } from '../../src/webhooks/post.ts'
import { createVault, newSecret } from '../../src/webhooks/secrets.ts'
import { openIndexSteps } from '../support/index-steps.ts'
import { createLedger } from '../support/ledger.ts'
import { eventually } from '../support/process.ts'
import { createRandomActions } from '../support/random-actions.ts'
import { byForm, seedsFrom } from '../support/repetitions.ts'
import { DAY, useProtocol } from '../support/use-protocol.ts'
import { openReceiver, type Received } from '../support/webhook-receiver.ts'

const CHAIN = 8453
const ROUNDS = byForm(12, 80)
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const protocol = await useProtocol(inject('profile'))
const { client, send, usdc, dai, url, deployment } = protocol

const vault = createVault([randomBytes(32)])
const secret = newSecret()
let steps: Awaited<ReturnType<typeof openIndexSteps>>
let clock = Date.now()
let status = 204
let header: Record<string, string> = {}
let receiver: Awaited<ReturnType<typeof openReceiver>>

beforeEach(async () => {
  clock = Date.now()
  status = 204
  header = {}
  steps = await openIndexSteps({ deployment }, url)
  receiver = await openReceiver((response) => void response.writeHead(status, header).end())
})
afterEach(async () => {
  await receiver?.close()
  await steps?.close()
})

const toLocal = createPost({ allowsLoopback: true })

const jobsWith = (post: Post = toLocal) => {
  const { database } = steps
  const to = { database, vault, post, now: () => clock, random: () => 0.5 }
  const signal = new AbortController().signal
  const asked: string[] = []
  const jobs = createWebhookJobs(database, to, async (endpoint) => void asked.push(endpoint))
  /** Runs what is due now. */
  return async (): Promise<void> => {
    await jobs.dispatch()
    await Promise.all(asked.splice(0).map((endpoint) => jobs.deliver({ endpoint }, signal)))
  }
}

const add = (id: string, chosen: Partial<Parameters<typeof addEndpoint>[1]> = {}) => {
  const given = { id, url: receiver.url, types: [...webhookTypes], chainIds: null, wallets: null, eventIds: null }
  const stored = vault.encrypt(id, secret)
  return addEndpoint(steps.database, { ...given, secret: stored, createdAt: new Date(clock), ...chosen }, 200)
}

/** The message, after its signature was verified with the reference implementation. */
const verified = ({ headers, body }: Received, by = secret) => {
  // The library compares the timestamp with this clock.
  const now = vi.spyOn(Date, 'now').mockReturnValue(Number(headers['webhook-timestamp']) * 1_000)
  try {
    const message = new Webhook(by).verify(body, headers as Record<string, string>)
    return { id: String(headers['webhook-id']), ...(message as { type: string; data: Record<string, unknown> }) }
  } finally {
    now.mockRestore()
  }
}

const entityOf = ({ type, data }: ReturnType<typeof verified>): string =>
  [data.chainId, type.startsWith('settlement') ? 'settlement' : type, data.wallet ?? data.eventId].join(' ')

/** An event that is open for deposits and purchases. */
const open = async (): Promise<void> => {
  const { creator, newEvent } = protocol
  const expiryDate = (await protocol.now()) + 30n * DAY
  await send(creator, 'createEvent', [newEvent({ expiryDate, paymentToken: usdc })])
}

const index = async (): Promise<void> => {
  await steps.index()
  await steps.observeAll()
}

test.each(seedsFrom(byForm(1, 5)))(
  'every settlement and the newest state of every entity arrive, in order and signed, whatever fails (seed %i)',
  async (seed) => {
    const random = createRandom(seed)
    await open()
    await index()
    await add('we_1')
    let kills = 0
    // The worker ends after the receiver got the message and before that is recorded.
    const killing: Post = async (...args) => {
      const posted = await toLocal(...args)
      if (random.int(1, 8) > 1) return posted
      kills += 1
      throw new Error('killed')
    }
    const run = jobsWith(killing)
    const runAll = () => run().catch((fault: Error) => expect(fault.message).toBe('killed'))
    let ledger = createLedger()
    let actions = createRandomActions({ protocol, ledger, tokens: [usdc, dai], random })
    const act = async (count: number): Promise<void> => {
      for (let done = 0; done < count; done += 1) {
        const [from, name, args] = await actions.next()
        const sent = await send(from, name as 'settleEvent', args as readonly [bigint, bigint]).catch(() => undefined)
        ledger.add(sent?.logs ?? [], usdc)
      }
    }
    const relearn = async (): Promise<void> => {
      ledger = createLedger()
      actions = createRandomActions({ protocol, ledger, tokens: [usdc, dai], random })
      const newest = await client.getBlockNumber()
      for (let block = 0n; block <= newest; block += 1n) ledger.add(await protocol.logsAt(block), usdc)
    }
    for (let round = 1; round <= ROUNDS; round += 1) {
      const fork = random.int(1, 4) === 1 ? await client.snapshot() : null
      await act(random.int(2, 8))
      if (random.int(1, 3) === 1) await protocol.mineAt((await protocol.now()) + BigInt(random.int(1, 20)) * DAY)
      await index()
      const final = await newestNotFinal(steps.database, CHAIN)
      if (random.int(1, 2) === 1 && final !== null) await finalizeSettlements(steps.database, CHAIN, final)
      // For a third of the rounds the receiver is down.
      status = round % 3 === 0 ? 503 : 204
      for (let time = 0; time < 4; time += 1) {
        await runAll()
        clock += random.int(1, 90) * MINUTE_MS
      }
      if (fork === null) continue
      await client.revert({ id: fork })
      await relearn()
      await client.mine({ blocks: 10 })
      await index()
    }
    status = 204
    for (let hour = 0; hour < 60; hour += 1) {
      await runAll()
      clock += 2 * HOUR_MS
    }
    const got = receiver.received.map((it) => verified(it))
    const ids = new Set(got.map(({ id }) => id))
    const isWaiting = eq(deliveries.state, 'waiting')
    expect(await steps.database.run((handle) => handle.$count(deliveries, isWaiting))).toBe(0)
    const items = await steps.database.run((handle) => handle.select().from(settlements))
    for (const { seq, type, finalizedSeq } of items) {
      expect(ids).toContain(`settlement.${type}.${seq}`)
      if (type === 'settled' && finalizedSeq !== null) expect(ids).toContain(`settlement.finalized.${finalizedSeq}`)
    }
    const [endpoint] = await steps.database.run(readEndpoints)
    expect(endpoint).toMatchObject({ state: 'active', failingSince: null })
    const rows = await steps.database.run((handle) => handle.select().from(feed))
    const began = Math.min(...got.map(({ data }) => Number(data.seq)))
    const subjects = rows.filter(({ type, seq }) => type !== 'protocol' && seq >= began)
    for (const { type, seq } of subjects) expect(ids).toContain(`${type}.changed.${seq}`)
    expect([subjects.length > 0, kills > 0]).toEqual([true, true])
    const newest = new Map<string, number>()
    for (const message of got) {
      const seq = Number(message.data.seq)
      expect(seq, message.id).toBeGreaterThanOrEqual(newest.get(entityOf(message)) ?? 0)
      newest.set(entityOf(message), seq)
    }
  },
)

test('a receiver that is down for six hours gets everything afterwards, with few requests meanwhile', async () => {
  await index()
  await add('we_1')
  const run = jobsWith()
  status = 500
  await open()
  await index()
  for (let minute = 0; minute < 6 * 60; minute += 1) {
    await run()
    clock += MINUTE_MS
  }
  expect(receiver.received.length).toBeLessThan(30)
  status = 204
  for (let hour = 0; hour < 12; hour += 1) {
    await run()
    clock += HOUR_MS
  }
  const types = receiver.received.slice(-10).map((it) => verified(it).type)
  expect(new Set(types)).toEqual(new Set(['wallet.changed', 'event.changed']))
  expect(await steps.database.run((handle) => readEndpoint(handle, 'we_1'))).toMatchObject({ failingSince: null })
})

test('after ten attempts over three days a message is dead and its endpoint paused', async () => {
  await index()
  await add('we_1', { types: ['event.changed'] })
  const run = jobsWith()
  const start = clock
  status = 500
  await open()
  await index()
  const state = async () => (await steps.database.run((handle) => readEndpoint(handle, 'we_1')))?.state
  const attempts: number[] = []
  for (; (await state()) === 'active' && clock - start < 200 * HOUR_MS; clock += 5 * MINUTE_MS) {
    const before = receiver.received.length
    await run()
    if (receiver.received.length > before) attempts.push((clock - start) / HOUR_MS)
  }
  expect(attempts).toHaveLength(10)
  expect(attempts.at(-1)).toBeGreaterThan(72)
  expect(attempts.at(-1)).toBeLessThan(96)
  const rows = await steps.database.run((handle) => handle.select().from(deliveries))
  expect(rows).toMatchObject([{ state: 'dead', attempt: 10, failure: 'status 500' }])
  expect(await state()).toBe('paused')
})

test('a status of 410 disables an endpoint, and Retry-After delays it', async () => {
  await index()
  await add('we_1', { types: ['event.changed'] })
  const run = jobsWith()
  status = 429
  header = { 'retry-after': '7200' }
  await open()
  await index()
  await run()
  expect(receiver.received).toHaveLength(1)
  clock += HOUR_MS
  await run()
  expect(receiver.received).toHaveLength(1)
  status = 410
  clock += HOUR_MS
  await run()
  const endpoint = await steps.database.run((handle) => readEndpoint(handle, 'we_1'))
  expect([receiver.received.length, endpoint?.state]).toEqual([2, 'disabled'])
  clock += 24 * HOUR_MS
  await run()
  expect(receiver.received).toHaveLength(2)
})

/** Stores messages to `we_1`, each of an entity of its own. */
const store = async (count: number): Promise<void> => {
  const messages = Array.from({ length: count }, (_, seq) => ({
    id: `event.changed.${seq}`,
    seq,
    entity: `event ${seq}`,
    body: '{}',
  }))
  const cursor = { epoch: '', seq: Number.MAX_SAFE_INTEGER }
  await steps.database.transaction((handle) => storeDeliveries(handle, 'we_1', messages, cursor, new Date(clock)))
}

/** Delivers ten messages, with transactions that `before` precedes. Returns its fault, and how many sent ones are left. */
const deliverTen = async (post: Post, before: () => void) => {
  await index()
  await add('we_1')
  await store(10)
  const transaction: Database['transaction'] = async (work) => {
    before()
    return await steps.database.transaction(work)
  }
  const to = { database: { ...steps.database, transaction }, vault, post, now: () => clock, random: () => 0.5 }
  const fault = await deliver(to, 'we_1', new AbortController().signal).then(() => null, String)
  const claimed = isNotNull(deliveries.sentAt)
  return { fault, left: await steps.database.run((handle) => handle.$count(deliveries, claimed)) }
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

test('a result waits three seconds for the row of its endpoint, which an operator may hold', async () => {
  await index()
  await add('we_1')
  await store(1)
  let hold = (): void => {}
  const held = new Promise<void>((resolve) => {
    hold = resolve
  })
  const holder = steps.database.transaction(async (handle) => {
    await handle.execute(sql`SELECT FROM webhook_endpoints FOR UPDATE`)
    hold()
    await handle.execute(sql`SELECT pg_sleep(15)`)
  })
  await held
  const to = { database: steps.database, vault, post: toLocal, now: () => clock, random: () => 0.5 }
  const ended = deliver(to, 'we_1', new AbortController().signal).then(() => 'recorded', String)
  const late = holder.then(() => 'held for too long')
  expect(await Promise.race([ended, late])).toMatch(/lock timeout/)
  const end = sql`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(15)' AND state = 'active'`
  await Promise.allSettled([steps.database.run((handle) => handle.execute(end)), late])
})

test('a worker that stops claims nothing more', async () => {
  await index()
  await add('we_1')
  await store(10)
  const stop = new AbortController()
  const stopping: typeof vault = {
    ...vault,
    decrypt(...args) {
      stop.abort()
      return vault.decrypt(...args)
    },
  }
  await deliver(
    { database: steps.database, vault: stopping, post: toLocal, now: () => clock, random: () => 0.5 },
    'we_1',
    stop.signal,
  )
  const sent = await steps.database.run((handle) => handle.$count(deliveries, isNotNull(deliveries.sentAt)))
  expect([stop.signal.aborted, sent, receiver.received.length]).toEqual([true, 0, 0])
})

test('no message that was sent with others shortens the pause that one of them asks for', async () => {
  await index()
  await add('we_1')
  await store(30)
  let posts = 0
  const limiting: Post = async () => {
    posts += 1
    const nth = posts
    if (nth > 2) return { ok: false, status: 429, failure: 'status 429', retryAfter: '3600' }
    await setTimeout(200)
    return nth === 1 ? { ok: true, status: 204 } : { ok: false, status: 500, failure: 'status 500' }
  }
  await jobsWith(limiting)()
  expect(posts).toBe(10)
  const endpoint = await steps.database.run((handle) => readEndpoint(handle, 'we_1'))
  expect(endpoint?.retryAt?.getTime()).toBeGreaterThanOrEqual(clock + HOUR_MS)
})

test('delivered messages are kept for three days, and dead ones for thirty', async () => {
  await index()
  await add('we_1', { types: ['settlement.settled'] })
  const endedAt = new Date(clock)
  const rows = (['delivered', 'dead'] as const).map((state, seq) => ({
    ...{ endpoint: 'we_1', id: `settlement.settled.${seq}`, seq, entity: `${seq}`, body: '{}' },
    ...{ state, nextAt: endedAt, endedAt },
  }))
  await steps.database.run((handle) => handle.insert(deliveries).values(rows))
  const kept = async (days: number) => {
    clock = endedAt.getTime() + days * 24 * HOUR_MS
    await jobsWith()()
    const left = await steps.database.run((handle) => handle.select().from(deliveries))
    return left.map(({ state }) => state)
  }
  expect((await kept(2.9)).toSorted()).toEqual(['dead', 'delivered'])
  expect(await kept(3.1)).toEqual(['dead'])
  expect(await kept(29.9)).toEqual(['dead'])
  expect(await kept(30.1)).toEqual([])
})

test('a redirect is a failure and is not followed', async () => {
  const target = await openReceiver()
  await index()
  await add('we_1', { types: ['event.changed'] })
  status = 307
  header = { location: target.url }
  await open()
  await index()
  await jobsWith()()
  await target.close()
  const endpoint = await steps.database.run((handle) => readEndpoint(handle, 'we_1'))
  expect([target.connections(), endpoint?.failure]).toEqual([0, 'status 307'])
})

test('filters select chains, wallets and events, and the messages of one entity are combined while they wait', async () => {
  const { creator, lp, secondLp } = protocol
  await open()
  await index()
  const id = Number((await protocol.read('getCreatorEventIds', [creator])).at(-1))
  await add('we_wallet', { types: ['wallet.changed'], wallets: [lp.toLowerCase()] })
  await add('we_event', { types: ['event.changed'], chainIds: [CHAIN], eventIds: [id] })
  await add('we_chain', { chainIds: [56] })
  await changeStates('paused')
  for (const from of [lp, secondLp, lp]) {
    await send(from, 'deposit', [BigInt(id), 10n ** 8n])
    await index()
    await jobsWith()()
  }
  await send(creator, 'setPoolSettings', [BigInt(id), false, true])
  await open()
  await index()
  await changeStates('active')
  await jobsWith()()
  const got = receiver.received.map((it) => verified(it))
  expect(got.map(({ type, data }) => [type, data.wallet ?? data.eventId, data.changed])).toEqual(
    expect.arrayContaining([
      ['wallet.changed', lp, ['deposits', 'claimables']],
      ['event.changed', id, expect.arrayContaining(['events', 'deposits'])],
    ]),
  )
  expect(got).toHaveLength(2)
})

const changeStates = async (state: 'active' | 'paused'): Promise<void> => {
  for (const { id } of await steps.database.run(readEndpoints))
    await steps.database.run((handle) => changeEndpoint(handle, id, { state }))
}

test('during a rotation both secrets sign, and afterwards only the new one', async () => {
  await index()
  const next = newSecret()
  const rotating = { previousSecret: vault.encrypt('we_1', secret), previousUntil: new Date(clock + HOUR_MS) }
  await add('we_1', { types: ['event.changed'], secret: vault.encrypt('we_1', next), ...rotating })
  await open()
  await index()
  await jobsWith()()
  clock += 2 * HOUR_MS
  await open()
  await index()
  await jobsWith()()
  const [first, last] = receiver.received
  if (first === undefined || last === undefined) throw new Error('two messages are expected')
  for (const by of [secret, next]) expect(verified(first, by).type).toBe('event.changed')
  expect(verified(last, next).type).toBe('event.changed')
  expect(() => verified(last)).toThrow()
})

test('without the key of a secret nothing is sent, and the endpoint reports why', async () => {
  await index()
  await add('we_1', { types: ['event.changed'] })
  await open()
  await index()
  const to = { database: steps.database, post: toLocal, now: () => clock, random: Math.random }
  const other = { ...to, vault: createVault([randomBytes(32)]) }
  const signal = new AbortController().signal
  await expect(deliver(other, 'we_1', signal)).rejects.toThrow('WEBHOOKS_KEY')
  const endpoint = await steps.database.run((handle) => readEndpoint(handle, 'we_1'))
  expect([receiver.received.length, endpoint?.failure]).toEqual([0, expect.stringContaining('cannot be decrypted')])
})

test('three workers that deliver to one endpoint at once send each message once, and those of an entity in order', async () => {
  const { creator, lp, secondLp } = protocol
  await open()
  await index()
  const id = BigInt((await protocol.read('getCreatorEventIds', [creator])).at(-1) ?? 0)
  await add('we_1')
  const workers = [jobsWith(), jobsWith(), jobsWith()]
  const running: Promise<void>[] = []
  for (let deposit = 0; deposit < 12; deposit += 1) {
    await send(deposit % 2 === 0 ? lp : secondLp, 'deposit', [id, 10n ** 7n])
    await index()
    for (const run of workers) running.push(run())
  }
  await Promise.all(running)
  await Promise.all(workers.map((run) => run()))
  const got = receiver.received.map((it) => verified(it))
  expect(new Set(got.map((message) => message.id)).size).toBe(got.length)
  expect(got.length).toBeGreaterThan(24)
  const newest = new Map<string, number>()
  for (const message of got) {
    const seq = Number(message.data.seq)
    expect(seq, message.id).toBeGreaterThan(newest.get(entityOf(message)) ?? 0)
    newest.set(entityOf(message), seq)
  }
})
