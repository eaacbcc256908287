import { expect, test } from 'vitest'
import { type Asset, createAsset, sendAsset } from '../../src/api/asset.ts'

test('a document is read once, however many requests wait for it, and again only after a failure', async () => {
  let reads = 0
  const asset = createAsset('text/plain', async () => {
    reads += 1
    if (reads === 1) throw new Error('the file is not there yet')
    return Buffer.from('x'.repeat(2_000))
  })
  const failed = await Promise.allSettled([asset(), asset()])
  expect([reads, failed.map(({ status }) => status)]).toEqual([1, ['rejected', 'rejected']])

  const [first, second] = await Promise.all([asset(), asset()])
  expect([reads, Object.keys(first.bodies).sort(), second === first]).toEqual([2, ['br', 'gzip', 'identity'], true])
})

const asset: Asset = {
  ...{ type: 'text/plain', hash: 'abc', etag: 'W/"abc"' },
  bodies: { identity: Buffer.from('plain'), gzip: Buffer.from('gzip') },
}

/** What is sent to a client with some headers: the status, the body, and the headers. */
const sendTo = (headers: Readonly<Record<string, string>>, version?: string, of = asset) => {
  const sent = { status: 200, body: undefined as string | undefined, headers: {} as Record<string, unknown> }
  const reply = {
    headers: (more: object) => Object.assign(sent.headers, more) && reply,
    header: (name: string, value: string) => Object.assign(sent.headers, { [name]: value }) && reply,
    type: (type: string) => reply.header('content-type', type),
    code: (status: number) => Object.assign(sent, { status }) && reply,
    send: (body?: Buffer) => Object.assign(sent, { body: body?.toString() }) && reply,
  }
  sendAsset({ headers } as never, reply as never, of, { version })
  return sent
}

const lasting = { etag: 'W/"abc"', vary: 'accept-encoding', 'cache-control': 'public, no-cache' }

test.each([
  [{}, 'plain', {}],
  [{ 'accept-encoding': 'gzip' }, 'gzip', { 'content-encoding': 'gzip' }],
  [{ 'accept-encoding': 'br, gzip;q=0.5' }, 'gzip', { 'content-encoding': 'gzip' }],
  [{ 'accept-encoding': 'identity;q=0' }, 'plain', {}],
  [{ 'if-none-match': '"other"' }, 'plain', {}],
])('a client with %j gets the document as %s', (headers, body, own) => {
  const type = { 'content-type': 'text/plain' }
  expect(sendTo(headers)).toEqual({ status: 200, body, headers: { ...lasting, ...type, ...own } })
})

test.each(['W/"abc"', '"abc"', '"x", "abc-gzip"', '*'])('a client with the tag %s gets no body', (tag) => {
  expect(sendTo({ 'if-none-match': tag, 'accept-encoding': 'gzip' })).toEqual({
    ...{ status: 304, body: undefined, headers: lasting },
  })
})

test('a document is immutable under the hash of its content only', () => {
  const control = (version?: string) => sendTo({}, version).headers['cache-control']
  expect(control('abc')).toBe('public, max-age=31536000, immutable')
  expect([control('ab'), control('')]).toEqual(['public, no-cache', 'public, no-cache'])
})

test('a document of 1,024 bytes is compressed, and a smaller one is not', async () => {
  const bodiesOf = async (length: number) => Object.keys((await createAsset('a', () => Buffer.alloc(length))()).bodies)
  expect([await bodiesOf(1_023), await bodiesOf(1_024)]).toEqual([['identity'], ['identity', 'gzip', 'br']])
})
