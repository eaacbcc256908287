import { pino } from 'pino'
import { zeroAddress } from 'viem'
import { expect, type TestContext, test } from 'vitest'
import { createChain } from '../../src/chain/chain.ts'
import { ServiceError } from '../../src/lib/errors.ts'
import { call } from '../../src/protocol/outputs.ts'
import { factsOf } from '../support/known-chains.ts'
import { eventually } from '../support/process.ts'
import { type ScriptedCall, startNode } from '../support/scripted-node.ts'

const log = pino({ level: 'silent' })

/** A chain whose node never answers requests of one method. It counts as down after the time-out, which also ends other reads. */
const openChain = async (silent: string, { onTestFinished }: TestContext) => {
  const node = await startNode()
  const isSilent = (calls: readonly ScriptedCall[]) => calls.some(({ method }) => method === silent)
  node.say((calls) => (isSilent(calls) ? 'hang' : null))
  const deployment = {
    ...{ chainId: 8453 as const, profile: 'reference' as const, diamond: zeroAddress, startBlock: 0n },
    ...factsOf(8453),
    ...{ usdc: zeroAddress, usdt: null, publicRpcUrl: node.url },
  }
  const chain = createChain({ deployment, rpcUrls: [node.url], timeoutMs: 3_000, headMaxAgeMs: 0, log })
  onTestFinished(chain.close)
  const head = await chain.head()
  return { chain, head, asked: () => node.requests().filter(isSilent).length }
}

const many = <T>(count: number, run: (at: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, at) => run(at)))

test.concurrent('of 500 simulations 8 reach the node, those beyond the queue are unavailable at once, and reads continue', async (context) => {
  const { chain, asked } = await openChain('eth_estimateGas', context)
  let over = 0
  const simulations = many(500, async () => {
    const { status } = await chain.simulate({ from: zeroAddress, to: zeroAddress, data: '0x' })
    over += 1
    return status
  })
  await eventually('the simulations beyond the queue are unavailable', () => over >= 500 - 8 - 64, 500)
  expect((await chain.head()).number).toBeGreaterThan(0n)
  let reached = 0
  const areReached = (): boolean => {
    reached += asked()
    return reached >= 8
  }
  await eventually('the first simulations reach the node', areReached, 500)
  expect(reached).toBe(8)
  expect(await simulations).toEqual(Array.from({ length: 500 }, () => 'unavailable'))
})

test.concurrent('of 500 concurrent broadcasts those beyond the queue are refused at once, with a retry after 1 s', async (context) => {
  const { chain } = await openChain('eth_sendRawTransaction', context)
  const refused: unknown[] = []
  const broadcasts = many(500, () => chain.broadcast('0x02').catch((fault: unknown) => refused.push(fault)))
  await eventually('the broadcasts beyond the queue are refused', () => refused.length >= 500 - 8 - 64, 500)
  expect(refused[0]).toBeInstanceOf(ServiceError)
  expect(refused[0]).toMatchObject({
    code: 'service_unavailable',
    message: 'too many broadcasts for chain 8453 at once: retry after 1 s',
    retryAfter: 1,
  })
  expect((await chain.head()).number).toBeGreaterThan(0n)
  await broadcasts
}, 20_000)

test.concurrent('views beyond a queue of 20,000 for a silent node are refused at once', async (context) => {
  const { chain, head } = await openChain('eth_call', context)
  const refused: unknown[] = []
  const reads = many(20_100, (id) =>
    chain.readAt(head, [call('getHedgePosition', [BigInt(id)])]).catch((fault: unknown) => refused.push(fault)),
  )
  await eventually('the views beyond the queue are refused', () => refused.length === 100, 900)
  expect(refused[0]).toMatchObject({ code: 'service_unavailable', retryAfter: 1 })
  await reads
}, 20_000)

test.concurrent('reads of balances that wait end when their client disconnects', async (context) => {
  const { chain, head } = await openChain('eth_call', context)
  const controller = new AbortController()
  const client = { address: 'a', disconnected: controller.signal }
  const ended: unknown[] = []
  const holdings = [{ wallet: zeroAddress, tokens: [] }]
  const reads = many(500, () => chain.balances(head, holdings, client).catch((fault: unknown) => ended.push(fault)))
  controller.abort('disconnected')
  await eventually('the reads that wait end', () => ended.length === 500 - 1, 500)
  expect([...new Set(ended)]).toEqual(['disconnected'])
  await reads
}, 20_000)
