import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { announce } from '../../src/db/changes/changes.ts'
import { settlementsScope, touching } from '../../src/db/changes/scopes.ts'
import { insertSettlements } from '../../src/db/index/settlements.ts'
import { Settlement, SettlementsMeta } from '../../src/reads/feeds/settlements.ts'
import type { openApp } from '../support/app.ts'
import { startIndexed, type World } from '../support/indexing.ts'
import { eventually } from '../support/process.ts'

const DAY = 86_400

let world: World
let indexed: Awaited<ReturnType<typeof startIndexed>>
let api: Awaited<ReturnType<typeof openApp>>
/** Where it listens. */
let base: string

beforeAll(async () => {
  indexed = await startIndexed([8453])
  world = indexed.world
  api = await indexed.open({ limits: { maxStreams: 3 } })
  base = await api.app.listen({ port: 0, host: '127.0.0.1' })
  await eventually('the first settlement', async () => (await feed('chainId=8453')).data.length === 1)
})
afterAll(() => indexed?.close())

const Page = z.object({ data: z.array(Settlement), meta: SettlementsMeta })

const ask = async (query: string, tag?: string) => {
  const headers = tag === undefined ? {} : { 'if-none-match': tag }
  return api.app.inject({ url: `/v1/hedge/settlements?${query}`, headers })
}

const feed = async (query: string) => {
  const answer = await ask(query)
  const page = answer.statusCode === 200 ? Page.parse(answer.json()) : { data: [], meta: undefined }
  return { ...page, status: answer.statusCode, tag: String(answer.headers.etag) }
}

/** An event that may be settled now. */
const expired = async (): Promise<bigint> => {
  const { actions, creator, upward } = world
  const { eventId } = await actions.createEvent(creator, {
    ...upward,
    name: 'Short',
    expiry: (await actions.now()) + DAY,
  })
  await actions.node.increaseTime({ seconds: DAY + 1 })
  await actions.node.mine({ blocks: 1 })
  return eventId
}

test('a settlement is reported once, with its result and the cursor of the next poll', async () => {
  const { data, meta } = await feed('chainId=8453')
  expect(data).toMatchObject([
    { type: 'settled', chainId: 8453, eventId: 2, triggered: true, settlementPrice: '9000000' },
  ])
  const [first] = data
  expect(meta).toMatchObject({
    nextCursor: String(first?.seq),
    hasMore: false,
    pollAfterMs: 1_000,
    asOf: [{ chainId: 8453 }],
  })
  const stats = await api.get('/hedge/events/8453/2/stats')
  expect(stats.data).toMatchObject({ settledAt: first?.settledAt, triggered: true })
  // Repeated refreshes of the event add no item.
  await world.actions.node.mine({ blocks: 5 })
  await indexed.reachHead()
  expect((await feed('chainId=8453')).data).toHaveLength(1)
  for (const none of ['chainId=8453&triggered=false', 'chainId=8453&eventIds=1,3', 'chainId=8453&since=now']) {
    expect([none, (await feed(none)).data]).toEqual([none, []])
  }
  for (const one of ['chainId=8453&triggered=true', 'chainId=8453&eventIds=1,2&limit=1']) {
    expect([one, (await feed(one)).data]).toHaveLength(2)
    expect((await feed(one)).data).toEqual(data)
  }
  for (const refused of ['eventIds=2', 'since=-1', 'since=x', 'limit=0', 'limit=201', 'triggered=1', 'chainId=1']) {
    const answer = await ask(refused)
    expect([refused, answer.statusCode]).toEqual([refused, 400])
    expect(answer.json().error.details[0].path).toBe(refused === 'eventIds=2' ? 'chainId' : refused.split('=')[0])
  }
})

test('an empty poll is a 304 until an event is settled', async () => {
  const { meta, tag: none } = await feed('chainId=8453&since=now')
  expect(none).toBe('undefined')
  const poll = `chainId=8453&since=${meta?.nextCursor}`
  const status = async (tag: string) => (await ask(poll, tag)).statusCode
  let tag = ''
  const tagHolds = async () => {
    tag = (await feed(poll)).tag
    return (await status(tag)) === 304
  }
  await eventually('a tag that holds', tagHolds)
  await world.actions.node.mine({ blocks: 5 })
  await indexed.reachHead()
  await expect.poll(() => status(tag)).toBe(304)
  const eventId = await expired()
  await indexed.reachHead()
  await expect.poll(() => status(tag)).toBe(304)
  await world.actions.settle(world.owner, eventId, 11_000_000n)
  await expect
    .poll(async () => (await feed(poll)).data)
    .toMatchObject([{ type: 'settled', eventId: Number(eventId), triggered: false }])
  // The row can be read before the process is notified of its change, which ends the tag.
  await expect.poll(() => status(tag)).toBe(200)
})

test('a settlement that a reorg removes is reported once as reverted, and again as settled when it is mined again', async () => {
  const { actions } = world
  const eventId = await expired()
  const { meta, tag: none } = await feed('chainId=8453&since=now')
  expect(none).toBe('undefined')
  const poll = `chainId=8453&since=${meta?.nextCursor}&eventIds=${eventId}`
  const told = async () => (await feed(poll)).data.map(({ type, triggered }) => `${type} ${triggered}`)
  // While it mines, the node answers calls at the block before with the state of the new one. An observation that runs
  // then attributes the settlement to a block that stays on the chain, and no reorg reverts it. So nothing may be left
  // to observe whenever the node mines.
  await indexed.quiet()
  await actions.settle(world.owner, eventId, 12_500_000n)
  await eventually('the settlement', async () => (await told()).length === 1)
  await indexed.quiet()
  await actions.node.request({ method: 'anvil_reorg', params: [1, []] } as never)
  await actions.node.mine({ blocks: 2 })
  await indexed.reachHead()
  await eventually('the reversal', async () => (await told()).length === 2)
  await actions.settle(world.owner, eventId, 11_000_000n)
  await eventually('the second settlement', async () => (await told()).length === 3)
  await actions.node.mine({ blocks: 3 })
  await indexed.reachHead()
  expect(await told()).toEqual(['settled true', 'reverted true', 'settled false'])
  const { data } = await feed(poll)
  expect(data[1]).toEqual({ ...data[0], seq: data[1]?.seq, type: 'reverted' })
  expect([...data].sort((a, b) => a.seq - b.seq)).toEqual(data)
})

/** A client of the stream, with the events received so far. */
const listen = async (query: string, headers: Record<string, string> = {}, at = base, path = '') => {
  const url = `${at}/v1/hedge/settlements${path}?${query}`
  const request = get(url, { headers: { accept: 'text/event-stream', ...headers } })
  const [response]: [IncomingMessage] = (await once(request, 'response')) as never
  let text = ''
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  const ended = once(response, 'end').catch(() => {})
  return {
    response,
    ended,
    text: () => text,
    items: () =>
      text.split('\n\n').flatMap((block) => {
        const data = /^data: (.*)$/m.exec(block)?.[1]
        const id = /^id: (.*)$/m.exec(block)?.[1]
        return data === undefined || id === undefined ? [] : [{ id, data: Settlement.parse(JSON.parse(data)) }]
      }),
    stop: () => request.destroy(),
  }
}

test('a client that reads too slowly is dropped with a notice, and resumes without a loss', async () => {
  // A chain that has no other settlements.
  const feed56 = 'chainId=56'
  const [A_BURST, MOST_BURSTS] = [1_000, 150]
  let told = 0
  const burst = (): Promise<void> =>
    indexed.database.transaction(async (handle) => {
      const last = await announce(handle, 56, touching(settlementsScope), A_BURST)
      const drafts = Array.from({ length: A_BURST }, (_, at) => ({
        ...{ type: 'settled' as const, eventId: BigInt(told + at), settledAt: 1n, triggered: false },
        ...{ settlementPrice: 1n, blockNumber: 1n, blockHash: `0x${'22'.repeat(32)}` as const },
      }))
      await insertSettlements(handle, 56, drafts, last)
      told += A_BURST
    })
  const quick = [await listen(feed56), await listen(feed56)]
  const stalled = await listen(feed56)
  stalled.response.pause()
  const count = ({ text }: typeof stalled): number => text().split('event: settled').length - 1
  const dropped = async (): Promise<number> =>
    Number(/^fx_streams_dropped_total (\d+)$/m.exec(await api.metrics.metrics())?.[1])
  const before = await dropped()
  for (let bursts = 0; bursts < MOST_BURSTS && (await dropped()) === before; bursts += 1) {
    await burst()
    await eventually('the quick have all', () => quick.every((it) => count(it) === told))
  }
  stalled.response.resume()
  await stalled.ended
  expect(stalled.text()).toMatch(/event: dropped\ndata: \{"reason":"too slow"\}\n\n$/)
  const again = await listen(feed56, { 'last-event-id': stalled.items().at(-1)?.id ?? '' })
  await eventually('the rest', () => count(stalled) + count(again) === told)
  const ids = [...stalled.items(), ...again.items()].map(({ data }) => data.eventId)
  expect(ids).toEqual(Array.from({ length: told }, (_, at) => at))
  for (const it of [...quick, again]) it.stop()
})

test('a stream is not answered from the cached page of its URL, and a client that left before it opened takes no place', async () => {
  const { meta } = await feed('chainId=8453')
  const page = await listen('chainId=8453')
  expect(page.response.headers['content-type']).toMatch(/^text\/event-stream/)
  page.stop()
  const block = Number(meta?.asOf[0]?.blockNumber)
  const leaving = new AbortController()
  const url = `${base}/v1/hedge/settlements?chainId=8453&minBlock=${block + 20}&waitMs=10000`
  const init = { headers: { accept: 'text/event-stream' }, signal: leaving.signal }
  const gone = Array.from({ length: 4 }, () => fetch(url, init).catch(() => null))
  await sleep(200)
  leaving.abort()
  await Promise.all(gone)
  await world.actions.node.mine({ blocks: 20 })
  await indexed.reachHead()
  await sleep(200)
  const readers = await Promise.all(Array.from({ length: 3 }, () => listen('chainId=8453')))
  expect(readers.map(({ response }) => response.statusCode)).toEqual([200, 200, 200])
  for (const reader of readers) reader.stop()
})

test('the id of the last event is also taken as a parameter by streams, below the header and above since', async () => {
  const { data } = await feed('chainId=8453')
  const [first, second] = data
  const firstItem = async (query: string, headers: Record<string, string> = {}) => {
    const reader = await listen(`chainId=8453&${query}`, headers)
    await eventually('an item', () => reader.items().length > 0)
    reader.stop()
    return reader.items()[0]?.id
  }
  const [after, id] = [String(first?.seq), String(second?.seq)]
  expect(await firstItem(`lastEventId=${after}`)).toBe(id)
  expect(await firstItem(`since=0&lastEventId=${after}`)).toBe(id)
  // What a polyfill makes of a URL that had the parameter.
  expect(await firstItem(`&lastEventId=${after}`)).toBe(id)
  expect(await firstItem('since=now&lastEventId=0', { 'last-event-id': after })).toBe(id)
  expect(await firstItem(`lastEventId=${after}`, { 'last-event-id': '' })).toBe(id)
  const accept = 'text/event-stream'
  for (const [query, headers] of [
    ['lastEventId=x', { accept }],
    ['lastEventId=now', { accept }],
    ['lastEventId=', { accept }],
    [`lastEventId=${after}&lastEventId=${after}`, { accept }],
    // Pages continue with `since`.
    [`lastEventId=${after}`, {}],
  ] as const) {
    const refused = await fetch(`${base}/v1/hedge/settlements?chainId=8453&${query}`, { headers })
    expect([query, refused.status, await refused.text()]).toEqual([
      query,
      400,
      expect.stringContaining('"path":"lastEventId"'),
    ])
  }
})

const MICROSECONDS_PER_HOUR = 3_600_000_000

test('a position of the future is a 400 that names its place, in pages and streams', async () => {
  const future = [Number.MAX_SAFE_INTEGER, Date.now() * 1_000 + MICROSECONDS_PER_HOUR].map(String)
  const stream = { accept: 'text/event-stream' }
  for (const at of [...future, '9007199254740993', '9999999999999999'])
    for (const [query, headers, path] of [
      [`chainId=8453&since=${at}`, {}, 'since'],
      [`chainId=8453&finality=finalized&since=${at}`, {}, 'since'],
      [`since=${at}`, stream, 'since'],
      [`lastEventId=${at}`, stream, 'lastEventId'],
      ['since=now', { ...stream, 'last-event-id': at }, 'Last-Event-ID'],
    ] as const) {
      const refused = await fetch(`${base}/v1/hedge/settlements?${query}`, { headers })
      expect([at, query, refused.status, await refused.text()]).toEqual([
        at,
        query,
        400,
        expect.stringContaining(`"path":"${path}"`),
      ])
    }
  // Another process may know changes that this one does not know yet.
  const { meta } = await feed('chainId=8453&since=now')
  const { meta: next, status } = await feed(`chainId=8453&since=${Number(meta?.nextCursor) + 10}`)
  expect([status, next?.nextCursor]).toEqual([200, String(Number(meta?.nextCursor) + 10)])
})

/** The headers that differ from response to response. */
const changing = ({ headers }: IncomingMessage) => ({ date: headers.date, 'x-request-id': headers['x-request-id'] })

test('a stream has the items of the feed at both paths, resumes after the last id, and ends with a notice', async () => {
  const all = await listen('chainId=8453')
  expect(all.response.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    vary: 'accept, accept-encoding',
    'access-control-allow-origin': '*',
  })
  const live = await listen('chainId=8453&since=now', { accept: 'application/json' }, base, '/stream')
  expect(live.response.headers).toEqual({ ...all.response.headers, ...changing(live.response) })
  const { data } = await feed('chainId=8453')
  await eventually('the past', () => all.items().length === data.length)
  expect(all.items().map((it) => it.data)).toEqual(data)
  expect(all.items().map(({ id }) => id)).toEqual(data.map(({ seq }) => String(seq)))

  const resumed = { 'last-event-id': all.items()[0]?.id ?? '' }
  const second = await listen('chainId=8453&since=0', resumed, base, '/stream')
  const refused = await fetch(`${base}/v1/hedge/settlements/stream`, { headers: { accept: 'text/event-stream' } })
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
  const eventId = await expired()
  await world.actions.settle(world.owner, eventId, 12_500_000n)
  await eventually('the new one', () => live.items().length === 1 && second.items().length === data.length)
  expect(live.items()[0]?.data).toMatchObject({ type: 'settled', eventId: Number(eventId) })
  expect(second.items().map((it) => it.data)).toEqual([...data.slice(1), live.items()[0]?.data])
  expect(all.items().at(-1)).toEqual(live.items()[0])

  second.stop()
  await sleep(50)
  const bad = await fetch(`${base}/v1/hedge/settlements`, {
    headers: { accept: 'text/event-stream', 'last-event-id': 'x' },
  })
  expect([bad.status, await bad.text()]).toEqual([400, expect.stringContaining('"path":"Last-Event-ID"')])
  const closing = api.app.close()
  await Promise.all([all.ended, live.ended])
  expect(all.text()).toMatch(/event: end\ndata: .*\n\n$/)
  await closing
})

test('the stream limit of one address also holds for concurrent requests', async () => {
  const own = await indexed.open({ limits: { maxStreamsPerClient: 2, trustedProxies: 1 } })
  const at = await own.app.listen({ port: 0, host: '127.0.0.1' })
  const from = (address: string) => listen('since=0', { 'x-forwarded-for': address }, at)
  const statuses = (readers: readonly Awaited<ReturnType<typeof listen>>[]) =>
    readers.map(({ response }) => response.statusCode ?? 0).sort()
  await eventually('the changes', () => own.sources.changes.isCurrent([8453]))

  const crowd = await Promise.all(Array.from({ length: 6 }, () => from('192.0.2.1')))
  expect(statuses(crowd)).toEqual([200, 200, 429, 429, 429, 429])
  const refused = crowd.find(({ response }) => response.statusCode === 429)
  expect(refused?.response.headers['retry-after']).toBe('5')
  expect(refused?.text()).toContain('"code":"rate_limited"')
  // The port that some gateways report is not part of the address, and a refusal needs no database.
  const reads = vi.spyOn(own.sources.feed, 'page')
  for (const path of ['hedge/settlements', 'hedge/settlements/stream', 'changes', 'changes/stream']) {
    const headers = { accept: 'text/event-stream', 'x-forwarded-for': `192.0.2.1:${40_000 + path.length}` }
    const { status } = await fetch(`${at}/v1/${path}?since=now`, { headers })
    expect([path, status]).toEqual([path, 429])
  }
  expect(reads).not.toHaveBeenCalled()
  reads.mockRestore()
  const other = await from('192.0.2.2')
  expect(other.response.statusCode).toBe(200)
  for (const reader of crowd) reader.stop()
  await eventually('room again', async () => {
    const again = await from('192.0.2.1')
    again.stop()
    return again.response.statusCode === 200
  })
  other.stop()
})
