import { createClient, FxProtectionError } from 'fx-protection-client'
import { describe, expect, test } from 'vitest'

const wallet = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'

/** The message of the error that the first item of a feed is refused with, without a request. */
const refusal = async (feed: 'changes' | 'settlements', options: object): Promise<string> => {
  const fetch = async (): Promise<Response> => {
    throw new Error('no request expected')
  }
  const client = createClient({ baseUrl: 'http://127.0.0.1:9', fetch })
  const error = await client[feed]
    .follow(options)
    .next()
    .catch((fault: unknown) => fault)
  if (error instanceof FxProtectionError && error.code === 'invalid_options') return error.message
  throw new Error('expected a refusal', { cause: error })
}

describe('options of a feed', () => {
  test('an unknown option is refused, and the known one is named', async () => {
    expect(await refusal('changes', { wallet })).toBe(
      "changes.follow: unknown option 'wallet'; did you mean 'wallets'?",
    )
    expect(await refusal('changes', { cursor: '' })).toBe(
      "changes.follow: unknown option 'cursor'; did you mean 'since'?",
    )
    expect(await refusal('settlements', { eventId: 1 })).toBe(
      "settlements.follow: unknown option 'eventId'; did you mean 'eventIds'?",
    )
    expect(await refusal('settlements', { sinceBlock: 1, chainId: undefined })).toBe(
      "settlements.follow: unknown option 'sinceBlock'; did you mean 'since'?",
    )
    expect(await refusal('changes', { onMode: undefined, limit: undefined, cursors: 1 })).toBe(
      "changes.follow: unknown option 'cursors'; expected one of signal, onMode, onFailure, since, chainId, types, wallets, eventIds",
    )
    expect(await refusal('settlements', { limit: 1 })).toBe(
      "settlements.follow: unknown option 'limit'; expected one of signal, onMode, onFailure, since, chainId, eventIds, wallets, triggered, finality",
    )
  })

  test('a value in place of a list is refused', async () => {
    expect(await refusal('changes', { types: 'wallet' })).toBe(
      'changes.follow: \'types\' must be a list, as in `types: ["wallet"]`',
    )
    expect(await refusal('settlements', { eventIds: 4, chainId: 8453 })).toBe(
      "settlements.follow: 'eventIds' must be a list, as in `eventIds: [4]`",
    )
  })

  test('filters that exclude each other, and an empty list, are refused', async () => {
    expect(await refusal('changes', { wallets: [wallet], types: ['event'] })).toBe(
      "changes.follow: 'wallets' selects changes of type 'wallet', which 'types' leaves out",
    )
    expect(await refusal('changes', { eventIds: [1], chainId: 8453, types: ['wallet', 'protocol'] })).toBe(
      "changes.follow: 'eventIds' selects changes of type 'event', which 'types' leaves out",
    )
    expect(await refusal('changes', { wallets: [wallet], eventIds: [1] })).toBe(
      "changes.follow: pass 'wallets' or 'eventIds', and follow each in an iteration of its own",
    )
    expect(await refusal('changes', { wallets: [] })).toBe(
      "changes.follow: 'wallets' is empty: leave it out to read all changes, or begin with one item",
    )
  })
})

test('a program notices each outage by onFailure, and its end by onMode, also while only pages are read', async () => {
  const meta = { nextCursor: 'a.1', hasMore: false, pollAfterMs: 1, reset: false, resets: [], asOf: [] }
  const page = (): Response => Response.json({ data: [], meta })
  const stop = new AbortController()
  let requests = 0
  const fetch = async (): Promise<Response> => {
    requests += 1
    if (requests === 2 || requests === 4) throw new TypeError('fetch failed')
    return page()
  }
  const seen: string[] = []
  const follow = createClient({ baseUrl: 'http://127.0.0.1:9', fetch }).changes.follow({
    ...{ wallets: [wallet], types: ['wallet'], since: 'now', signal: stop.signal },
    onFailure: () => seen.push('down'),
    onMode: (mode) => seen.push(mode) === 5 && stop.abort(),
  })
  for await (const _ of follow) expect.unreachable()
  expect(seen).toEqual(['poll', 'down', 'poll', 'down', 'poll'])
})

test('final settlements are followed over the stream, and in pages while it cannot be opened', async () => {
  const item = { seq: 7, type: 'finalized', chainId: 8453, eventId: 3, settlementPrice: '12500000' }
  const meta = { nextCursor: '7', hasMore: false, pollAfterMs: 1, asOf: [] }
  const stream = `retry: 1000\nid: 0\n\nid: 7\nevent: finalized\ndata: ${JSON.stringify(item)}\n\n`
  const headers = { 'content-type': 'text/event-stream; charset=utf-8' }
  for (const isOpen of [true, false]) {
    const urls: string[] = []
    const fetch = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
      urls.push(String(url))
      if (new Headers(init?.headers).get('accept') !== 'text/event-stream') return Response.json({ data: [item], meta })
      if (isOpen) return new Response(stream, { headers })
      throw new TypeError('fetch failed')
    }
    const client = createClient({ baseUrl: 'http://127.0.0.1:9', fetch })
    for await (const found of client.settlements.follow({ since: 0, finality: 'finalized' })) {
      expect(found).toEqual({ ...item, settlementPrice: 12_500_000n })
      break
    }
    expect(urls).toHaveLength(isOpen ? 1 : 2)
    for (const url of urls) expect(url).toMatch(/settlements\?finality=finalized&/)
  }
})

test('settlements of wallets go on after an outage in which they could not be looked up, and each comes once', async () => {
  const items = [7, 8].map((seq) => ({
    seq,
    type: 'settled',
    chainId: 8453,
    eventId: seq,
    settlementPrice: '12500000',
  }))
  const meta = { hasMore: false, pollAfterMs: 1, asOf: [] }
  const failures: unknown[] = []
  let lookUps = 0
  const fetch = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const { pathname, searchParams } = new URL(String(url))
    if (new Headers(init?.headers).get('accept') === 'text/event-stream') throw new TypeError('fetch failed')
    if (pathname.endsWith('/settlements')) {
      const data = items.filter(({ seq }) => seq > Number(searchParams.get('since')))
      return Response.json({ data, meta: { ...meta, nextCursor: '8' } })
    }
    lookUps += 1
    // The settlement of event 8 cannot be looked up the first time, with all attempts of the request.
    if (pathname.endsWith('/8') && lookUps < 4) throw new TypeError('fetch failed')
    return Response.json({ data: { creator: wallet }, meta: {} })
  }
  const client = createClient({ baseUrl: 'http://127.0.0.1:9', fetch, attempts: 2 })
  const seen: number[] = []
  const onFailure = (error: unknown): unknown => failures.push(error)
  for await (const { seq } of client.settlements.follow({ since: 0, wallets: [wallet], onFailure })) {
    seen.push(seq)
    if (seq === 8) break
  }
  expect(seen).toEqual([7, 8])
  expect(failures.length).toBeGreaterThan(1)
})
