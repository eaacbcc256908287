import { pino } from 'pino'
import { numberToHex, pad, zeroAddress } from 'viem'
import { afterEach, expect, test } from 'vitest'
import { createChain } from '../../src/chain/chain.ts'
import { getChainId } from '../../src/chain/rpc/requests.ts'
import { createDispute } from '../../src/indexer/dispute.ts'
import type { Deployment } from '../../src/protocol/chains.ts'
import { factsOf } from '../support/known-chains.ts'
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
    ...factsOf(8453),
    ...addresses,
    startBlock: 0n,
    profile: 'reference',
    publicRpcUrl: 'http://node.example',
  }
  const rpcUrls = started.map(({ url }) => url)
  const chain = createChain({ deployment, rpcUrls, timeoutMs: 3_000, headMaxAgeMs: 0, log })
  open.push(chain.close)
  await eventually('all endpoints are known', async () => {
    await chain.send({ id: getChainId() })
    return chain.status().endpoints.every(({ state }) => state === 'ok')
  })
  return {
    started,
    dispute: createDispute({ chain, log }),
    states: () => chain.status().endpoints.map(({ state }) => state),
  }
}

/** Blocks of another fork whose time is `seconds` from now. */
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

test('a head in the future does not prove that the nodes which still have the block have stopped', async () => {
  const { started, dispute, states } = await nodes(2)
  started[0]?.say(fork('0xaa', 900))
  expect(await dispute.resolve(block)).toBeNull()
  expect(states()).toEqual(['doubted', 'ok'])
})

test('nodes that advanced are trusted against nodes that have stopped', async () => {
  const { started, dispute } = await nodes(2)
  const stopped = started[1]
  if (stopped === undefined) throw new Error('two were started')
  stopped.time -= 60
  stopped.height -= 60
  started[0]?.say(fork('0xaa'))
  expect(await dispute.resolve(block)).toEqual([0])
})

test('two nodes that agree on another block are trusted against one; two that do not agree are penalized', async () => {
  const { started, dispute, states } = await nodes(3)
  started[0]?.say(fork('0xaa'))
  started[2]?.say(fork('0xaa'))
  expect(await dispute.resolve(block)).toEqual([0, 2])
  expect(states()).toEqual(['ok', 'ok', 'ok'])
  started[2]?.say(fork('0xbb'))
  expect(await dispute.resolve(block)).toBeNull()
  expect(states()).toEqual(['doubted', 'ok', 'doubted'])
})

test('a block stays valid when one node of two, or two of four, deny it', async () => {
  for (const count of [2, 4]) {
    const { started, dispute } = await nodes(count)
    for (const node of started.slice(0, count / 2)) node.say(fork('0xaa'))
    expect(await dispute.resolve(block)).toBeNull()
    expect(dispute.problem()).toBe('nodes disagree about block 7')
  }
})
