import { createHook } from 'node:async_hooks'
import { createSocket } from 'node:dgram'
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseEndpointUrl, requirePublic } from '../../src/webhooks/address.ts'
import { createPost } from '../../src/webhooks/post.ts'
import { createResolve, type Resolve } from '../../src/webhooks/resolve.ts'
import { sign } from '../../src/webhooks/signature.ts'
import { openReceiver } from '../support/webhook-receiver.ts'

let receiver: Awaited<ReturnType<typeof openReceiver>>
beforeAll(async () => {
  receiver = await openReceiver()
})
afterAll(() => receiver?.close())

const signal = new AbortController().signal
const headers = sign({ id: 'event.changed.1', body: '{}' }, ['whsec_c2VjcmV0'], new Date())

/** Counts the TCP connections that this process begins meanwhile. */
const connectionsOf = async (run: () => Promise<unknown>): Promise<number> => {
  let begun = 0
  const hook = createHook({
    init(_, type) {
      if (type === 'TCPCONNECTWRAP') begun += 1
    },
  }).enable()
  try {
    await run()
    return begun
  } finally {
    hook.disable()
  }
}

/** DNS that answers every name with these addresses. */
const answering = (...addresses: readonly string[]): Resolve => {
  const found: LookupAddress[] = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  return async () => found
}

const post = (url: string, resolve?: Resolve, allowsLoopback = false) =>
  createPost({ allowsLoopback, timeoutMs: 2_000, ...(resolve && { resolve }) })(url, headers, '{}', signal)

const literal = [
  ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', '0', '0.0.0.0', '[::1]', '[::]', 'localhost'],
  ...['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[fe80::1]', '[fc00::1]'],
  ...['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '169.254.169.254', '100.64.0.1'],
  ...['192.0.2.1', '198.18.0.1', '198.51.100.7', '203.0.113.9', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
  ...[
    '[ff02::1]',
    '[2001:db8::1]',
    '[::ffff:10.0.0.1]',
    '[::ffff:a9fe:a9fe]',
    '[100::1]',
    '[::127.0.0.1]',
    '[::2]',
    '[4000::1]',
    '１２７.0.0.1',
    '127。0。0。1',
  ],
]

const names = [
  ...[
    '127.0.0.1',
    '127.8.8.8',
    '0.0.0.0',
    '10.1.2.3',
    '172.20.0.5',
    '192.168.1.1',
    '169.254.169.254',
    '100.100.100.200',
  ],
  ...[
    '::1',
    '::',
    '::ffff:127.0.0.1',
    '::ffff:192.168.0.1',
    'fe80::1',
    'fd00:ec2::254',
    '64:ff9b::a00:1',
    '2002:a00:1::',
  ],
  ...['255.255.255.255', '224.0.0.251', 'ff02::fb', '2001::1'],
]

const schemes = [
  'ftp://example.com/',
  'file:///etc/passwd',
  'gopher://127.0.0.1/',
  'ws://127.0.0.1/',
  'data:text/plain,x',
  '//x',
  '',
]

describe('no connection is made to', () => {
  test.each(literal)('https://%s', async (host) => {
    const url = `https://${host}:${receiver.port}/`
    expect(await connectionsOf(async () => expect(await post(url)).toMatchObject({ ok: false }))).toBe(0)
  })

  test.each(names)('a name that leads to %s', async (address) => {
    const url = `https://hooks.example.com:${receiver.port}/`
    const run = async () => expect(await post(url, answering(address))).toMatchObject({ ok: false })
    expect(await connectionsOf(run)).toBe(0)
  })

  test.each([
    ['8.8.8.8', '127.0.0.1'],
    ['10.0.0.1', '8.8.8.8'],
    ['2606:4700::1111', '::1'],
  ])('a name that leads to %s and %s', async (...addresses) => {
    const run = async () =>
      expect(await post('https://hooks.example.com/', answering(...addresses))).toMatchObject({ ok: false })
    expect(await connectionsOf(run)).toBe(0)
  })

  test('a name without an address, and one that does not exist', async () => {
    const missing = () => Promise.reject(new Error('queryA ENOTFOUND'))
    const run = async () => {
      for (const resolve of [answering(), missing])
        expect(await post('https://hooks.example.com/', resolve)).toMatchObject({ ok: false })
    }
    expect(await connectionsOf(run)).toBe(0)
  })

  test.each(schemes)('%j', async (url) => {
    for (const allowsLoopback of [false, true]) {
      const run = async () => expect(await post(url, undefined, allowsLoopback)).toMatchObject({ ok: false })
      expect(await connectionsOf(run)).toBe(0)
    }
  })

  test('another machine over HTTP, also where HTTP to this machine is allowed', async () => {
    const urls = ['http://8.8.8.8/', 'http://hooks.example.com/', 'http://10.0.0.1/', 'http://127.0.0.2/']
    for (const url of urls) {
      const run = async () => expect(await post(url, answering('127.0.0.1'), true)).toMatchObject({ ok: false })
      expect(await connectionsOf(run)).toBe(0)
    }
    const elsewhere = async () =>
      expect(await post('http://localhost/', answering('8.8.8.8'), true)).toMatchObject({ ok: false })
    expect(await connectionsOf(elsewhere)).toBe(0)
  })
})

test('a public address is connected to, as checked', async () => {
  const run = async () => {
    // Whether something answers does not matter.
    expect(await post('https://hooks.example.com:9/', answering('1.1.1.1'))).toMatchObject({ ok: false })
  }
  expect(await connectionsOf(run)).toBe(1)
})

test('a name server that never answers delays no other lookup of the process', async () => {
  const silent = createSocket('udp4')
  silent.bind(0, '127.0.0.1')
  await once(silent, 'listening')
  const resolve = createResolve([`127.0.0.1:${silent.address().port}`], { timeout: 100, tries: 1 })
  let ended = 0
  const slow = Array.from({ length: 20 }, (_, at) =>
    resolve(`${at}.example.com`).catch(() => {
      ended += 1
    }),
  )
  expect(await lookup('localhost')).toMatchObject({ family: expect.any(Number) })
  expect(ended).toBe(0)
  await Promise.all(slow)
  expect(ended).toBe(20)
  silent.close()
}, 30_000)

test('a message has the headers of its signature, its type and its length in bytes', async () => {
  const body = '{"name":"漢字"}'
  await createPost({ allowsLoopback: true })(receiver.url, headers, body, signal)
  const got = receiver.received.at(-1)
  expect(got).toMatchObject({ path: '/hooks', body })
  expect(got?.headers).toMatchObject({
    ...headers,
    ...{ 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) },
    'user-agent': 'fx-protection-webhooks',
  })
})

test('an attempt ends with its signal, and before its time-out', async () => {
  const silent = await openReceiver(() => controller.abort(new Error('stopped')))
  const controller = new AbortController()
  const posted = await createPost({ allowsLoopback: true })(silent.url, headers, '{}', controller.signal)
  expect(posted).toEqual({ ok: false, failure: 'stopped' })
  const begun = await createPost({ allowsLoopback: true, timeoutMs: 50 })(silent.url, headers, '{}', signal)
  expect(begun).toEqual({ ok: false, failure: 'no response within 0.05 s' })
  await silent.close()
})

test('a failure of any length is cut to 500 characters, without control characters', async () => {
  const names = 'DNS:hooks.example.com\n'.repeat(1_000)
  const posted = await post('https://hooks.example.com/', () => Promise.reject(new Error(names)))
  expect(posted).toEqual({ ok: false, failure: `${names.slice(0, 499).replaceAll('\n', ' ')}…` })
})

test('HTTP to this machine works where it is allowed', async () => {
  expect(await post(receiver.url, undefined, true)).toEqual({ ok: true, status: 204 })
  expect(await post(receiver.url)).toMatchObject({ ok: false })
})

test('a URL of an endpoint is refused with its reason', () => {
  const refused = (url: string) => {
    try {
      return parseEndpointUrl(url, false).href
    } catch (error) {
      return String(error)
    }
  }
  expect(refused('http://example.com/')).toContain('expected https')
  for (const user of ['user:pass', 'user', ':pass'])
    expect(refused(`https://${user}@example.com/`)).toContain('without user and password')
  expect(refused('https://example.com/#a')).toContain('without #')
  expect(refused(`https://example.com/${'a'.repeat(1_980)}`)).toMatch(/^https.*a$/)
  expect(refused(`https://example.com/${'a'.repeat(1_981)}`)).toContain('at most 2000 characters')
  expect(refused('https://0x7f.1/')).toContain('127.0.0.1 is not a public address')
  expect(refused('https://example.com/hooks?a=1')).toBe('https://example.com/hooks?a=1')
  expect(refused('https://example.com:8443/')).toBe('https://example.com:8443/')
  expect(refused('https://bücher.example/')).toBe('https://xn--bcher-kva.example/')
})

describe('a URL to which nothing is delivered is refused when it is added', () => {
  test.each<readonly [url: string, reason: string]>([
    ['https://localhost/', 'localhost is not a public address'],
    ['https://LOCALHOST./', 'localhost. is not a public address'],
    ['https://hooks.localhost:8443/', 'hooks.localhost is not a public address'],
    ['https://example.com:0/', 'expected a port from 1 to 65535, got 0'],
    [`https://${'a'.repeat(64)}.com/`, 'at most 63 between two dots'],
    [`https://${'a.'.repeat(127)}example/`, 'expected a host name'],
    ['https://example..com/', 'expected a host name'],
    ['https://exa!mple.com/', 'expected a host name'],
    ...['\t', '\n', '\r\n', '\0', '\u001b[31m', '\u007f', '\u009b', '\u2028', '\u202e', ' '].flatMap((it) =>
      [`https://exam${it}ple.com/`, `https://example.com/a${it}b`, `https://example.com/${it}`].map(
        (url) => [url, 'without blanks and control characters'] as const,
      ),
    ),
  ])('%j', (url, reason) => {
    for (const allowsLoopback of [false, true]) expect(() => parseEndpointUrl(url, allowsLoopback)).toThrow(reason)
  })

  test.each(names)('a name that leads to %s', async (address) => {
    const url = parseEndpointUrl('https://hooks.example.com/', false)
    await expect(requirePublic(url, answering('8.8.8.8', address))).rejects.toThrow(
      'leads to an address that is not public',
    )
  })

  test('a name without an address', async () => {
    const url = parseEndpointUrl('https://hooks.example.com/', false)
    await expect(requirePublic(url, answering())).rejects.toThrow('hooks.example.com has no address')
  })

  test('but not one whose name is not set up yet, or is public', async () => {
    const url = parseEndpointUrl('https://hooks.example.com/', false)
    await requirePublic(url, () => Promise.reject(new Error('queryA ENOTFOUND')))
    await requirePublic(url, answering('8.8.8.8', '2606:4700::1111', '::ffff:8.8.8.8'))
    await requirePublic(parseEndpointUrl('http://localhost:4000/', true), answering('127.0.0.1', '::1'))
  })
})

describe('a receiver that', () => {
  const late = 'no response within 0.3 s'
  const switching = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'
  test.each<[string, string, string | null]>([
    ['never answers', late, ''],
    ['closes the connection', 'socket hang up', null],
    ['answers with garbage', 'Parse Error', 'garbage\r\n\r\n'],
    ['answers with endless headers', 'Header overflow', `HTTP/1.1 200 OK\r\nA: ${'a'.repeat(100_000)}`],
    ['switches protocols', 'the connection was closed before a response', switching],
    ['only sends hints', late, 'HTTP/1.1 103 Early Hints\r\n\r\n'],
    ['sends headers slowly', late, 'HTTP/1.1 200 OK\r\nA'],
  ])('%s fails within the time-out: %s', async (_, failure, text) => {
    const hostile = await openReceiver(({ socket }) => void (text === null ? socket?.destroy() : socket?.write(text)))
    const posted = await createPost({ allowsLoopback: true, timeoutMs: 300 })(hostile.url, headers, '{}', signal)
    await hostile.close()
    expect(posted).toMatchObject({ ok: false, failure: expect.stringContaining(failure) })
  })

  test.each([
    ['has answered with a status', false],
    ['does not answer a worker that stops', true],
  ])('%s is disconnected', async (_, stops) => {
    const controller = new AbortController()
    let isClosed = false
    const open = await openReceiver((response) => {
      response.on('close', () => {
        isClosed = true
      })
      if (stops) controller.abort()
      else response.writeHead(200).write('x')
    })
    await createPost({ allowsLoopback: true })(open.url, headers, '{}', controller.signal)
    await expect.poll(() => isClosed).toBe(true)
    await open.close()
  })

  test.each([
    [200, true],
    [299, true],
    [300, false],
    [404, false],
    [500, false],
  ])('answers with status %i, so the message is delivered: %s', async (status, ok) => {
    const answering = await openReceiver(
      (response) => void response.writeHead(status, { 'retry-after': '7' }).end('no'),
    )
    const posted = await createPost({ allowsLoopback: true, timeoutMs: 2_000 })(answering.url, headers, '{}', signal)
    await answering.close()
    expect(posted).toEqual(ok ? { ok, status } : { ok, status, failure: `status ${status}`, retryAfter: '7' })
  })

  test('redirects is not followed', async () => {
    const location = receiver.url
    const before = receiver.connections()
    const redirecting = await openReceiver((response) => void response.writeHead(307, { location }).end())
    const posted = await createPost({ allowsLoopback: true })(redirecting.url, headers, '{}', signal)
    await redirecting.close()
    expect(posted).toMatchObject({ ok: false, status: 307 })
    expect(receiver.connections()).toBe(before)
  })

  test.each([
    ['as many bytes as the limit', '\r\n'.repeat(500), 'no response within 0.2 s'],
    ['one byte more', `${'\r\n'.repeat(500)}\r`, 'no status within 1000 bytes'],
  ])('sends %s and no status fails with the reason', async (_, text, failure) => {
    const chatty = await openReceiver((response) => void response.socket?.write(text))
    const posts = createPost({ allowsLoopback: true, timeoutMs: 200, maxBeforeStatus: 1_000 })
    const posted = await posts(chatty.url, headers, '{}', signal)
    await chatty.close()
    expect(posted).toEqual({ ok: false, failure })
  })

  test.each([
    ['hints', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
    ['blank lines', '\r\n'],
  ])('sends %s without end is left before the time-out', async (_, text) => {
    const flooding = await openReceiver((response) => {
      const flood = setInterval(() => response.socket?.write(text.repeat(2_000)), 1)
      response.on('close', () => clearInterval(flood))
    })
    const posted = await createPost({ allowsLoopback: true })(flooding.url, headers, '{}', signal)
    await flooding.close()
    expect(posted).toMatchObject({ ok: false, failure: expect.stringContaining('no status within 65536 bytes') })
  })

  test('sends an endless body is delivered to, and its body is not read', async () => {
    let written = 0
    const endless = await openReceiver((response) => {
      response.writeHead(200)
      const write = (): void => {
        if (response.destroyed) return
        written += 65_536
        response.write('a'.repeat(65_536), write)
      }
      write()
    })
    const posted = await createPost({ allowsLoopback: true })(endless.url, headers, '{}', signal)
    await endless.close()
    expect(posted).toEqual({ ok: true, status: 200 })
    expect(written).toBeLessThan(50_000_000)
  })
})
