import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { configuredChains } from '../../src/protocol/chains.ts'
import { Change, ChangesMeta } from '../../src/reads/feeds/changes.ts'
import type { openApp } from '../support/app.ts'
import { startIndexed, type World } from '../support/indexing.ts'
import { eventually } from '../support/process.ts'

const USDC = 10n ** 6n

let world: World
let indexed: Awaited<ReturnType<typeof startIndexed>>
let api: Awaited<ReturnType<typeof openApp>>
let base: string

beforeAll(async () => {
  indexed = await startIndexed([8453])
  world = indexed.world
  api = await indexed.open()
  base = await api.app.listen({ port: 0, host: '127.0.0.1' })
  await indexed.quiet()
})
afterAll(() => indexed?.close())

const hedger = () => world.hedger.account.address

const Page = z.strictObject({ data: z.array(Change), meta: ChangesMeta })

const list = async (query: string) => Page.parse((await api.app.inject(`/v1/changes?${query}`)).json())

const listOf = async (body: object) => {
  const response = await api.app.inject({ method: 'POST', url: '/v1/changes', payload: body })
  return Page.parse(response.json())
}

const now = async (): Promise<string> => (await list('since=now')).meta.nextCursor

/** Buys protection of an event, and waits until the index has observed it. */
const buy = async (eventId = 1n): Promise<void> => {
  await world.actions.buy(world.hedger, eventId, 10n * USDC)
  await indexed.quiet()
}

test('a purchase is a change of its hedger, its event and its liquidity providers', async () => {
  const since = await now()
  await buy()
  const { data, meta } = await list(`since=${since}`)
  expect(data).toContainEqual(
    expect.objectContaining({
      chainId: 8453,
      type: 'wallet',
      wallet: hedger(),
      changed: expect.arrayContaining(['positions', 'claimables']),
    }),
  )
  expect(data).toContainEqual(
    expect.objectContaining({ type: 'event', eventId: 1, changed: expect.arrayContaining(['events', 'positions']) }),
  )
  expect(data.map(({ seq }) => seq)).toEqual(data.map(({ seq }) => seq).toSorted((a, b) => a - b))
  expect(meta).toMatchObject({
    hasMore: false,
    reset: false,
    resets: [],
    pollAfterMs: 1_000,
    asOf: [{ chainId: 8453 }],
  })
  expect((await list(`since=${meta.nextCursor}`)).data).toEqual([])

  const events = data.filter(({ type }) => type === 'event')
  expect((await list(`since=${since}&types=event`)).data).toEqual(events)
  expect((await list(`since=${since}&chainId=8453&types=event,protocol`)).data).toEqual(events)
  expect((await listOf({ since, chainId: 8453, eventIds: [1, 77] })).data).toEqual(events)
  expect((await listOf({ since, chainId: 8453, eventIds: [77] })).data).toEqual([])
  const wallets = [hedger().toLowerCase(), world.stranger.account.address]
  expect((await listOf({ since, wallets })).data).toEqual(data.filter(({ wallet }) => wallet === hedger()))
})

test('a request without a cursor resets every indexed chain', async () => {
  const { meta } = await list('')
  expect(meta).toMatchObject({ reset: true, resets: [{ chainId: 8453, reason: 'backfill' }] })
  expect((await listOf({ wallets: [hedger()] })).meta.resets).toEqual(meta.resets)
  const unknown = await list('since=0123456789ab.5')
  expect(unknown.meta.resets).toContainEqual({ chainId: 8453, reason: 'other_history' })
  expect(unknown.data).toEqual([])
})

const MICROSECONDS_PER_HOUR = 3_600_000_000

test('a cursor of the future resets every chain and is not returned again, in pages and streams', async () => {
  const [epoch] = (await now()).split('.')
  for (const seq of [Number.MAX_SAFE_INTEGER, Date.now() * 1_000 + MICROSECONDS_PER_HOUR]) {
    const future = `${epoch}.${seq}`
    for (const { meta } of [await list(`since=${future}`), await listOf({ since: future, wallets: [hedger()] })]) {
      expect(meta.resets).toEqual(configuredChains().map((chainId) => ({ chainId, reason: 'other_history' })))
      expect(Number(meta.nextCursor.split('.')[1])).toBeLessThan(seq)
      expect((await list(`since=${meta.nextCursor}`)).meta.reset).toBe(false)
    }
    const stream = await listen(`lastEventId=${future}`)
    await eventually('the resets', () => stream.events().length >= configuredChains().length)
    const resets = stream.events().slice(0, configuredChains().length)
    expect(resets.map(({ event }) => event)).toEqual(configuredChains().map(() => 'reset'))
    expect(resets.at(-1)?.id).not.toBe(future)
    stream.stop()
  }
})

test.each([
  ['since=5', 'since'],
  ['lastEventId=a.5', 'lastEventId'],
  ['since=', 'since'],
  ['since=abc.99999999999999999', 'since'],
  ['types=deposit', 'types'],
  ['limit=1001', 'limit'],
  ['limit=0', 'limit'],
  ['chainId=1', 'chainId'],
  ['wallet=0x', 'wallet'],
])('GET with %s is a 400 that names the field', async (query, field) => {
  const response = await api.app.inject(`/v1/changes?${query}`)
  expect([response.statusCode, response.json().error.details[0].path]).toEqual([400, field])
})

const wallet = `0x${'1'.repeat(40)}`

test.each([
  ['wallets', {}],
  ['wallets', { wallets: [] }],
  ['wallets.0', { wallets: ['0x12'] }],
  ['wallets', { wallets: Array(1_001).fill(wallet) }],
  ['chainId', { eventIds: [1] }],
  ['eventIds.0', { chainId: 8453, eventIds: [-1] }],
  ['eventIds', { chainId: 8453, eventIds: [1], wallets: [wallet] }],
  ['since', { wallets: [wallet], since: '5' }],
  ['limit', { wallets: [wallet], limit: 5_000 }],
])('POST with a wrong %s is a 400 that names the field', async (field, body) => {
  const response = await api.app.inject({ method: 'POST', url: '/v1/changes', payload: body })
  expect([response.statusCode, response.json().error.details[0].path]).toEqual([400, field])
})

/** A client of the stream, with the events that it received. */
const listen = async (query: string, headers: Record<string, string> = {}) => {
  const request = get(`${base}/v1/changes/stream?${query}`, { headers })
  const [response]: [IncomingMessage] = (await once(request, 'response')) as never
  let text = ''
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  const events = () =>
    text.split('\n\n').flatMap((block) => {
      const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? ''
      return field('data') === ''
        ? []
        : [{ id: field('id'), event: field('event'), data: JSON.parse(field('data')) as unknown }]
    })
  return { response, events, text: () => text, stop: () => request.destroy() }
}

test('the stream has the changes of the pages, and resumes after the last id', async () => {
  const since = await now()
  const live = await listen('since=now')
  const events = await listen('since=now&types=event&chainId=8453')
  await buy()
  const { data } = await list(`since=${since}`)
  // A page has the newest change of each aspect only, a stream each one.
  const newest = (stream: typeof live) => {
    const found = new Map<string, number>()
    for (const { event, data } of stream.events()) {
      if (event !== 'change') continue
      const { wallet, eventId, changed, seq } = Change.parse(data)
      for (const aspect of changed.length === 0 ? ['all'] : changed) found.set(`${wallet} ${eventId} ${aspect}`, seq)
    }
    return [...new Set(found.values())].toSorted((a, b) => a - b)
  }
  const shows = async (stream: typeof live, expected: typeof data): Promise<void> => {
    await eventually('the changes', () => newest(stream).length === expected.length)
    expect(newest(stream)).toEqual(expected.map(({ seq }) => seq))
  }
  await shows(live, data)
  await shows(
    events,
    data.filter(({ type }) => type === 'event'),
  )

  const [first] = live.events()
  const resumed = await listen('since=now', { 'last-event-id': first?.id ?? '' })
  await shows(
    resumed,
    data.filter(({ seq }) => `.${seq}` > `.${first?.id.split('.')[1]}`),
  )

  const begun = await listen('')
  await eventually('the first reset', () => begun.events().length > 0)
  expect(begun.events()[0]).toMatchObject({ event: 'reset', data: { chainId: 8453, reason: 'backfill' } })
  const foreign = '0123456789ab.5'
  const other = await listen('', { 'last-event-id': foreign })
  await eventually('the resets', () => other.events().length >= configuredChains().length)
  const resets = other.events().slice(0, configuredChains().length)
  expect(resets.map(({ data }) => data)).toEqual(
    configuredChains().map((chainId) => ({ chainId, reason: 'other_history' })),
  )
  // Who stores the position of one of them and leaves gets all resets again, except after the last.
  expect(/^id: (.*)$/m.exec(other.text())?.[1]).toBe(foreign)
  expect(resets.map(({ id }) => id === foreign)).toEqual(resets.map((_, at) => at < resets.length - 1))
  const bad = await fetch(`${base}/v1/changes/stream`, { headers: { 'last-event-id': '5' } })
  expect([bad.status, await bad.text()]).toEqual([400, expect.stringContaining('"path":"Last-Event-ID"')])
  for (const stream of [live, events, resumed, begun, other]) stream.stop()
})
