import { pino } from 'pino'
import { type Address, zeroAddress } from 'viem'
import { expect, onTestFinished, test } from 'vitest'
import { createChain } from '../../src/chain/chain.ts'
import { getBlock } from '../../src/chain/rpc/requests.ts'
import { type Reply, startNode } from '../support/scripted-node.ts'
import { seedDeployment } from '../support/seed-index.ts'

/* Failures of requests that run foreign code, at nodes that answer everything else. */

const FOREIGN: Address = `0x${'ab'.repeat(20)}`

const isForeign = (calls: readonly { readonly params: readonly unknown[] }[]): boolean =>
  JSON.stringify(calls.map(({ params }) => params)).includes(FOREIGN)

/** Long enough for a busy machine; short for a node that never answers. */
const TIMEOUT_MS = { usual: 10_000, hanging: 1_000 } as const

const openChain = async (reply: Reply, count = 1, timeoutMs: number = TIMEOUT_MS.usual) => {
  const nodes = await Promise.all(Array.from({ length: count }, () => startNode()))
  for (const node of nodes) node.say((calls, isBatch) => (isForeign(calls) ? reply(calls, isBatch) : null))
  const chain = createChain({
    deployment: { ...seedDeployment(8453), diamond: zeroAddress },
    rpcUrls: nodes.map(({ url }) => url),
    ...{ timeoutMs, headMaxAgeMs: 0, log: pino({ level: 'silent' }) },
  })
  onTestFinished(() => chain.close())
  // The first use of a node is preceded by a probe.
  await chain.send({ head: getBlock('latest') })
  await chain.refresh()
  for (const node of nodes) node.requests()
  return { chain, nodes }
}

type Chain = Awaited<ReturnType<typeof openChain>>['chain']

const call = { to: FOREIGN, data: '0x095ea7b3' } as const

const simulateAll = async (chain: Chain): Promise<void> => {
  expect(await chain.simulate({ from: zeroAddress, ...call })).toEqual({ status: 'unavailable' })
  const at = { blockHash: `0x${'cd'.repeat(32)}`, time: 1n, overrides: {} } as const
  await chain.simulateSequence({ from: zeroAddress, calls: [call], ...at }, {}).catch(() => null)
  expect(await chain.ampleBalances([FOREIGN], zeroAddress, at.blockHash)).toEqual({})
}

const itemsOf =
  (error: object): Reply =>
  (calls) => ({
    body: JSON.stringify(calls.map(({ id }) => ({ jsonrpc: '2.0', id, error }))),
  })

const failures: readonly (readonly [string, Reply])[] = [
  ['no answer', () => 'hang'],
  ['a gateway that timed out', () => ({ status: 504, body: '<html>Gateway Time-out</html>' })],
  ['a node that fell over', () => ({ status: 500, body: 'Internal Server Error' })],
  ['a rate limit', () => ({ status: 429, headers: { 'retry-after': '60' }, body: 'too many requests' })],
  ['a time-out of the node', itemsOf({ code: -32_002, message: 'request timed out' })],
  ['a refusal of its size', () => ({ status: 413, body: 'too large' })],
  ['megabytes', () => ({ body: `[{"jsonrpc":"2.0","id":0,"result":"0x${'00'.repeat(4_000_000)}"}]` })],
]

test.each(failures)('%s to foreign code does not count against the node', async (what, reply) => {
  const { chain } = await openChain(reply, 1, what === 'no answer' ? TIMEOUT_MS.hanging : TIMEOUT_MS.usual)
  for (let times = 0; times < 2; times += 1) await simulateAll(chain)
  expect(chain.status().endpoints).toMatchObject([{ rank: 'ok', missing: [], fault: null }])
  expect((await chain.send({ head: getBlock('latest') })).head.ok).toBe(true)
})

test('a node that lacks a method is not asked for it again, also by foreign code', async () => {
  const refusal = itemsOf({ code: -32_601, message: 'the method eth_simulateV1 does not exist/is not available' })
  const { chain } = await openChain((calls, isBatch) =>
    calls.some(({ method }) => method === 'eth_simulateV1') ? refusal(calls, isBatch) : null,
  )
  const at = { blockHash: `0x${'cd'.repeat(32)}`, time: 1n, overrides: {} } as const
  await chain.simulateSequence({ from: zeroAddress, calls: [call], ...at }, {}).catch(() => null)
  expect(chain.status().endpoints).toMatchObject([{ rank: 'ok', missing: ['simulation'] }])
})

test('calls of foreign code get little gas', async () => {
  const { chain, nodes } = await openChain(() => null)
  const gasOf = async (to: Address, data: `0x${string}`): Promise<unknown> => {
    await chain.simulate({ from: zeroAddress, to, data })
    const [estimate] =
      nodes[0]
        ?.requests()
        .flat()
        .filter(({ method }) => method === 'eth_estimateGas') ?? []
    const [tx] = (estimate?.params ?? []) as { gas?: string }[]
    return tx?.gas === undefined ? null : Number(tx.gas)
  }
  const naming = `0x12345678${FOREIGN.slice(2).padStart(64, '0')}` as const
  expect(await gasOf(FOREIGN, '0x')).toBe(300_000)
  // The protocol may call what it is given.
  expect(await gasOf(zeroAddress, naming)).toBe(10_000_000)
  expect(await gasOf(zeroAddress, '0x12345678')).toBe(null)
})
