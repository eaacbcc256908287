import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { fetchLogs } from '../../src/chain/logs.ts'
import { createEndpointRegistry } from '../../src/chain/pool/registry.ts'
import type { Deployment } from '../../src/protocol/chains.ts'
import { factsOf } from '../support/known-chains.ts'
import { eventually } from '../support/process.ts'
import { startNode, widthOf } from '../support/scripted-node.ts'

const countingNode = async () => {
  const node = await startNode()
  /** The widths of the log requests since the last call. */
  const widths = (): number[] =>
    node.requests().flatMap((calls) => calls.map(widthOf).filter((width) => width !== null))
  return { ...node, widths }
}

const deadAddress = '0x000000000000000000000000000000000000dEaD'
const deployment: Deployment = {
  chainId: 8453,
  ...factsOf(8453),
  diamond: deadAddress,
  usdc: deadAddress,
  usdt: null,
  publicRpcUrl: 'http://node.example',
  startBlock: 0n,
  profile: 'reference',
}

const chainOf = (...urls: string[]) => {
  const registry = createEndpointRegistry({
    chainId: 8453,
    urls,
    timeoutMs: 5_000,
    logWidth: 2_000n,
    log: pino({ level: 'silent' }),
  })
  onTestFinished(registry.close)
  return { ...registry, logs: (from = 0n) => fetchLogs({ registry, deployment }, { from, upTo: 900_000n }) }
}

const limit = (most: number, code: number, message: string) => (call: Parameters<typeof widthOf>[0]) =>
  (widthOf(call) ?? 0) > most ? { code, message } : null

test('a range is as wide as the node accepts, and the next one starts at its end', async () => {
  const node = await countingNode()
  const chain = chainOf(node.url)
  const first = await chain.logs()
  expect(first.last.number).toBe(1_999n)
  expect((await chain.logs(2_000n)).before?.hash).toBe(first.last.hash)
  expect(node.widths()).toEqual([2_000, 3_001])
})

test('a wrong stated limit is detected within four requests', async () => {
  const node = await countingNode()
  node.refuse(limit(200, 35, 'ranges over 10000 blocks are not supported on freetier'))
  const { last } = await chainOf(node.url).logs()
  expect(node.widths()).toEqual([2_000, 500, 31])
  expect(last.number).toBe(30n)
})

test('a stated limit below the requested width is used', async () => {
  const node = await countingNode()
  node.refuse(limit(1_000, -32_602, 'eth_getLogs is limited to a 1000 blocks range'))
  const chain = chainOf(node.url)
  for (let from = 0n; from < 3_000n; from += 1_000n) await chain.logs(from)
  expect(node.widths()).toEqual([2_000, 1_000, 1_000, 1_000])
  expect(chain.status().endpoints[0]?.width).toBe(1_000n)
})

test('a node without getLogs is asked once, and from then on only the node that has it', async () => {
  const [without, having] = [await countingNode(), await countingNode()]
  without.refuse(limit(0, -32_005, 'limit exceeded'))
  const chain = chainOf(without.url, having.url)
  await chain.logs()
  await eventually('both are known', async () => {
    await chain.ranked([])
    return chain.status().endpoints.every(({ rank }) => rank === 'ok')
  })
  for (let times = 0; times < 5; times += 1) await chain.logs()
  expect(without.widths().length).toBeLessThanOrEqual(1)
  expect(chain.status()).toMatchObject({ hasLogs: true, endpoints: [{ rank: 'ok', width: 2_000n }, { missing: [] }] })
})

test.each([
  [-32_005, 'limit exceeded', [2_000]],
  [-32_601, 'the method eth_getLogs does not exist/is not available', [2_000]],
  // The range of one block is refused four times in a row.
  [-32_000, 'not today', [2_000, 500, 31, 1, 1, 1, 1]],
])('that the only node has no getLogs is detected (%i %s)', async (code, message, widths) => {
  const node = await countingNode()
  node.refuse(limit(0, code, message))
  const chain = chainOf(node.url)
  await expect(chain.logs()).rejects.toThrow()
  while (chain.status().hasLogs) await expect(chain.logs()).rejects.toThrow()
  expect(node.widths()).toEqual(widths)
  expect(chain.status()).toMatchObject({ hasLogs: false, endpoints: [{ rank: 'ok', missing: ['logs'] }] })
  await expect(chain.logs()).rejects.toThrow('no node of chain 8453 serves logs')
  expect(node.widths()).toEqual([])
})

test.each(['429', 'item'])('a rate limit (%s) does not change the width', async (how) => {
  const node = await countingNode()
  const chain = chainOf(node.url)
  await chain.logs()
  const { width } = chain.status().endpoints[0] ?? {}
  node.widths()
  if (how === 'item') node.refuse(limit(0, -32_005, 'Too Many Requests'))
  else node.say(() => ({ status: 429, headers: { 'retry-after': '0' }, body: 'Too Many Requests' }))
  for (let times = 0; times < 5; times += 1) {
    await expect(chain.logs(2_000n)).rejects.toMatchObject({ code: 'service_unavailable' })
  }
  expect(chain.status()).toMatchObject({ hasLogs: true, endpoints: [{ width }] })
  node.heal()
  await eventually('it answers again', () =>
    chain.logs(2_000n).then(
      () => true,
      () => false,
    ),
  )
  expect(new Set(node.widths())).toEqual(new Set([Number(width)]))
})

test('a result that is too big is requested in smaller ranges', async () => {
  const node = await countingNode()
  node.refuse(limit(300, -32_602, 'query exceeds max results 20000, retry with the range 0-299'))
  await chainOf(node.url).logs()
  expect(node.widths()).toEqual([2_000, 300])
})

test('an answer above the size limit is not read to its end and is requested in smaller ranges', async () => {
  const node = await countingNode()
  const endless = ' '.repeat(17 * 2 ** 20)
  node.say((calls) => (calls.some((call) => (widthOf(call) ?? 0) > 1_000) ? { body: endless } : null))
  const chain = chainOf(node.url)
  expect((await chain.logs()).last.number).toBe(999n)
  expect(node.widths()).toEqual([2_000, 1_000])
  expect(chain.status().endpoints).toMatchObject([{ rank: 'ok' }])
})

test('an empty answer of a node without the last block is not used, and another node is asked', async () => {
  const [behind, ahead] = [await countingNode(), await countingNode()]
  behind.height = 500
  const chain = chainOf(behind.url, ahead.url)
  await eventually('both are known', async () => {
    await chain.ranked([])
    return chain.status().endpoints.every(({ height }) => height !== null)
  })
  expect((await chain.logs()).last.number).toBe(1_999n)
})
