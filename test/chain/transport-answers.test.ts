import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { NodeUnreachable, noBytes } from '../../src/chain/rpc/errors.ts'
import type { Fault } from '../../src/chain/rpc/faults.ts'
import { noteOdd, type Odd } from '../../src/chain/rpc/odd.ts'
import { getBlock, getChainId, getLogs, type Request } from '../../src/chain/rpc/requests.ts'
import { createTransport, type SendOptions } from '../../src/chain/rpc/transport.ts'
import { PackedLog } from '../../src/protocol/abi/packed-log.ts'
import { eventually } from '../support/process.ts'
import { type Reply, type ScriptedCall, startNode } from '../support/scripted-node.ts'
import { ranMs } from '../support/stopwatch.ts'

const open = (url: string, timeoutMs = 10_000) => {
  const transport = createTransport({ url, timeoutMs })
  onTestFinished(transport.close)
  return transport
}

/** A request of any method that takes any result. */
const any = (method: string, more: Partial<Request<unknown>> = {}): Request<unknown> => ({
  ...{ method, params: [], parse: (raw) => raw },
  ...more,
})

/** A transport to a node that answers each request like this. */
const saying = async (reply: Reply, timeoutMs?: number) => {
  const node = await startNode()
  const calls: { readonly calls: readonly ScriptedCall[]; readonly isBatch: boolean }[] = []
  node.say((each, isBatch) => {
    calls.push({ calls: each, isBatch })
    return reply(each, isBatch)
  })
  return { node, calls, ...open(node.url, timeoutMs) }
}
const answers = (...all: readonly object[]): Reply => {
  return () => ({ body: JSON.stringify(all) })
}
const failureOf = (sent: Promise<unknown>): Promise<NodeUnreachable> =>
  sent.then(
    () => expect.unreachable(),
    (fault: unknown) => (fault instanceof NodeUnreachable ? fault : expect.unreachable(String(fault))),
  )

describe('what is sent', () => {
  test('is a batch with ids in order, also for one request, and the request itself for a node without batches', async () => {
    const { send, calls } = await saying(() => null)
    await send([getChainId(), getBlock(7n)])
    await send([getChainId()])
    await send([getChainId()], { alone: true })
    const first = { jsonrpc: '2.0', id: 0, method: 'eth_chainId', params: [] }
    const second = { id: 1, method: 'eth_getBlockByNumber', params: ['0x7', false] }
    const { jsonrpc: _, ...parsed } = first
    expect(calls).toEqual([
      { calls: [parsed, second], isBatch: true },
      { calls: [parsed], isBatch: true },
      { calls: [parsed], isBatch: false },
    ])
  })

  test('is JSON that is posted', async () => {
    const seen: (readonly [string | undefined, IncomingHttpHeaders])[] = []
    const server = createServer((request, response) => {
      seen.push([request.method, request.headers])
      request.resume().on('end', () => response.end('[{"id":0,"result":"0x1"}]'))
    }).listen(0, '127.0.0.1')
    onTestFinished(async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    })
    await once(server, 'listening')
    const { port } = server.address() as { readonly port: number }
    await open(`http://127.0.0.1:${port}`).send([any('eth_x')])
    expect(seen).toMatchObject([['POST', { 'content-type': 'application/json' }]])
  })
})

describe('answers', () => {
  test('are matched by their ids, with values and errors', async () => {
    const error = { code: 3, message: 'execution reverted', data: '0x12' }
    const { send } = await saying(answers({ id: 2, result: 'c' }, { id: 1, error }, { id: 0 }))
    expect(await send([any('a'), any('b'), any('c')])).toMatchObject([
      { ok: true, value: undefined },
      { ok: false, error: { code: 3, message: 'execution reverted', data: '0x12', fault: { kind: 'other' } } },
      { ok: true, value: 'c' },
    ])
  })

  test('of one request need no list, if it was sent without one', async () => {
    const { send } = await saying(() => ({ body: '{"id":0,"result":"0x1"}' }))
    expect(await send([any('a')], { alone: true })).toEqual([{ ok: true, value: '0x1' }])
    expect((await failureOf(send([any('a')]))).fault).toEqual({ kind: 'garbage' })
  })

  test.each<[string, Reply, Fault, string]>([
    ['no list', () => ({ body: '"0x1"' }), { kind: 'garbage' }, 'something else (HTTP 200)'],
    ['too few', answers({ id: 0 }), { kind: 'garbage' }, 'left out'],
    ['another id', answers({ id: 0 }, { id: 2 }), { kind: 'garbage' }, 'left out'],
    ['far too many', answers(...Array(9).fill({ id: 0 })), { kind: 'garbage' }, 'something else (HTTP 200)'],
    ['ids of other types', answers({ id: null }, { id: '0x1' }), { kind: 'garbage' }, 'something else'],
    ['an id of another type', answers({ id: 0 }, { id: '1.0' }), { kind: 'garbage' }, 'left out'],
    ['none', answers(), { kind: 'garbage' }, 'left out'],
    ['half JSON', () => ({ body: '[{"id":0},{"id"' }), { kind: 'garbage' }, 'something else (HTTP 200)'],
    ['a page', () => ({ status: 502, body: '<html>' }), { kind: 'unanswered' }, 'something else (HTTP 502)'],
    ['a limit', () => ({ status: 429, body: '' }), { kind: 'rate', retryAfterMs: null }, '(HTTP 429)'],
    [
      'a limit with its end',
      () => ({ status: 429, headers: { 'retry-after': '7' }, body: '' }),
      { kind: 'rate', retryAfterMs: 7_000 },
      '(HTTP 429)',
    ],
    ['too many bytes sent', () => ({ status: 413, body: '' }), { kind: 'batch', most: null }, '(HTTP 413)'],
    [
      'one error for all',
      () => ({ body: '{"id":null,"error":{"code":-32000,"message":"no batches here"}}' }),
      { kind: 'batch', most: null },
      'node refused the batch: no batches here',
    ],
    [
      'one error for all of a known kind',
      () => ({ body: '{"error":{"code":-32000,"message":"header not found at http://a.example/key"}}' }),
      { kind: 'missing' },
      'node refused the batch: header not found at <node>',
    ],
    [
      'one error for all with the key',
      () => ({ status: 503, body: '{"error":{"code":0,"message":"no secret-key"}}' }),
      { kind: 'unanswered' },
      'node refused the batch: no <secret>',
    ],
  ])('%s: none is used', async (_, reply, fault, message) => {
    const { send } = await saying(reply)
    const failure = await failureOf(send([any('a'), any('b')]))
    expect(failure).toMatchObject({ fault, message: expect.stringContaining(message) })
  })

  test('with an error have the status and the header of the whole', async () => {
    const error = { code: -32_000, message: 'at http://a.example: secret-key' }
    const body = JSON.stringify([{ id: 0, error }])
    const { send } = await saying(() => ({ status: 429, headers: { 'retry-after': '3' }, body }))
    const [outcome] = await send([any('a')])
    expect(outcome).toMatchObject({
      ok: false,
      error: { code: -32_000, message: 'at <node> <secret>', fault: { kind: 'rate', retryAfterMs: 3_000 } },
    })
  })

  test('of another shape are the fault of the node, and one that stands for an error is an outcome', async () => {
    const { send } = await saying(answers({ id: 0, result: 1 }, { id: 1, result: 2 }))
    const cause = new TypeError('expected 0x hex')
    const refusing = (error: Error) =>
      any('eth_x', {
        parse: () => {
          throw error
        },
      })
    const failure = await failureOf(send([any('a'), refusing(cause)]))
    expect(failure).toMatchObject({ fault: { kind: 'garbage' }, message: expect.stringContaining('eth_x'), cause })
    const error = noBytes()
    expect(await send([any('a'), refusing(error)])).toEqual([
      { ok: true, value: 1 },
      { ok: false, error },
    ])
  })

  test('with logs are read from their bytes', async () => {
    const [hash, address] = [`0x${'b1'.repeat(32)}`, `0x${'a1'.repeat(20)}`] as const
    const log = {
      ...{ address, topics: [hash], data: '0x', blockNumber: '0x1', blockHash: hash, transactionHash: hash },
      logIndex: '0x0',
    }
    const { send } = await saying(answers({ id: 0, result: '0x1' }, { id: 1, result: [log] }))
    const logs = getLogs({ address, fromBlock: 0n, toBlock: 9n })
    const [, outcome] = await send([any('a'), logs])
    expect(outcome?.ok && outcome.value).toEqual([expect.any(PackedLog)])
    // What is no request for logs is not searched for them.
    const [, plain] = await send([any('a'), any('b')])
    expect(plain).toEqual({ ok: true, value: [log] })
  })
})

describe('odd answers are understood:', () => {
  /** The values of an answer to two requests, and what is noted. */
  const read = async (reply: Reply, requests = [any('a'), any('b')]) => {
    const { send } = await saying(reply)
    const odd = new Set<Odd>()
    const outcomes = await send(requests, { odd })
    return [outcomes.map((outcome) => outcome.ok && outcome.value), [...odd]]
  }
  const [one, two] = [
    { id: 0, result: 'x' },
    { id: 1, result: 'y' },
  ]

  test('ids that are strings, in any order', async () => {
    expect(await read(answers(one, two))).toEqual([['x', 'y'], []])
    expect(await read(answers({ ...two, id: '1' }, { ...one, id: '0' }))).toEqual([['x', 'y'], ['id']])
  })

  test('an error of null next to a result', async () => {
    expect(await read(answers({ ...one, error: null }, two))).toEqual([['x', 'y'], ['error']])
  })

  test('a code of an error that is a string', async () => {
    const { send } = await saying(answers(one, { id: 1, error: { code: '-32000', message: 'no' } }))
    const odd = new Set<Odd>()
    const error = { code: -32_000, message: 'no' }
    expect(await send([any('a'), any('b')], { odd })).toMatchObject([{ value: 'x' }, { ok: false, error }])
    expect([...odd]).toEqual(['error'])
    const all = await saying(() => ({ body: '{"error":{"code":"429","message":"no"}}' }))
    expect((await failureOf(all.send([any('a')]))).fault).toEqual({ kind: 'rate', retryAfterMs: null })
    const word = await saying(answers(one, { id: 1, error: { code: 'E1', message: 'no' } }))
    expect((await failureOf(word.send([any('a'), any('b')]))).fault).toEqual({ kind: 'garbage' })
  })

  test.each<[string, readonly object[]]>([
    ['of an unknown id', [{ id: 7, result: 'z' }, one, two]],
    ['of another shape', [{ id: null, error: { code: 1, message: '' } }, one, two]],
    ['that repeats one', [one, two, { id: 1, result: 'z' }]],
    ['up to twice as many and four', [one, two, ...Array(6).fill({ id: 0 })]],
  ])('a further item %s', async (_, all) => {
    expect(await read(answers(...all))).toEqual([['x', 'y'], ['extra']])
  })

  const packed =
    (pack: (text: string) => Buffer): Reply =>
    () => ({ body: pack(JSON.stringify([one, two])) })
  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ])('a body that is %s, without a header', async (_, pack) => {
    expect(await read(packed(pack))).toEqual([['x', 'y'], ['compressed']])
  })

  test('what parsers note, of this answer alone', async () => {
    const parse = (raw: unknown) => {
      if (raw === 'x') noteOdd('number')
      return raw
    }
    expect(await read(answers(one, two), [any('a', { parse }), any('b')])).toEqual([['x', 'y'], ['number']])
    noteOdd('number')
    expect(await read(answers(one, two))).toEqual([['x', 'y'], []])
  })
})

describe('the longest answer', () => {
  /** Valid answers to as many requests, of this many bytes in all. */
  const padded = (count: number, bytes: number): Reply => {
    const body = JSON.stringify(Array.from({ length: count }, (_, id) => ({ id, result: '0x1' })))
    return () => ({ body: body + ' '.repeat(bytes - body.length) })
  }
  const most = (...limits: readonly number[]) => limits.map((maxBytes) => any('a', { maxBytes }))
  test.each<[string, readonly Request<unknown>[], number]>([
    ['a request with a limit', most(500), 500],
    ['two with limits', most(500, 700), 1_200],
    ['one with and one without', [...most(500), any('b')], 500 + 2 ** 20],
    ['a merged call of two views', [any('a', { views: 2 })], 2 ** 21],
  ])('%s', async (_, requests, bytes) => {
    const { send } = await saying(padded(requests.length, bytes))
    expect(await send(requests)).toHaveLength(requests.length)
    const longer = await saying(padded(requests.length, bytes + 1))
    expect((await failureOf(longer.send(requests))).message).toContain(`longer than ${bytes} bytes`)
  })

  test('may be longer with logs', async () => {
    const { send } = await saying(padded(2, 2 ** 21 + 1))
    expect(await send([any('eth_getLogs'), any('b')])).toHaveLength(2)
  })

  const long = (...methods: readonly string[]) => methods.map((method) => any(method, { views: 0 }))
  test.each<[string, readonly Request<unknown>[], Fault]>([
    ['logs', [any('eth_getLogs', { maxBytes: 10 }), any('a')], { kind: 'garbage' }],
    ['calls', long('eth_call', 'a'), { kind: 'size', usable: null }],
    ['estimates', long('eth_estimateGas'), { kind: 'size', usable: null }],
    ['simulations', long('eth_simulateV1'), { kind: 'size', usable: null }],
    ['a limit of its own', most(10), { kind: 'size', usable: null }],
    ['others', long('a', 'b'), { kind: 'batch', most: null }],
    ['another one', long('a'), { kind: 'garbage' }],
  ])('makes a longer one a fault by what was asked: %s', async (name, requests, fault) => {
    const { send } = await saying(() => ({ body: name === 'logs' ? '{'.repeat(100) : ' '.repeat(100) }))
    expect((await failureOf(send(requests))).fault).toEqual(fault)
  })

  const receipt = any('eth_getTransactionReceipt', { withoutLogs: true, maxBytes: 2_000 })
  const body = JSON.stringify([{ id: 0, result: { logs: [{ data: '0x' }], status: '0x1' } }])
  test('of a receipt counts its logs, which are not kept', async () => {
    const exact = await saying(() => ({ body: body + ' '.repeat(2_000 - body.length) }))
    expect(await exact.send([receipt])).toEqual([{ ok: true, value: { logs: [], status: '0x1' } }])
    const longer = await saying(() => ({ body: body + ' '.repeat(2_001 - body.length) }))
    expect((await failureOf(longer.send([receipt]))).message).toContain('longer than 2000 bytes')
  })
  test.each([
    ['no logs', [], []],
    ['logs with topics', [{ topics: ['0x01', '0x02'], data: '0x' }, { topics: [] }, { data: '0x' }], []],
    ['logs that are no objects', ['0x'], ['0x']],
  ])('of a receipt with %s leaves out what is a log', async (_, logs, left) => {
    const result = { logsBloom: '0x', list: [[1]], log: ['"logs":['], logs, status: '0x1', last: [{}] }
    for (const text of [JSON.stringify([{ id: 0, result }]), gzipSync(JSON.stringify([{ id: 0, result }]))]) {
      const { send } = await saying(() => ({ body: text }))
      expect(await send([receipt])).toEqual([{ ok: true, value: { ...result, logs: left } }])
    }
  })
  test('of a receipt in another form is read as a whole', async () => {
    const { send } = await saying(() => ({ body: '[{"id": 0, "result": {"logs":[{"data": "0x"} ]}}]' }))
    expect(await send([receipt])).toMatchObject([{ value: { logs: [{ data: '0x' }] } }])
  })
  test('of a receipt among others is read as a whole', async () => {
    const { send } = await saying(() => ({ body: body.replace(']', ']').replace(/\]$/, ',{"id":1}]') }))
    expect(await send([receipt, any('b')])).toMatchObject([{ value: { logs: [{ data: '0x' }] } }, { ok: true }])
  })
})

describe('a request without an answer', () => {
  test.each<[string, number, SendOptions]>([
    ['its own time-out', 2_000, { timeoutMs: 20 }],
    ['the time-out of the endpoint', 20, {}],
    ['the shorter of both', 20, { timeoutMs: 2_000 }],
  ])('ends after %s', async (_, timeoutMs, options) => {
    const { send } = await saying(() => 'hang', timeoutMs)
    const start = ranMs()
    const failure = await failureOf(send([any('a')], options))
    expect(failure).toMatchObject({ fault: { kind: 'unanswered' }, message: 'node gave no answer (TimeoutError)' })
    expect(ranMs() - start).toBeLessThan(1_500)
  })

  test('ends when its caller leaves, and its connection is closed', async () => {
    const { send, node, calls } = await saying(() => 'hang')
    const leaving = new AbortController()
    const failed = failureOf(send([any('a')], { signal: leaving.signal }))
    await eventually('it is asked', () => calls.length === 1)
    expect(node.connections()).toBe(1)
    leaving.abort()
    expect(await failed).toMatchObject({ fault: { kind: 'unanswered' }, message: 'node gave no answer (AbortError)' })
    await eventually('the connection is closed', () => node.connections() === 0)
  })

  test('has no URL in its message when the node is down', async () => {
    const failure = await failureOf(open('http://127.0.0.1:1/secret-key').send([any('a')]))
    expect(failure.fault).toEqual({ kind: 'unanswered' })
    expect(failure.message).not.toMatch(/127|secret/)
  })
})

describe('connections', () => {
  test('are left when they are renewed, and a request under way goes on', async () => {
    let release = (): void => {}
    const held = new Promise<null>((resolve) => {
      release = () => resolve(null)
    })
    let holds = false
    const { send, node, renew, calls } = await saying(() => (holds ? held : null))
    await send([getChainId()])
    holds = true
    const pending = send([getChainId()])
    await eventually('it is asked', () => calls.length === 2)
    renew()
    await eventually('those without a request are closed', () => node.connections() === 1)
    holds = false
    await send([getChainId()])
    expect(node.connections()).toBe(2)
    release()
    expect(await pending).toEqual([{ ok: true, value: 8453 }])
    await eventually('the old one is closed', () => node.connections() === 1)
  })

  test('that were left are waited for at the end', async () => {
    let release = (): void => {}
    const held = new Promise<null>((resolve) => {
      release = () => resolve(null)
    })
    const node = await startNode()
    let asked = 0
    node.say(() => {
      asked += 1
      return held
    })
    const { send, renew, close } = createTransport({ url: node.url, timeoutMs: 10_000 })
    const done: string[] = []
    const pending = send([getChainId()]).then(() => done.push('answered'))
    await eventually('it is asked', () => asked === 1)
    renew()
    const closed = close().then(() => done.push('closed'))
    release()
    await Promise.all([pending, closed])
    expect(done).toEqual(['answered', 'closed'])
  })

  test('are not opened again after a close', async () => {
    const node = await startNode()
    const { send, renew, close } = createTransport({ url: node.url, timeoutMs: 10_000 })
    await send([getChainId()])
    await close()
    renew()
    await expect(send([getChainId()])).rejects.toThrow('node gave no answer')
  })
})
