import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { afterEach, expect, test } from 'vitest'
import { createNode } from '../../src/chain/failover.ts'
import { getBlock, getChainId } from '../../src/chain/requests.ts'
import { ServiceError } from '../../src/lib/errors.ts'

type Reply = (calls: { id: number; method: string }[]) => { status?: number; body: string } | 'hang'

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

/** A node that answers as the test says, over a real socket. */
const startNode = async (reply: Reply): Promise<{ url: string; hits: () => number }> => {
  let hits = 0
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      hits += 1
      const answer = reply(JSON.parse(text))
      if (answer === 'hang') return
      response.writeHead(answer.status ?? 200).end(answer.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(resolve)
      }),
  )
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret-key`, hits: () => hits }
}

const results =
  (result: unknown): Reply =>
  (calls) => ({ body: JSON.stringify(calls.map(({ id }) => ({ jsonrpc: '2.0', id, result }))) })
const errors =
  (code: number, message: string): Reply =>
  (calls) => ({ body: JSON.stringify(calls.map(({ id }) => ({ jsonrpc: '2.0', id, error: { code, message } }))) })

const nodeOf = (...urls: string[]) => {
  const node = createNode({ chainId: 8453, urls, timeoutMs: 150, log: pino({ level: 'silent' }) })
  open.push(() => node.close())
  return node
}

const garbage: Record<string, Reply> = {
  'HTML of a balancer': () => ({ status: 502, body: '<html>bad gateway</html>' }),
  'an empty body': () => ({ body: '' }),
  'truncated JSON': () => ({ body: '[{"id":0,"resu' }),
  'one error object for a batch': () => ({
    body: '{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"limit"}}',
  }),
  'fewer answers than asked': () => ({ body: '[]' }),
  'another id': () => ({ body: '[{"jsonrpc":"2.0","id":7,"result":"0x1"}]' }),
  'another shape': results({ not: 'a quantity' }),
  'no answer in time': () => 'hang',
  'a missing block': errors(-32000, 'header not found'),
  'a rate limit in the body': errors(429, 'slow down'),
}

test.each(Object.entries(garbage))('%s from the first node: the second answers', async (_, reply) => {
  const [bad, good] = [await startNode(reply), await startNode(results('0x2105'))]
  const [outcome] = await nodeOf(bad.url, good.url).send([getChainId()])
  expect(outcome).toEqual({ ok: true, value: 8453 })
  expect([bad.hits(), good.hits()]).toEqual([1, 1])
})

test('a revert is the answer and no reason to ask another node', async () => {
  const [first, second] = [
    await startNode(errors(3, 'execution reverted: Past deadline')),
    await startNode(results('0x1')),
  ]
  const [outcome] = await nodeOf(first.url, second.url).send([getChainId()])
  expect(outcome.ok || outcome.error.message).toBe('execution reverted: Past deadline')
  expect(second.hits()).toBe(0)
})

test('nobody answers: service_unavailable, and the message holds no node address', async () => {
  const bad = await startNode(() => ({ status: 500, body: 'oops' }))
  const failure = await nodeOf(bad.url, 'http://127.0.0.1:1/secret-key')
    .send([getChainId()])
    .catch((error) => error)
  expect(failure).toBeInstanceOf(ServiceError)
  expect(failure.code).toBe('service_unavailable')
  expect(failure.message).not.toMatch(/127\.0\.0\.1|secret/)
})

test('a node that keeps hanging rests: later calls do not wait for it', async () => {
  const [hanging, good] = [await startNode(() => 'hang'), await startNode(results('0x1'))]
  const node = nodeOf(hanging.url, good.url)
  for (let call = 0; call < 6; call++) await node.send([getChainId()])
  expect(hanging.hits()).toBe(2)
  expect(good.hits()).toBe(6)
})

test('the answers of a batch follow its requests though the node reorders them', async () => {
  const block = { number: '0x5', hash: '0x01', timestamp: '0x10' }
  const reordered: Reply = (calls) => ({
    body: JSON.stringify(
      calls.map(({ id, method }) => ({ id, result: method === 'eth_chainId' ? '0x38' : block })).reverse(),
    ),
  })
  const { url } = await startNode(reordered)
  const [id, found] = await nodeOf(url).send([getChainId(), getBlock('latest')])
  expect(id).toEqual({ ok: true, value: 56 })
  expect(found.ok && found.value?.number).toBe(5n)
})
