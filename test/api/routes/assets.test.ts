import { createHash } from 'node:crypto'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openApp } from '../../support/app.ts'

let api: Awaited<ReturnType<typeof openApp>>
beforeAll(async () => {
  api = await openApp({})
})
afterAll(() => api?.close())

const ask = (url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
  api.app.inject({ method, url, headers })

const decoders: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  identity: (body) => body,
  gzip: (body) => gunzipSync(body),
  br: (body) => brotliDecompressSync(body),
}

const documents = [
  '/v1/openapi.json',
  '/v1/docs',
  '/v1/docs/operations/getChains',
  '/v1/docs/guide/money.md',
  '/v1/docs/glossary',
  '/v1/docs/search.json',
  '/v1/docs/pages.css',
  '/v1/docs/pages.js',
  '/v1/docs/console.js',
  '/v1/docs/live.js',
  '/llms.txt',
]
const large = ['/v1/openapi.json', '/v1/docs']

describe.each(documents)('%s', (url) => {
  test('has a weak tag by its content, and must be revalidated', async () => {
    const { headers, rawPayload } = await ask(url)
    const hash = createHash('sha256').update(rawPayload).digest('base64url').slice(0, 22)
    expect(headers).toMatchObject({ etag: `W/"${hash}"`, 'cache-control': 'public, no-cache' })
    expect(headers.vary).toMatch(/accept-encoding/i)
    expect(headers).not.toHaveProperty('content-encoding')
  })

  test('is a 304 without a body for each form of its tag', async () => {
    const { headers, statusCode } = await ask(url)
    expect(statusCode).toBe(200)
    const tag = String(headers.etag)
    for (const held of [tag, tag.slice(2), `"other" , ${tag}`, tag.replace(/"$/, '-gzip"'), '*']) {
      const answer = await ask(url, { 'if-none-match': held, 'accept-encoding': 'br' })
      expect([held, answer.statusCode, answer.rawPayload.length]).toEqual([held, 304, 0])
      const { etag, vary, 'cache-control': cacheControl } = headers
      expect(answer.headers).toMatchObject({ etag, vary, 'cache-control': cacheControl })
      for (const name of ['content-encoding', 'content-length', 'content-type'])
        expect(answer.headers).not.toHaveProperty(name)
    }
    for (const other of ['"other"', `W/"${tag.slice(3, 10)}"`, '']) {
      expect([other, (await ask(url, { 'if-none-match': other })).statusCode]).toEqual([other, 200])
    }
  })

  test('has the headers of its GET and no body for a HEAD', async () => {
    for (const encoding of ['identity', 'br']) {
      const [get, head] = await Promise.all(
        (['GET', 'HEAD'] as const).map((method) => ask(url, { 'accept-encoding': encoding }, method)),
      )
      const { 'server-timing': _, 'x-request-id': __, date: ___, ...expected } = get?.headers ?? {}
      expect(head?.headers).toMatchObject(expected)
      expect([head?.statusCode, head?.rawPayload.length]).toEqual([200, 0])
      expect(head?.headers['content-length']).toBe(String(get?.rawPayload.length))
    }
  })
})

/** What a client accepts, and what it gets of a large document. */
const accepted: readonly [string | undefined, string][] = [
  [undefined, 'identity'],
  ['', 'identity'],
  ['identity', 'identity'],
  ['zstd', 'identity'],
  ['*', 'br'],
  ['gzip', 'gzip'],
  ['GZIP', 'gzip'],
  ['gzip, deflate, br, zstd', 'br'],
  ['br;q=0.5, gzip;q=0.8', 'gzip'],
  ['br;q=0, *', 'gzip'],
  ['br;q=0, gzip;q=0', 'identity'],
  ['gzip;q=0.2, identity;q=0.9', 'identity'],
  ['identity;q=0', 'identity'],
]

describe.each(large)('of %s', (url) => {
  test.each(accepted)('a client that accepts %j gets %s', async (header, encoding) => {
    const whole = (await ask(url)).rawPayload
    const { headers, rawPayload } = await ask(url, header === undefined ? {} : { 'accept-encoding': header })
    expect(headers['content-encoding'] ?? 'identity').toBe(encoding)
    expect(decoders[encoding]?.(rawPayload).equals(whole)).toBe(true)
    // At least a third of the bytes stays away.
    if (encoding !== 'identity') expect(rawPayload.length).toBeLessThan(whole.length * 0.34)
  })
})

describe('a script or style of a page', () => {
  const scriptsOf = async (): Promise<readonly string[]> =>
    [...(await ask('/v1/docs/operations/getChains')).body.matchAll(/(?:src|rel="stylesheet" href)="([^"]+)"/g)].map(
      ([, src]) => `/v1/docs/operations/${src}`,
    )

  test('is loaded by the hash of its content, and is immutable', async () => {
    const scripts = await scriptsOf()
    expect(scripts).toHaveLength(4)
    for (const script of scripts) {
      const { headers } = await ask(script)
      expect(headers.etag).toBe(`W/"${new URL(script, 'http://localhost').searchParams.get('v')}"`)
      expect(headers['cache-control']).toBe('public, max-age=31536000, immutable')
    }
  })

  test('is served under the hash of another release too, and must be revalidated then', async () => {
    for (const script of await scriptsOf()) {
      const { statusCode, headers } = await ask(script.replace(/v=.*/, 'v=of-another-release'))
      expect([statusCode, headers['cache-control']]).toEqual([200, 'public, no-cache'])
    }
  })

  test('is rejected with an unknown parameter', async () => {
    const { statusCode, headers } = await ask('/v1/docs/console.js?version=1')
    expect([statusCode, headers['cache-control']]).toEqual([400, 'no-store'])
  })
})
