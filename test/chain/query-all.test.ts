import { pino } from 'pino'
import { numberToHex, zeroAddress } from 'viem'
import { expect, onTestFinished, test } from 'vitest'
import { createChain } from '../../src/chain/chain.ts'
import { getBlock, getChainId, getLogs } from '../../src/chain/rpc/requests.ts'
import { factsOf } from '../support/known-chains.ts'
import { eventually } from '../support/process.ts'
import { type Reply, startNode } from '../support/scripted-node.ts'
import { ranMs } from '../support/stopwatch.ts'

type Line = { readonly why?: string }

/** A chain whose endpoints are all known. */
const chainOf = async (...urls: string[]) => {
  const lines: Line[] = []
  const chain = createChain({
    deployment: {
      chainId: 8453,
      ...factsOf(8453),
      diamond: zeroAddress,
      usdc: zeroAddress,
      usdt: null,
      publicRpcUrl: 'http://node.example',
      startBlock: 0n,
      profile: 'reference',
    },
    rpcUrls: urls,
    timeoutMs: 3_000,
    headMaxAgeMs: 0,
    log: pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) }),
  })
  onTestFinished(chain.close)
  await eventually('all are known', async () => {
    await chain.send({ id: getChainId() })
    return chain.status().endpoints.every(({ rank }) => rank === 'ok')
  })
  return { ...chain, states: () => chain.status().endpoints.map(({ rank }) => rank), lines }
}

/** A node with another block at every height. */
const otherFork: Reply = (calls) => {
  const block = { number: '0x7', hash: numberToHex(0xf0, { size: 32 }), timestamp: '0x10' }
  const result = (method: string): unknown => (method === 'eth_chainId' ? '0x2105' : block)
  return { body: JSON.stringify(calls.map(({ id, method }) => ({ jsonrpc: '2.0', id, result: result(method) }))) }
}

const hashes = async (chain: Pick<Awaited<ReturnType<typeof chainOf>>, 'queryAllEndpoints'>) =>
  (await chain.queryAllEndpoints({ block: getBlock(7n) })).map(({ endpoint, outcomes: { block } }) => [
    endpoint,
    block.ok ? Number(block.value?.hash) : block.error.message,
  ])

test('the answers of all endpoints are returned with their indexes', async () => {
  const nodes = [await startNode(), await startNode(), await startNode()] as const
  const chain = await chainOf(...nodes.map(({ url }) => url))
  nodes[1].say(otherFork)
  expect(await hashes(chain)).toEqual([
    [0, 7],
    [1, 0xf0],
    [2, 7],
  ])
})

test('the result of an endpoint that does not have a block is its error', async () => {
  const [first, second] = [await startNode(), await startNode()]
  const chain = await chainOf(first.url, second.url)
  second.refuse(() => ({ code: -32_000, message: 'header not found' }))
  expect(await hashes(chain)).toEqual([
    [0, 7],
    [1, 'header not found'],
  ])
})

const refused = (code: number, message: string): Reply => {
  const error = { code, message }
  return (calls) => ({ body: JSON.stringify(calls.map(({ id }) => ({ jsonrpc: '2.0', id, error }))) })
}

test.each<[string, Reply]>([
  ['hangs', () => 'hang'],
  ['answers with HTML', () => ({ status: 502, body: '<html>bad gateway</html>' })],
  ['returns a rate limit in the body', refused(429, 'slow down')],
])('an endpoint that %s is left out and delays the result only briefly', async (_, reply) => {
  const [first, second] = [await startNode(), await startNode()]
  const chain = await chainOf(first.url, second.url)
  first.say(reply)
  const start = ranMs()
  expect(await hashes(chain)).toEqual([[1, 7]])
  // The time-out of a hanging node is three seconds.
  expect(ranMs() - start).toBeLessThan(2_500)
  second.say(reply)
  await expect(chain.queryAllEndpoints({ block: getBlock(7n) })).rejects.toMatchObject({ code: 'service_unavailable' })
})

test('an endpoint that refuses a part of the batch is not left out', async () => {
  const node = await startNode()
  const chain = await chainOf(node.url)
  node.refuse(({ params: [at] }) => (at === '0x7' ? { code: 429, message: 'slow down' } : null))
  expect(await chain.queryAllEndpoints({ id: getChainId(), block: getBlock(7n) })).toMatchObject([
    { endpoint: 0, outcomes: { id: { ok: true, value: 8453 }, block: { ok: false } } },
  ])
})

test('an endpoint that lags is asked, and one that lacks a needed capability is not', async () => {
  const [behind, ahead] = [await startNode(), await startNode()]
  const chain = await chainOf(behind.url, ahead.url)
  behind.height -= 60
  behind.time -= 60
  await eventually('it lags', async () => {
    await chain.send({ head: getBlock('latest') })
    return chain.states()[0] === 'lagging'
  })
  expect(await hashes(chain)).toEqual([
    [1, 7],
    [0, 7],
  ])
  // A penalized endpoint makes no other one lag.
  chain.penalize(1, 'its head is implausible')
  expect(chain.states()).toEqual(['ok', 'penalized'])
  expect(await hashes(chain)).toEqual([
    [0, 7],
    [1, 7],
  ])
  behind.refuse(({ method }) => (method === 'eth_getLogs' ? { code: -32_601, message: 'method not found' } : null))
  const logs = getLogs({ address: zeroAddress, fromBlock: 1n, toBlock: 2n })
  expect(await chain.queryAllEndpoints({ logs })).toMatchObject([
    { endpoint: 1, outcomes: { logs: { ok: true, value: [] } } },
  ])
  behind.requests()
  await chain.queryAllEndpoints({ logs })
  expect(behind.requests()).toEqual([])
})

test('an endpoint that contradicts is identified by its index and asked last from then on', async () => {
  const [wrong, right] = [await startNode(), await startNode()]
  const chain = await chainOf(wrong.url, right.url)
  wrong.say(otherFork)
  const {
    endpoint,
    outcomes: { block },
  } = await chain.sendBy({ block: getBlock(7n) })
  expect([endpoint, block.ok && block.value?.hash]).toEqual([0, numberToHex(0xf0, { size: 32 })])
  chain.penalize(endpoint, `another block 7 at ${wrong.url}`)
  chain.penalize(endpoint, 'another block 8')
  expect(chain.status().endpoints).toMatchObject([
    { rank: 'penalized', penalty: 'another block 7 at <node>' },
    { rank: 'ok' },
  ])
  const warned = chain.lines.filter(({ why }) => why !== undefined)
  expect(warned).toMatchObject([{ level: 40, node: 0, msg: 'node is penalized and asked last', times: 1, seconds: 5 }])
  wrong.requests()
  expect((await chain.sendBy({ block: getBlock(7n) })).endpoint).toBe(1)
  expect((await chain.logs({ from: 0n, upTo: 10n })).endpoint).toBe(1)
  expect(wrong.requests()).toEqual([])
  // A query of all endpoints still includes it, after the others.
  expect(await hashes(chain)).toEqual([
    [1, 7],
    [0, 0xf0],
  ])
})

test('the reported endpoint is the one that answered and not the first one asked', async () => {
  const [first, second] = [await startNode(), await startNode()]
  const chain = await chainOf(first.url, second.url)
  first.say(() => ({ status: 502, body: '<html>bad gateway</html>' }))
  expect((await chain.sendBy({ block: getBlock(7n) })).endpoint).toBe(1)
})

test('a slow endpoint is not paused because a penalized one was faster', async () => {
  const [slow, wrong] = [await startNode(), await startNode()]
  const chain = await chainOf(slow.url, wrong.url)
  chain.penalize(1, 'another block 7')
  const onlyProbes: Reply = ([first]) => (first?.method === 'eth_chainId' ? null : 'hang')
  slow.say(onlyProbes)
  for (let times = 0; times < 3; times += 1) expect((await chain.sendBy({ block: getBlock(7n) })).endpoint).toBe(1)
  expect(chain.states()).toEqual(['ok', 'penalized'])
})

test('the only endpoint is used even while it is penalized', async () => {
  const node = await startNode()
  const chain = await chainOf(node.url)
  chain.penalize(0, 'another block 7')
  expect(await chain.send({ id: getChainId() })).toEqual({ id: { ok: true, value: 8453 } })
  expect(await hashes(chain)).toEqual([[0, 7]])
  expect(chain.states()).toEqual(['penalized'])
})
