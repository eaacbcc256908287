import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { defaultClaims } from '../../src/identity/me.ts'
import { createIdentity } from '../../src/identity/verify.ts'

const address = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

/** An identity provider that answers as `answer` does, and the identity that asks it. */
const open = async (
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  { timeoutMs = 10_000, isConfigured = true } = {},
) => {
  const asked: (string | undefined)[] = []
  const state = { answer, clock: 1_000 }
  const server = createServer((request, response) => {
    asked.push(request.headers.authorization)
    state.answer(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const identity = createIdentity({
    userinfoUrl: isConfigured ? `http://127.0.0.1:${(server.address() as AddressInfo).port}/me` : undefined,
    ...{ claims: defaultClaims, timeoutMs, now: () => state.clock },
  })
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await identity.close()
  })
  return { identity, asked, state }
}

/** The status of a user `sub`. */
const user =
  (status = 200, sub = 'ama') =>
  (_: IncomingMessage, response: ServerResponse): void =>
    void response.writeHead(status).end(JSON.stringify({ sub, address }))

test.each([
  [200, null],
  [401, 'unauthorized'],
  [403, 'unauthorized'],
  [402, 'upstream_error'],
  [201, 'upstream_error'],
  [404, 'upstream_error'],
  [500, 'upstream_error'],
])('a provider that answers with status %i: %s', async (status, code) => {
  const { identity, asked } = await open(user(status))
  if (code === null) expect(await identity.verify('abc')).toMatchObject({ user: 'ama', address })
  else await expect(identity.verify('abc')).rejects.toMatchObject({ code })
  expect(asked).toEqual(['Bearer abc'])
})

test.each([
  [59_999, 1],
  [60_001, 2],
])('a verdict is kept for a minute: after %i ms the provider was asked %i times', async (ms, times) => {
  for (const status of [200, 401]) {
    const { identity, asked, state } = await open(user(status))
    await identity.verify('abc').catch(() => {})
    state.clock += ms
    await identity.verify('abc').catch(() => {})
    expect(asked).toHaveLength(times)
  }
})

test('a verdict that is used is not kept for longer', async () => {
  const { identity, asked, state } = await open(user())
  for (const expected of [1, 1, 2]) {
    await identity.verify('abc')
    expect(asked).toHaveLength(expected)
    state.clock += 40_000
  }
})

test('a rejected token is an error again from the kept verdict, and each token has its own', async () => {
  const { identity, asked, state } = await open(user(401))
  for (const _ of [1, 2]) await expect(identity.verify('abc')).rejects.toMatchObject({ code: 'unauthorized' })
  state.answer = user(200, 'kofi')
  expect(await identity.verify('abd')).toMatchObject({ user: 'kofi' })
  await expect(identity.verify('abc')).rejects.toMatchObject({ code: 'unauthorized' })
  expect(asked).toEqual(['Bearer abc', 'Bearer abd'])
})

test('a failure is not kept', async () => {
  const { identity, state } = await open(user(500))
  await expect(identity.verify('abc')).rejects.toMatchObject({ code: 'upstream_error' })
  state.answer = (_, response) => void response.end('<html>')
  await expect(identity.verify('abc')).rejects.toThrow('returned an answer that is not JSON')
  state.answer = (request) => void request.socket.destroy()
  await expect(identity.verify('abc')).rejects.toMatchObject({ code: 'service_unavailable' })
  state.answer = user()
  expect(await identity.verify('abc')).toMatchObject({ user: 'ama' })
})

test('a provider that does not answer in time is a 503, and its later answer counts for nothing', async () => {
  const { identity, state } = await open(() => {}, { timeoutMs: 100 })
  await expect(identity.verify('abc')).rejects.toMatchObject({
    code: 'service_unavailable',
    message: expect.stringMatching(/^the identity provider does not answer \(\w+\)$/),
  })
  state.answer = user()
  expect(await identity.verify('abc')).toMatchObject({ user: 'ama' })
})

test('without a provider every token is a 503 with the remedy', async () => {
  const { identity, asked } = await open(user(), { isConfigured: false })
  await expect(identity.verify('abc')).rejects.toThrow('set IDENTITY_USERINFO_URL')
  expect(asked).toEqual([])
})

test('an answer of a mebibyte is read, and a longer one is refused', async () => {
  const { identity, state } = await open((_, response) => {
    const body = JSON.stringify({ sub: 'ama', address })
    response.end(body.padEnd(1_048_576))
  })
  expect(await identity.verify('abc')).toMatchObject({ user: 'ama' })
  state.answer = (_, response) => void response.end(JSON.stringify({ sub: 'ama', address }).padEnd(1_048_577))
  await expect(identity.verify('abd')).rejects.toMatchObject({ code: 'upstream_error' })
})

test('sixteen tokens are asked about at once, 256 wait, and a further one is refused', async () => {
  const held: ServerResponse[] = []
  const { identity, asked } = await open((_, response) => void held.push(response))
  const tokens = Array.from({ length: 272 }, (_, nth) => identity.verify(`token-${nth}`))
  const again = identity.verify('token-0')
  for (const token of [...tokens, again]) token.catch(() => {})
  await expect.poll(() => asked.length).toBe(16)
  await expect(identity.verify('token-272')).rejects.toMatchObject({
    code: 'service_unavailable',
    retryAfter: 1,
    message: expect.stringContaining('overloaded'),
  })
  const answering = setInterval(() => {
    for (const response of held.splice(0)) response.end(JSON.stringify({ sub: 'ama', address }))
  }, 1)
  const users = await Promise.all([...tokens, again])
  clearInterval(answering)
  expect(users).toHaveLength(273)
  expect(asked).toHaveLength(272)
})
