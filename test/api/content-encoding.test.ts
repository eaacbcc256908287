import { gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { openApp } from '../support/app.ts'
import { mountedBy } from '../support/mounted.ts'

let api: Awaited<ReturnType<typeof openApp>> | undefined
const routes = await mountedBy(async () => {
  api = await openApp({})
})
afterAll(() => api?.close())

const post = async (url: string, encoding: string, payload: Buffer | string) => {
  const headers = { 'content-type': 'application/json', 'content-encoding': encoding }
  const response = await api?.app.inject({ method: 'POST', url, headers, payload })
  return { status: response?.statusCode, headers: response?.headers, body: response?.json() }
}

test.each(routes.flatMap(({ method, url, schema }) => (method === 'POST' && schema?.body ? url : [])))(
  'POST %s rejects a compressed body with a 415 that names the header',
  async (url) => {
    const { status, headers, body } = await post(url, 'gzip', gzipSync('{}'))
    expect([status, headers?.['accept-encoding']]).toEqual([415, 'identity'])
    const message = 'expected no encoding of the body, got gzip: send it uncompressed, without this header'
    expect(body.error).toEqual({
      code: 'validation_error',
      message: `Content-Encoding: ${message}`,
      details: [{ path: 'Content-Encoding', message }],
    })
  },
)

const url = '/v1/tx/hedge/deposit'

test.each(['br', 'x-gzip', 'GZIP', 'identity, gzip', 'gzip,', 'utf-8', 'x'.repeat(5_000)])(
  'a body with the encoding %s is a 415, even when it is JSON',
  async (encoding) => {
    expect((await post(url, encoding, '{"chainId":8453,"eventId":1,"amount":"1"}')).status).toBe(415)
  },
)

test.each(['', 'identity', 'Identity', 'identity, identity'])(
  'a body with the encoding %j is read',
  async (encoding) => {
    expect((await post(url, encoding, '{"chainId":8453,"eventId":1,"amount":"1"}')).status).toBe(200)
  },
)
