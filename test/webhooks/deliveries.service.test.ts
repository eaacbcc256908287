import { randomBytes } from 'node:crypto'
import { eq, gt } from 'drizzle-orm'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, expect, inject, test, vi } from 'vitest'
import { newestChange } from '../../src/db/changes/changes.ts'
import { finalizeSettlements, newestNotFinal } from '../../src/db/index/settlements.ts'
import { feed } from '../../src/db/schema/feed.ts'
import { settlements } from '../../src/db/schema/index-state.ts'
import { ledger as ledgerRows } from '../../src/db/schema/ledger.ts'
import { deliveries, webhookTypes } from '../../src/db/schema/webhooks.ts'
import { addEndpoint, changeEndpoint, readEndpoints } from '../../src/db/webhooks/endpoints.ts'
import { knownTokens } from '../../src/protocol/tokens.ts'
import { createRandom } from '../../src/sandbox/story/random.ts'
import { createWebhookJobs } from '../../src/webhooks/jobs.ts'
import { createPost, type Post } from '../../src/webhooks/post.ts'
import { createVault, newSecret } from '../../src/webhooks/secrets.ts'
import { openApp } from '../support/app.ts'
import { openIndexSteps } from '../support/index-steps.ts'
import { createLedger } from '../support/ledger.ts'
import { createRandomActions } from '../support/random-actions.ts'
import { byForm, seedsFrom } from '../support/repetitions.ts'
import { DAY, useProtocol } from '../support/use-protocol.ts'
import { openReceiver, type Received } from '../support/webhook-receiver.ts'

const CHAIN = 8453
const ROUNDS = byForm(4, 80)
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

const tokens = knownTokens([deployment])
const toLocal = createPost({ allowsLoopback: true })

const jobsWith = (post: Post = toLocal) => {
  const { database } = steps
  const to = { database, tokens, vault, post, now: () => clock, random: () => 0.5 }
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
  [data.chainId, /^(settlement|activity)/.exec(type)?.[0] ?? type, data.wallet ?? data.eventId].join(' ')

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
    const registered = await steps.database.run(newestChange)
    let kills = 0
    // The worker ends after the receiver got the message and before that is recorded: the first one, and some later ones.
    const killing: Post = async (...args) => {
      const posted = await toLocal(...args)
      if (random.int(1, 8) > 1 && kills > 0) return posted
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
    // Deliveries of a message more than once change nothing.
    const active = new Set<string>()
    const acted = new Map(got.flatMap(({ id, type, data }) => (type.startsWith('activity') ? [[id, data]] : [])))
    for (const [id, { blockHash, logIndex }] of [...acted].sort(([, a], [, b]) => Number(a.seq) - Number(b.seq)))
      active[id.startsWith('activity.recorded') ? 'add' : 'delete'](`${blockHash} ${logIndex}`)
    const expected = await steps.database.run((handle) =>
      handle.select().from(ledgerRows).where(gt(ledgerRows.seq, registered)),
    )
    expect(active).toEqual(new Set(expected.map(({ blockHash, logIndex }) => `${blockHash} ${logIndex}`)))
    const newest = new Map<string, number>()
    for (const message of got) {
      const seq = Number(message.data.seq)
      expect(seq, message.id).toBeGreaterThanOrEqual(newest.get(entityOf(message)) ?? 0)
      newest.set(entityOf(message), seq)
    }
  },
)

test('the activity of a wallet arrives as a list has it, and what a reorg removes is reverted', async () => {
  const { lp, creator } = protocol
  await open()
  await index()
  const id = Number((await protocol.read('getCreatorEventIds', [creator])).at(-1))
  await add('we_1', { types: ['activity.recorded', 'activity.reverted'], wallets: [lp.toLowerCase()] })
  const fork = await client.snapshot()
  for (const amount of [10n ** 8n, 2n * 10n ** 8n]) await send(lp, 'deposit', [BigInt(id), amount])
  await send(creator, 'setPoolSettings', [BigInt(id), true, true])
  await index()
  const api = await openApp({ databaseUrl: steps.url, headMaxAgeMs: -1, nodes: [{ url, deployment }] })
  const response = await api.app.inject(`/v1/activity?chainId=${CHAIN}&wallet=${lp}&order=desc&limit=2`)
  await api.close()
  const [later, earlier] = response.json().data
  expect([earlier.type, earlier.amount, earlier.symbol, earlier.wallet]).toEqual([
    'deposit.created',
    '100000000',
    'USDC',
    lp,
  ])
  await jobsWith()()
  // The messages of one wallet are sent one after another.
  await jobsWith()()
  await client.revert({ id: fork })
  await client.mine({ blocks: 10 })
  await index()
  for (let run = 0; run < 3; run += 1) await jobsWith()()
  const got = receiver.received.map((it) => verified(it))
  expect(got.map(({ type, data: { seq: _, ...row } }) => [type, row])).toEqual([
    ['activity.recorded', earlier],
    ['activity.recorded', later],
    ['activity.reverted', later],
    ['activity.reverted', earlier],
  ])
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
      ['wallet.changed', lp, ['deposits', 'claimables', 'activity']],
      ['event.changed', id, expect.arrayContaining(['events', 'deposits'])],
    ]),
  )
  expect(got).toHaveLength(2)
})

const changeStates = async (state: 'active' | 'paused'): Promise<void> => {
  for (const { id } of await steps.database.run(readEndpoints))
    await steps.database.run((handle) => changeEndpoint(handle, id, { state }))
}

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
