import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { acceptedEncodings, encode } from '../../../src/api/response-cache/compress.ts'
import { lastingHeaders, listOf, notModifiedHeaders } from '../../../src/api/response-cache/entry.ts'

test('a header list has names and values in turns, without headers that have no value', () => {
  expect(listOf({ a: 1, b: undefined, c: 'x', d: 0 })).toEqual(['a', '1', 'c', 'x', 'd', '0'])
})

test.each([
  ...['x-request-id', 'server-timing', 'ratelimit-limit', 'ratelimit-remaining', 'x-data-source', 'x-block-number'],
  ...['x-block-hash', 'x-index-lag', 'content-length', 'content-encoding', 'connection', 'keep-alive', 'date'],
  'transfer-encoding',
])('%s is not kept with a cached response', (name) => {
  expect(lastingHeaders({ [name]: 'a', etag: 'b' })).toEqual(['etag', 'b'])
})

test.each(['etag', 'vary', 'cache-control', 'x-transaction', 'access-control-allow-origin'])(
  '%s is kept, and a 304 repeats it',
  (name) => {
    const lasting = lastingHeaders({ [name]: 'a', link: 'b' })
    expect(lasting).toEqual([name, 'a', 'link', 'b'])
    expect(notModifiedHeaders(lasting)).toEqual([name, 'a'])
  },
)

test.each(['content-type', 'link', 'vary-x', 'x-etag', 'etag-x', 'content-security-policy'])(
  '%s is kept, and a 304 leaves it out',
  (name) => {
    const lasting = lastingHeaders({ [name]: 'a' })
    expect(lasting).toEqual([name, 'a'])
    expect(notModifiedHeaders(lasting)).toEqual([])
  },
)

test.each([
  [undefined, ['identity']],
  ['', ['identity']],
  ['br', ['br', 'identity']],
  ['gzip', ['gzip', 'identity']],
  ['gzip, br', ['br', 'gzip', 'identity']],
  ['gzip, br;q=0.5', ['gzip', 'br', 'identity']],
  ['gzip, identity;q=0', ['gzip']],
  ['identity;q=0', []],
  ['*', ['br', 'gzip', 'identity']],
] as const)('Accept-Encoding %s accepts %j, best first', (header, encodings) => {
  expect(acceptedEncodings(header)).toEqual(encodings)
})

test('a body is compressed with gzip or with brotli', async () => {
  const body = Buffer.from('a'.repeat(2_000))
  expect(gunzipSync(await encode(body, 'gzip'))).toEqual(body)
  expect(brotliDecompressSync(await encode(body, 'br'))).toEqual(body)
})
