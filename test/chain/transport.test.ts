import { once } from 'node:events'
import { createServer } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { NodeUnreachable } from '../../src/chain/rpc/errors.ts'
import { getChainId, getLogs, type Request } from '../../src/chain/rpc/requests.ts'
import { createTransport } from '../../src/chain/rpc/transport.ts'
import { startNode } from '../support/scripted-node.ts'
import { cpuMs } from '../support/stopwatch.ts'

const deadAddress = '0x000000000000000000000000000000000000dEaD'
const MIB = 2 ** 20

const logs = getLogs({ address: deadAddress, fromBlock: 0n, toBlock: 9n })

const open = (url: string) => {
  const endpoint = createTransport({ url, timeoutMs: 10_000 })
  onTestFinished(endpoint.close)
  return endpoint
}

/** The outcome of requests that a node answers with this body, and the CPU time in milliseconds. */
const answered = async (requests: readonly Request<unknown>[], body: string) => {
  const node = await startNode()
  node.say(() => ({ body }))
  const endpoint = open(node.url)
  const start = cpuMs()
  const failure = await endpoint.send(requests).catch((fault: unknown) => fault)
  return { failure, took: cpuMs() - start }
}

const faultOf = (failure: unknown) => (failure instanceof NodeUnreachable ? failure.fault : failure)

/** A valid answer to each request, padded to a length in bytes. */
const padded = (requests: readonly Request<unknown>[], bytes: number): string => {
  const answers = requests.map(({ method }, id) => ({ id, result: method === 'eth_getLogs' ? [] : '0x2105' }))
  return JSON.stringify(answers).padEnd(bytes)
}

test.each([
  ['one that nests 15 million lists', '['.repeat(15 * MIB), 'garbage'],
  ['one of 5 million lists', `[${'[],'.repeat(5 * MIB)}1]`, 'size'],
  ['one of a million distinct keys', `{${Array.from({ length: MIB }, (_, at) => `"k${at}":1`)}}`, 'size'],
])('an oversized answer to a log request is rejected before it is parsed: %s', async (_, body, kind) => {
  const results = [await answered([logs], body), await answered([logs], body), await answered([logs], body)]
  for (const { failure } of results) expect(faultOf(failure)).toMatchObject({ kind })
  // Parsing one takes at least four times as long as receiving it. The fastest of several: other work slows some down.
  const { took: received } = await answered([logs], 'x'.repeat(body.length))
  expect(Math.min(...results.map(({ took }) => took))).toBeLessThan(2.5 * received + 100)
})

test.each<[string, Request<unknown>[], string]>([
  ['a batch of twenty', Array.from({ length: 20 }, getChainId), 'batch'],
  ['logs', [logs], 'size'],
])('the answer to %s may have 16 MiB', async (_, requests, kind) => {
  expect((await answered(requests, padded(requests, 16 * MIB))).failure).toHaveLength(requests.length)
  const { failure } = await answered(requests, padded(requests, 16 * MIB + 1))
  expect(faultOf(failure)).toMatchObject({ kind })
})

test('the connection of an endless answer is closed at the size limit', async () => {
  let written = 0
  const server = createServer((request, response) => {
    request.resume()
    const chunk = Buffer.alloc(65_536, '[')
    const more = (): void => {
      while (!response.destroyed && written < 64 * MIB) {
        written += chunk.length
        if (!response.write(chunk)) return void response.once('drain', more)
      }
      response.end()
    }
    more()
  }).listen(0, '127.0.0.1')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  await once(server, 'listening')
  const closed = new Promise((resolve) => {
    server.once('connection', (socket) => socket.on('error', () => {}).once('close', resolve))
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  await expect(open(`http://127.0.0.1:${address.port}`).send([getChainId()])).rejects.toThrow('1048576 bytes')
  await closed
  // The buffers of the two sockets add to the limit.
  expect(written).toBeLessThan(16 * MIB)
})

test('the text of an error is cut to 2 KB before it is classified', async () => {
  const node = await startNode()
  const long = { code: -32_000, message: `header not found ${'batch '.repeat(150_000)}` }
  const endpoint = open(node.url)
  const start = cpuMs()
  node.refuse(() => long)
  const [outcome] = await endpoint.send([getChainId()])
  node.say(() => ({ body: JSON.stringify({ id: null, error: long }) }))
  const refused = await endpoint.send([getChainId()]).catch((fault: unknown) => fault)
  expect(cpuMs() - start).toBeLessThan(1_000)
  const words = [outcome?.ok === false && outcome.error, refused]
  for (const error of words) {
    expect(error).toMatchObject({ message: expect.stringMatching(/header not found/), fault: { kind: 'missing' } })
    expect(error instanceof Error && error.message.length).toBeLessThan(2_100)
  }
})

test('a key that crosses the 2 KB limit of an error text is not relayed in part', async () => {
  const node = await startNode()
  node.refuse(() => ({ code: -32_000, message: `${'word '.repeat(408)}secret-key and more` }))
  const [outcome] = await open(node.url).send([getChainId()])
  expect(outcome?.ok === false && outcome.error.message).toMatch(/^word .*word …$/)
})
