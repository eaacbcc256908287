import { once } from 'node:events'
import { type IncomingMessage, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { openApp } from '../support/app.ts'
import { startIndexed, type World } from '../support/indexing.ts'
import { mountedBy } from '../support/mounted.ts'
import { byForm, seed } from '../support/repetitions.ts'

let world: World
let indexed: Awaited<ReturnType<typeof startIndexed>>
let api: Awaited<ReturnType<typeof openApp>>
let port: number
/** A URL of each GET of the API, which is answered with 200 where its source is in reach. */
let urls: readonly string[]

/** Parameters that a route cannot do without. */
const required: Readonly<Record<string, string>> = {
  '/v1/hedge/quote-payout/:chainId/:id': 'hypoSettlement=12500000&notional=1000000',
  '/v1/hedge/settlements': 'chainId=8453',
  '/v1/wallets/:addr/portfolio': 'chainId=8453',
  '/v1/wallets/:addr/balances': 'chainId=8453',
}

beforeAll(async () => {
  indexed = await startIndexed([8453])
  world = indexed.world
  const routes = await mountedBy(async () => {
    api = await indexed.open({ limits: { maxStreams: 1 } })
  })
  const values: Readonly<Record<string, string>> = {
    chainId: '8453',
    addr: world.lp.account.address,
    proposalId: `0x${'5F'.repeat(32)}`,
  }
  urls = routes.flatMap(({ method, url }) => {
    // The bundle of the documentation is megabytes, and a stream does not end.
    if (method !== 'GET' || /\/(?:reference\.js|stream)$/.test(url)) return []
    const path = url.replace(/:(\w+)/g, (_, name: string) => values[name] ?? '1')
    return [path + (required[url] === undefined ? '' : `?${required[url]}`)]
  })
  await api.app.listen({ port: 0, host: '127.0.0.1' })
  port = (api.app.server.address() as AddressInfo).port
  await indexed.quiet()
})
afterAll(() => indexed?.close())

/** As a client sends it: `inject` would take a fragment off. */
const ask = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
  const request = send({ host: '127.0.0.1', port, path, method, headers, agent: false }).end()
  const [response]: [IncomingMessage] = (await once(request, 'response')) as never
  return { status: response.statusCode ?? 0, body: await text(response), etag: response.headers.etag }
}

/** What a request gets that the cache may not answer: it expects something. */
const cold = (path: string) => ask(path, { expect: '100-continue' })

const spellings: Readonly<Record<string, (url: string) => string>> = {
  'as it is': (url) => url,
  'with 0X': (url) => url.replace('/0x', '/0X'),
  'in upper case': (url) => url.toUpperCase(),
  'with an upper-case version': (url) => url.replace('/v1/', '/V1/'),
  'with an upper-case route': (url) => url.replace('/hedge/', '/Hedge/'),
  'with upper-case digits of an address': (url) => url.replace(/(?<=\/0x)[^/?]+/, (digits) => digits.toUpperCase()),
  'with lower-case digits of an address': (url) => url.replace(/(?<=\/0x)[^/?]+/, (digits) => digits.toLowerCase()),
  'with a slash at the end': (url) => url.replace(/(?=\?|$)/, '/'),
  'with a slash too many': (url) => url.replace('/v1/', '/v1//'),
  'with two slashes in front': (url) => `/${url}`,
  'with an encoded digit': (url) => url.replace('/0x', '/%30x').replace('/8453', '/%38453'),
  'with an encoded slash': (url) => url.replace('/v1/', '/v1%2F'),
  'with a semicolon': (url) => url.replace(/(?=\?|$)/, ';a=1'),
  'with a fragment': (url) => `${url}#a`,
  'with a fragment for a query': (url) => `${url.replace('?', '#')}#`,
  'with a fragment before the query': (url) => url.replace(/(?=\?|$)/, '#a'),
  'with a host': (url) => `http://host.example${url}`,
}

const queries: Readonly<Record<string, (query: readonly string[]) => readonly string[]>> = {
  'as it is': (query) => query,
  'in another order': (query) => [...query].reverse(),
  'with nothing in front': (query) => ['', ...query],
  'with an ignored parameter': (query) => ['_=1', ...query],
  'with an ignored parameter, encoded': (query) => [...query, '%5Fa=1'],
  'with an encoded name': (query) => query.map((part) => part.replace('chainId', 'chain%49d')),
  'with an encoded value': (query) => query.map((part) => part.replace('=8', '=%38')),
  'with a name in upper case': (query) => query.map((part) => part.toUpperCase()),
  'with an unknown parameter': (query) => [...query, 'b=1'],
  'with a parameter twice': (query) => [...query, ...query],
  'with a wait': (query) => [...query, 'minBlock=1', 'waitMs=1'],
  'with a bad wait': (query) => [...query, 'minBlock=0x1'],
  'with no name': (query) => [...query, '=1'],
}

const variant = (url: string, spelling: string, order: string): string => {
  const [path = '', query = ''] = url.split('?')
  const parts = queries[order]?.(query === '' ? [] : query.split('&')) ?? []
  return spellings[spelling]?.(`${path}${parts.length > 0 ? `?${parts.join('&')}` : ''}`) ?? ''
}

/** What differs at every request, without any part of the answer. */
const lasting = ({ status, body, etag }: Awaited<ReturnType<typeof ask>>) => ({
  status,
  etag,
  body: body.replace(/"(seq|ageSeconds|lagSeconds|fetchedAt|ms|\w*At)":[^,}]+|request [\w-]+/g, '$1'),
})

const expectSame = async (url: string): Promise<void> => {
  // For a moment on a busy machine nothing is current, and nothing has a tag.
  await expect
    .poll(async () => {
      const [first, warm] = [await cold(url), await ask(url)]
      const { status, body, etag } = lasting(warm)
      return { url, isSame: JSON.stringify(lasting(first)) === JSON.stringify({ status, etag, body }) }
    })
    .toEqual({ url, isSame: true })
}

describe('a cached response', () => {
  test('equals the uncached one for every spelling of every URL', { timeout: byForm(240_000, 1_200_000) }, async () => {
    // Those that show how old what they show is have another body at every request.
    const stable = urls.filter((url) => !/\/(status|readyz)$/.test(url))
    const names = [fc.constantFrom(...stable), fc.constantFrom(...Object.keys(spellings))] as const
    await fc.assert(
      fc.asyncProperty(...names, fc.constantFrom(...Object.keys(queries)), async (url, spelling, order) => {
        // The cached response is that of the canonical spelling.
        await ask(variant(url, 'as it is', order))
        await expectSame(variant(url, spelling, order))
      }),
      { numRuns: byForm(25, 2_000), seed, endOnFailure: true },
    )
  })

  test.each([
    ['0X', () => `/v1/hedge/positions/8453/wallet/${world.lp.account.address.replace('0x', '0X')}`, 400],
    ['/V1', () => `/V1/hedge/positions/8453/wallet/${world.lp.account.address}`, 404],
    ['a fragment', () => '/v1/hedge/positions?chainId=8453#x', 400],
  ])('is refused for %s as the cold one is', async (_, urlOf, status) => {
    const url = urlOf()
    const plain = url.replace('0X', '0x').replace('/V1', '/v1').replace('#x', '')
    await expect
      .poll(async () => (await ask(plain, { 'if-none-match': String((await ask(plain)).etag) })).status)
      .toBe(304)
    expect((await cold(url)).status).toBe(status)
    expect((await ask(url)).status).toBe(status)
  })

  test('is cached once, whatever ignored parameters its URL has', async () => {
    const url = `/v1/hedge/deposits/8453/wallet/${world.hedger.account.address}`
    const { pages } = await counts()
    for (let at = 0; at < 30; at += 1) {
      for (const query of [`_=${at}`, `%5F${at}`, `_${at}=1`]) expect((await ask(`${url}?${query}`)).status).toBe(200)
    }
    expect((await counts()).pages - pages).toBeLessThanOrEqual(1)
  })
})

const counts = async (): Promise<{ readonly pages: number; readonly streams: number }> => {
  const text = await api.metrics.metrics()
  const value = (name: string): number => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
  return { pages: value('fx_pages'), streams: value('fx_streams_open') }
}

describe('HEAD', () => {
  test('of every GET has its status and no body, cached, uncached and as a stream', async () => {
    for (const url of urls) {
      const whole = await ask(url)
      for (const headers of [{}, {}, { 'if-none-match': '"none"' }, { accept: 'text/event-stream' }]) {
        const head = await ask(url, headers, 'HEAD')
        expect([url, headers, head.status, head.body]).toEqual([url, headers, whole.status, ''])
      }
    }
  })

  test('of the stream is answered at once and does not count as a stream', async () => {
    for (let at = 0; at < 5; at += 1) {
      for (const path of ['/v1/hedge/settlements', '/v1/hedge/settlements/stream']) {
        const { status, body } = await ask(path, { accept: 'text/event-stream' }, 'HEAD')
        expect([path, status, body]).toEqual([path, 200, ''])
      }
    }
    expect((await counts()).streams).toBe(0)
  })
})
