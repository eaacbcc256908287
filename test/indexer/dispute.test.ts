import { pino } from 'pino'
import { numberToHex, pad, zeroAddress } from 'viem'
import { afterEach, expect, test } from 'vitest'
import { createChain } from '../../src/chain/chain.ts'
import { getChainId } from '../../src/chain/requests.ts'
import { createDispute } from '../../src/indexer/dispute.ts'
import type { Deployment } from '../../src/protocol/chains.ts'
import { eventually } from '../support/process.ts'
import { type Reply, startScriptedNode } from '../support/scripted-node.ts'

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

const log = pino({ level: 'silent' })
const block = { number: 7n, hash: pad(numberToHex(7n)), timestamp: 0n }

const nodes = async (count: number) => {
  const started = await Promise.all(Array.from({ length: count }, () => startScriptedNode()))
  for (const node of started) open.push(node.close)
  const addresses = { diamond: zeroAddress, usdc: zeroAddress, usdt: zeroAddress }
  const deployment: Deployment = {
    chainId: 8453,
    ...addresses,
    startBlock: 0n,
    profile: 'reference',
    publicRpcUrl: 'http://node.example',
  }
  const rpcUrls = started.map(({ url }) => url)
  const chain = createChain({ deployment, rpcUrls, timeoutMs: 3_000, headMaxAgeMs: 0, log })
  open.push(chain.close)
  await eventually('all are known', async () => {
    await chain.send([getChainId()])
    return chain.status().endpoints.every(({ state }) => state === 'ok')
  })
  return {
    started,
    dispute: createDispute({ chain, log }),
    states: () => chain.status().endpoints.map(({ state }) => state),
  }
}

/** Blocks of another fork, so many seconds from now. */
const fork =
  (hash: string, seconds = 0): Reply =>
  (calls) => {
    const timestamp = numberToHex(Math.floor(Date.now() / 1_000) + seconds)
    const result = { number: '0x7', hash, timestamp }
    const answer = ({ id, method }: { readonly id: number; readonly method: string }) => ({
      jsonrpc: '2.0',
      id,
      result: method === 'eth_chainId' ? '0x2105' : result,
    })
    return { body: JSON.stringify(calls.map(answer)) }
  }

test('a head of the future does not show that those who still have the block have stopped', async () => {
  const { started, dispute, states } = await nodes(2)
  started[0]?.say(fork('0xaa', 900))
  expect(await dispute.isGone(block)).toBeNull()
  expect(states()).toEqual(['doubted', 'ok'])
})

test('those who went on are believed against those who have stopped', async () => {
  const { started, dispute } = await nodes(2)
  const stopped = started[1]
  if (stopped === undefined) throw new Error('two were started')
  stopped.time -= 60
  stopped.height -= 60
  started[0]?.say(fork('0xaa'))
  expect(await dispute.isGone(block)).toEqual([0])
})

test('two that agree on another block are believed against one; two that do not agree are doubted', async () => {
  const { started, dispute, states } = await nodes(3)
  started[0]?.say(fork('0xaa'))
  started[2]?.say(fork('0xaa'))
  expect(await dispute.isGone(block)).toEqual([0, 2])
  expect(states()).toEqual(['ok', 'ok', 'ok'])
  started[2]?.say(fork('0xbb'))
  expect(await dispute.isGone(block)).toBeNull()
  expect(states()).toEqual(['doubted', 'ok', 'doubted'])
})

test('one against one, and two against two: nothing is gone', async () => {
  for (const count of [2, 4]) {
    const { started, dispute } = await nodes(count)
    for (const node of started.slice(0, count / 2)) node.say(fork('0xaa'))
    expect(await dispute.isGone(block)).toBeNull()
    expect(dispute.trouble()).toBe('nodes disagree about block 7')
  }
})
