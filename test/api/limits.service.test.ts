import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { openApp } from '../support/app.ts'

const opened: Awaited<ReturnType<typeof openApp>>[] = []
const open = async (limits: NonNullable<Parameters<typeof openApp>[0]['limits']>) => {
  const api = await openApp({ limits })
  opened.push(api)
  return api
}
afterEach(async () => {
  for (const api of opened.splice(0)) await api.close()
})

const refusedBy = async ({ metrics }: Awaited<ReturnType<typeof openApp>>, reason: string): Promise<number> => {
  const text = await metrics.metrics()
  return Number(new RegExp(`^fx_http_refused_total\\{reason="${reason}"\\} (\\d+)$`, 'm').exec(text)?.[1])
}

const chains = '/v1/chains'

describe('a limit of three requests a minute', () => {
  const limited = () => open({ requestsPerMinute: 3 })

  test('is counted down in headers and ends in a 429 with Retry-After', async () => {
    const { app, send, ...api } = await limited()
    for (const left of [2, 1, 0]) {
      const { statusCode, headers } = await app.inject(chains)
      expect([statusCode, headers['ratelimit-limit'], headers['ratelimit-remaining']]).toEqual([200, '3', String(left)])
    }
    const { status, error, headers } = await send({ url: chains })
    expect([status, error]).toEqual([
      429,
      { code: 'rate_limited', message: 'rate limit exceeded: at most 3 requests a minute' },
    ])
    expect(Number(headers['retry-after'])).toBeGreaterThan(0)
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60)
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(await refusedBy({ app, send, ...api }, 'rate')).toBe(1)
  })

  test('does not apply to health endpoints and preflights, and counts unknown routes', async () => {
    const { app } = await limited()
    for (let request = 0; request < 3; request += 1) expect((await app.inject('/v1/nothing')).statusCode).toBe(404)
    expect((await app.inject(chains)).statusCode).toBe(429)
    expect((await app.inject('/livez')).statusCode).toBe(200)
    expect((await app.inject('/readyz')).statusCode).toBe(503)
    const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' }
    expect((await app.inject({ method: 'OPTIONS', url: chains, headers })).statusCode).toBe(204)
  })

  test('does not count a 304, and counts every other response to a conditional request', async () => {
    const { app } = await limited()
    app.get('/v1/same', (request, reply) => reply.code(request.headers['if-none-match'] === '"a"' ? 304 : 204).send())
    const ask = async (tag: string) =>
      (await app.inject({ url: '/v1/same', headers: { 'if-none-match': tag } })).statusCode
    for (let request = 0; request < 10; request += 1) expect(await ask('"a"')).toBe(304)
    for (let request = 0; request < 3; request += 1) expect(await ask('"b"')).toBe(204)
    expect(await ask('"b"')).toBe(429)
    expect(await ask('"a"')).toBe(429)
  })

  test('allows no more concurrent conditional requests than remain', async () => {
    const { app } = await limited()
    app.get('/v1/slow', async (_, reply) => {
      await new Promise((resolve) => setImmediate(resolve))
      return reply.code(204).send()
    })
    const ask = async () => (await app.inject({ url: '/v1/slow', headers: { 'if-none-match': '"a"' } })).statusCode
    const statuses = await Promise.all(Array.from({ length: 20 }, ask))
    expect(statuses.filter((status) => status === 204)).toHaveLength(3)
    expect(statuses.filter((status) => status === 429)).toHaveLength(17)
  })

  test('applies to the address that the trusted proxies saw, whatever the client claims', async () => {
    const { app } = await open({ requestsPerMinute: 1, trustedProxies: 1 })
    const from = async (forwarded: string) => {
      const headers = { 'x-forwarded-for': forwarded }
      return (await app.inject({ url: chains, headers, remoteAddress: '10.0.0.1' })).statusCode
    }
    expect([await from('192.0.2.1'), await from('192.0.2.1'), await from('192.0.2.2')]).toEqual([200, 429, 200])
    expect([await from('198.51.100.9, 192.0.2.1'), await from('192.0.2.1, 192.0.2.3')]).toEqual([429, 200])
    expect([await from('192.0.2.1:41234'), await from('192.0.2.4:1'), await from('192.0.2.4:2')]).toEqual([
      429, 200, 429,
    ])
    expect([await from('made-up-1'), await from('made-up-2')]).toEqual([200, 429])
  })

  test('ignores forwarding headers without a trusted proxy', async () => {
    const { app } = await open({ requestsPerMinute: 1 })
    const from = async (address: string) =>
      (await app.inject({ url: chains, headers: { 'x-forwarded-for': address } })).statusCode
    expect([await from('192.0.2.1'), await from('192.0.2.2')]).toEqual([200, 429])
  })
})

test('no request is counted without a limit', async () => {
  const { app } = await open({})
  const { headers } = await app.inject(chains)
  expect(Object.keys(headers).filter((name) => name.startsWith('ratelimit'))).toEqual([])
})

test('overload is rejected with a 503 and Retry-After, and health endpoints still answer', async () => {
  const api = await open({ maxHeapBytes: 1 })
  await expect.poll(async () => (await api.app.inject(chains)).statusCode).toBe(503)
  const { error, headers } = await api.send({ url: chains })
  expect(error).toEqual({ code: 'service_unavailable', message: 'overloaded: try again after 2 s' })
  expect(headers['retry-after']).toBe('2')
  expect((await api.app.inject('/livez')).statusCode).toBe(200)
  expect(await refusedBy(api, 'load')).toBeGreaterThan(0)
})

describe('an error names the exceeded limit', () => {
  test.each([
    ['/v1/tx/hedge/deposit', 65_536],
    ['/v1/pricing/quote', 65_536],
    ['/v1/wallets/portfolio', 16_384],
    ['/v1/tx/governance/diamond-cut', 262_144],
    ['/v1/tx/broadcast', 294_912],
  ])('of a body, which for %s is %d bytes', async (url, limit) => {
    const { app } = await open({})
    const headers = { 'content-type': 'application/json' }
    const send = (length: number) => app.inject({ method: 'POST', url, headers, payload: '{}'.padEnd(length) })
    expect((await send(limit)).statusCode).toBe(400)
    const answer = await send(limit + 1)
    expect(answer.statusCode).toBe(413)
    expect(answer.json().error.message).toBe(`the body is larger than ${limit} bytes`)
  })

  test('of an unknown path, of which it repeats only a part', async () => {
    const { app } = await open({})
    const { statusCode, body } = await app.inject(`/v1/${'%22'.repeat(5_000)}`)
    expect(statusCode).toBe(404)
    expect(body.length).toBeLessThan(2_000)
  })

  test('of a parameter, and repeats nothing of an invalid URL', async () => {
    const { app } = await open({})
    const long = await app.inject(`/v1/hedge/events/8453/${'9'.repeat(20_000)}`)
    expect([long.statusCode, long.json().error.message]).toEqual([
      414,
      'a parameter of the path is longer than 16384 characters',
    ])
    const broken = await app.inject('/v1/chains/%zz?key=hidden')
    expect(broken.statusCode).toBe(400)
    expect(broken.body).not.toContain('hidden')
  })

  test('of a head, by its size and by the number of its fields', async () => {
    const { app } = await open({})
    await app.listen({ port: 0, host: '127.0.0.1' })
    const address = app.server.address()
    if (address === null || typeof address === 'string') throw new Error('the app does not listen')
    const exchange = async (head: string): Promise<string> => {
      const socket = connect(address.port, '127.0.0.1')
      await once(socket, 'connect')
      socket.write(`GET ${chains} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${head}\r\n\r\n`)
      let answer = ''
      for await (const chunk of socket) answer += chunk
      return answer
    }
    for (const head of [
      `x: ${'y'.repeat(20_000)}`,
      Array.from({ length: 2_000 }, (_, at) => `x${at}: ${'y'.repeat(20)}`).join('\r\n'),
    ]) {
      const answer = await exchange(head)
      expect(answer).toMatch(/^HTTP\/1\.1 431 /)
      expect(answer).toContain('"URL and headers are larger than 16384 bytes"')
    }
  })
})

describe('hostile input', () => {
  const post = async (payload: string) => {
    const { app } = await open({})
    const headers = { 'content-type': 'application/json' }
    return app.inject({ method: 'POST', url: '/v1/tx/hedge/deposit', headers, payload })
  }

  test.each([
    ['lists in lists', (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`],
    ['objects in objects', (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`],
    ['a field that is deep', (depth: number) => `{"chainId":8453,"a":${'['.repeat(depth)}${']'.repeat(depth)}}`],
    ['a list that never ends', (depth: number) => '['.repeat(depth)],
  ])('%s, 10,000 deep, are refused like any other', async (_, nest) => {
    const { statusCode, body } = await post(nest(10_000))
    expect(statusCode).toBe(400)
    expect(JSON.parse(body)).toMatchObject({ error: { code: 'validation_error' } })
    expect(body.length).toBeLessThan(2_000)
  })

  const hostile = [
    "'; DROP TABLE events; --",
    "1' OR '1'='1",
    '1; SELECT pg_sleep(10)',
    '%0d%0aSet-Cookie:%20a=b',
    '%0d%0a%0d%0aHTTP/1.1 200 OK',
    '%00',
    '%e2%80%a8',
    '../../etc/passwd',
    '$\u007bjndi:ldap://x}',
    '<script>alert(1)</script>',
    '{"$ne":null}',
  ]
  const paths = [
    (text: string) => `/v1/hedge/events/8453/${text}`,
    (text: string) => `/v1/hedge/positions/${text}/1`,
    (text: string) => `/v1/hedge/positions/8453/wallet/${text}`,
    (text: string) => `/v1/governance/proposals/8453/${text}`,
    (text: string) => `/v1/wallets/${text}/portfolio`,
    (text: string) => `/v1/hedge/fees?chainId=${text}`,
    (text: string) => `/v1/hedge/events?cursor=${text}`,
    (text: string) => `/v1/hedge/events?ids=${text}`,
    (text: string) => `/v1/hedge/events?creator=${text}`,
    (text: string) => `/v1/hedge/settlements?since=${text}`,
    (text: string) => `/v1/${text}`,
  ]

  test('in a path or a query is rejected by its schema, and never gets into a header', async () => {
    const { app } = await open({})
    let asked = 0
    for (const path of paths) {
      for (const text of hostile) {
        const url = path(text.startsWith('%') ? text : encodeURIComponent(text))
        const { statusCode, headers } = await app.inject(url)
        asked += 1
        expect([url, [400, 404].includes(statusCode)]).toEqual([url, true])
        expect(headers['set-cookie']).toBeUndefined()
        for (const value of Object.values(headers)) expect(String(value)).not.toMatch(/[\r\n]|Set-Cookie|DROP|script/)
      }
    }
    console.log(`limits: ${asked} URLs that mean harm, all 400 or 404, none in a header of the answer`)
  })

  test('in a header is neither repeated nor interpreted', async () => {
    const { app } = await open({})
    for (const text of [...hostile, 'x'.repeat(8_000)]) {
      for (const name of [
        'x-request-id',
        'traceparent',
        'if-none-match',
        'last-event-id',
        'accept',
        'x-forwarded-for',
      ]) {
        const { statusCode, headers } = await app.inject({ url: chains, headers: { [name]: text } })
        expect(statusCode).toBe(200)
        expect(Object.values(headers)).not.toContain(text)
      }
    }
  })

  test('in a field name is repeated in the error, and has no other effect', async () => {
    for (const name of ['__proto__', 'constructor', "'; DROP TABLE events; --", '\r\nSet-Cookie: a=b']) {
      const { statusCode, headers } = await post(
        JSON.stringify({ chainId: 8453, eventId: 1, amount: '1' }).replace('}', `,${JSON.stringify(name)}:1}`),
      )
      expect(statusCode).toBe(400)
      expect(headers['set-cookie']).toBeUndefined()
    }
  })
})
