import { keccak256 } from 'viem'
import { expect, test } from 'vitest'
import type { Chain } from '../../src/chain/chain.ts'
import { createLookup } from '../../src/reads/transactions/lookup.ts'
import { fakeChain, rawReceipt } from '../support/fake-chain.ts'
import { fakeSources, rawTransaction } from '../support/fake-lookup.ts'
import { fakeChanges, lookupWaits } from '../support/fake-waits.ts'

/* Which answers of a node are enough, so that no other node is asked. */

const HASH = keccak256('0x01')

/** What a node has of the transaction. */
type Has = { readonly tx: boolean; readonly receipt: boolean }

/** Looks the transaction up at nodes in their order. Returns the number of nodes that each request for it took. */
const look = async (nodes: readonly Has[], isNonceUsed = false) => {
  const took: number[] = []
  const answering = nodes.map(({ tx, receipt }) =>
    fakeChain(({ method, params: [hash] }) => {
      if (method === 'eth_getTransactionByHash') return tx ? rawTransaction(hash) : null
      if (method === 'eth_getTransactionCount') return isNonceUsed ? '0x8' : '0x7'
      return method === 'eth_getTransactionReceipt' && receipt ? rawReceipt(hash, 990) : undefined
    }),
  )
  const [{ chain }] = [...answering, fakeChain()]
  const send: Chain['send'] = async (batch, options) => {
    const isAnswer = options?.isAnswer
    if (isAnswer === undefined) return chain.send(batch)
    for (const [at, node] of answering.entries()) {
      const outcomes = await node.chain.send(batch)
      const isLast = at === nodes.length - 1
      if (!isLast && !isAnswer(outcomes)) continue
      took.push(at + 1)
      return outcomes
    }
    throw new RangeError('expected a node')
  }
  const joined: Chain = { ...chain, send }
  const { changes } = fakeChanges()
  const lookup = createLookup(fakeSources(joined).sources, lookupWaits(changes))
  const { data } = await lookup(joined, HASH, new AbortController().signal, 'client')
  return { status: data.status, took }
}

const [nothing, pending, mined] = [
  { tx: false, receipt: false },
  { tx: true, receipt: false },
  { tx: true, receipt: true },
]

test.each([
  ['has the receipt', [mined, nothing], false, 'succeeded', [1]],
  ['has the transaction alone', [pending, mined], false, 'pending', [1]],
  ['has nothing', [nothing, mined], false, 'succeeded', [2]],
  ['has nothing, and the next one has the transaction', [nothing, pending], false, 'pending', [2]],
  ['has the transaction alone, whose nonce is used', [pending, mined], true, 'succeeded', [1, 2]],
] as const)('a node that %s', async (_, nodes, isNonceUsed, status, took) => {
  expect(await look(nodes, isNonceUsed)).toEqual({ status, took })
})
