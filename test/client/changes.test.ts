import {
  type Change,
  type ChangesOptions,
  createClient,
  type FollowOptions,
  type Settlement,
} from 'fx-protection-client'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { useFastClock } from '../support/fast-clock.ts'
import { jsonOf } from '../support/memory-chain.ts'

/* The feeds of changes and of settlements: what is asked for, and which position each item has. */

beforeAll(useFastClock)
afterAll(() => void vi.useRealTimers())

type Asked = { readonly url: URL; readonly body: unknown; readonly isStream: boolean }

/** A client whose streams have these texts, or cannot be opened, and whose pages a test answers. */
const clientOf = ({ stream, page = () => ({}) }: { stream?: string; page?: (asked: Asked, nth: number) => object }) => {
  const asked: Asked[] = []
  const fetch = async (given: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const isStream = new Headers(init?.headers).get('accept') === 'text/event-stream'
    const body = init?.body === undefined ? undefined : JSON.parse(String(init.body))
    const each = { url: new URL(String(given)), body, isStream }
    asked.push(each)
    if (!isStream) return new Response(jsonOf(page(each, asked.filter((it) => !it.isStream).length)))
    if (stream === undefined) throw new TypeError('fetch failed')
    return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
  }
  return { client: createClient({ baseUrl: 'http://api.example', fetch }), asked }
}

const meta = (nextCursor: string, resets: readonly object[] = []) => ({
  nextCursor,
  resets,
  pollAfterMs: 1,
  hasMore: false,
})
const reset = (chainId: number) => ({ chainId, reason: 'backfill' })
const change = (seq: number, fields: object = {}) => ({ seq, type: 'event', chainId: 1, eventId: 4, ...fields })

const take = async (client: ReturnType<typeof createClient>, count: number, options: ChangesOptions = {}) => {
  const found: Change[] = []
  for await (const item of client.changes.follow(options)) if (found.push(item) === count) break
  return found
}

describe('the feed of changes', () => {
  test('over a stream has the position of each message', async () => {
    const lines = [
      `id: e.1\nevent: reset\ndata: ${JSON.stringify(reset(1))}`,
      `id: e.2\nevent: change\ndata: ${JSON.stringify(change(2))}`,
      `event: change\ndata: ${JSON.stringify(change(3))}`,
      'id: e.4',
      `id: e.5\nevent: change\ndata: ${JSON.stringify(change(5))}`,
    ]
    const { client, asked } = clientOf({ stream: lines.map((line) => `${line}\n\n`).join('') })
    const found = await take(client, 3, { chainId: 1, types: ['event', 'wallet'], since: 'e.0' })
    expect(found).toEqual([
      { type: 'reset', ...reset(1), cursor: 'e.1' },
      { ...change(2), cursor: 'e.2' },
      { ...change(5), cursor: 'e.5' },
    ])
    expect(asked.map(({ url }) => `${url.pathname}${url.search}`)).toEqual([
      '/v1/changes/stream?chainId=1&types=event,wallet&since=e.0',
    ])
  })

  test('over pages has the position of each change, and continues after the last one', async () => {
    const { client, asked } = clientOf({
      page: (_, nth) => ({
        data: nth === 1 ? [change(7), change(9)] : [change(12)],
        meta: meta(nth === 1 ? 'e.10' : 'e.12'),
      }),
    })
    expect((await take(client, 3)).map(({ cursor }) => cursor)).toEqual(['e.7', 'e.9', 'e.12'])
    expect(asked.filter(({ isStream }) => !isStream).map(({ url }) => url.search)).toEqual([
      '?limit=1000',
      '?since=e.10&limit=1000',
    ])
  })

  test('the last of several resets ends them, unless changes follow it', async () => {
    for (const [data, cursors] of [
      [[], ['e.3', 'e.3', 'f.9']],
      [[change(9)], ['e.3', 'e.3', 'e.3', 'f.9']],
    ] as const) {
      const { client } = clientOf({ page: () => ({ data, meta: meta('f.9', [reset(1), reset(2), reset(3)]) }) })
      const found = await take(client, cursors.length, { since: 'e.3' })
      expect(found.map(({ cursor }) => cursor)).toEqual(cursors)
      expect(found.filter(({ type }) => type === 'reset')).toHaveLength(3)
    }
  })

  test('of wallets or events is asked for in pages, and of more than a thousand over the stream', async () => {
    const listed = (count: number) => Array.from({ length: count }, (_, at) => `0xA${at}`)
    const item = change(2, { type: 'wallet', wallet: '0xa7', eventId: undefined })
    const other = change(1, { type: 'wallet', wallet: '0xb', eventId: undefined })
    for (const [count, isStream] of [
      [1_000, false],
      [1_001, true],
    ] as const) {
      const texts = [other, item].map((it) => `id: e.${it.seq}\nevent: change\ndata: ${JSON.stringify(it)}\n\n`)
      const { client, asked } = clientOf({
        stream: texts.join(''),
        page: () => ({ data: [item], meta: meta('e.2') }),
      })
      expect(await take(client, 1, { wallets: listed(count), chainId: 1 })).toMatchObject([
        { wallet: '0xa7', cursor: 'e.2' },
      ])
      expect(asked.map((each) => each.isStream)).toEqual([isStream])
      if (!isStream) expect(asked[0]?.body).toEqual({ chainId: 1, limit: 1_000, wallets: listed(count) })
      else expect(asked[0]?.url.search).toBe('?chainId=1')
    }
    const ofEvents = clientOf({ page: () => ({ data: [change(3, { eventId: 5 }), change(4)], meta: meta('e.4') }) })
    expect(await take(ofEvents.client, 1, { eventIds: [4], chainId: 1, since: 'e.1' })).toMatchObject([{ seq: 4 }])
    expect(ofEvents.asked[0]?.body).toEqual({ chainId: 1, since: 'e.1', limit: 1_000, eventIds: [4] })
  })

  test('has resets whatever is filtered', async () => {
    const { client } = clientOf({ page: () => ({ data: [], meta: meta('f.9', [reset(1)]) }) })
    expect(await take(client, 1, { wallets: ['0xA'] })).toMatchObject([{ type: 'reset', chainId: 1 }])
  })
})

describe('the feed of settlements', () => {
  const item = (seq: number, type = 'settled') => ({ seq, type, chainId: 1, eventId: 3, settlementPrice: '5' })
  const message = (event: string, seq: number) =>
    `id: ${seq}\nevent: ${event}\ndata: ${JSON.stringify(item(seq, event))}\n\n`
  const follow = async (given: Parameters<typeof clientOf>[0], count: number, options: FollowOptions = {}) => {
    const { client, asked } = clientOf(given)
    const found: Settlement[] = []
    for await (const each of client.settlements.follow(options)) if (found.push(each) === count) break
    return { found, asked }
  }

  test('over a stream has all types, and none that it does not know', async () => {
    const stream = ['settled', 'later', 'reverted', 'finalized'].map((type, at) => message(type, at + 1)).join('')
    const { found, asked } = await follow({ stream }, 3)
    expect(found.map(({ type, seq, settlementPrice }) => [type, seq, settlementPrice])).toEqual([
      ['settled', 1, 5n],
      ['reverted', 3, 5n],
      ['finalized', 4, 5n],
    ])
    expect(asked[0]?.url.search).toBe('?since=now')
  })

  test('asks for what its options name, over the stream and in pages', async () => {
    const options = { since: 6, chainId: 1, eventIds: [3, 4], triggered: false, finality: 'latest' } as const
    const query = 'chainId=1&eventIds=3,4&triggered=false&finality=latest&since=6'
    const page = () => ({ data: [item(7)], meta: { nextCursor: '8', pollAfterMs: 1 } })
    const { asked } = await follow({ page }, 1, options)
    expect(asked.map(({ url }) => url.search)).toEqual([`?${query}`, `?${query}&limit=200`])
  })

  test('continues in pages after the position of the page, which may be after its last item', async () => {
    const page = (_: Asked, nth: number) => ({ data: [item(nth)], meta: { nextCursor: `${nth}0`, pollAfterMs: 1 } })
    const { asked } = await follow({ page }, 3)
    const positions = asked.filter(({ isStream }) => !isStream).map(({ url }) => url.searchParams.get('since'))
    expect(positions).toEqual(['now', '10', '20'])
  })

  test('of wallets has the items of their events only', async () => {
    const stream = [1, 2].map((seq) => message('settled', seq)).join('')
    const page = ({ url }: Asked, nth: number) =>
      url.pathname.endsWith('/3') ? { data: { creator: nth > 3 ? '0xA' : '0xB' } } : { data: [] }
    const { found, asked } = await follow({ stream, page }, 1, { wallets: ['0xa'] })
    expect(found.map(({ seq }) => seq)).toEqual([2])
    expect(asked.slice(1).map(({ url }) => url.pathname.split('/').at(-1))).toEqual(['3', 'positions', 'deposits', '3'])
  })
})
