import { type Hex, isHex, parseTransaction } from 'viem'
import { z } from 'zod'
import type { Chain } from '../chain/chain.ts'
import { invalid } from '../lib/errors.ts'
import { BodyChainId } from '../protocol/chains.ts'

const SIGNED = /^0x[a-fA-F0-9]+$/

export const BroadcastBody = z
  .strictObject({
    chainId: BodyChainId,
    signedTx: z
      .custom<Hex>((value) => typeof value === 'string' && isHex(value) && SIGNED.test(value), {
        error: 'expected 0x hex of a signed transaction',
      })
      .meta({ type: 'string', pattern: SIGNED.source }),
  })
  .meta({ id: 'BroadcastBody' })

export type BroadcastBody = z.output<typeof BroadcastBody>

export const Broadcast = z.object({ txHash: z.string().regex(/^0x[0-9a-f]{64}$/) }).meta({ id: 'Broadcast' })

/** The chain a signed transaction is for; undefined when it names none or cannot be decoded here. */
const chainIdOf = (signedTx: Hex): number | undefined => {
  try {
    return parseTransaction(signedTx).chainId
  } catch {
    // The node judges it: its kinds of transaction are newer than ours.
    return undefined
  }
}

/**
 * Hands signed bytes to a node of the chain. Throws `validation_error` when they are for another chain, `upstream_error` with the
 * node's reason when it refuses them.
 */
export const relay = async (chain: Chain, signedTx: Hex): Promise<z.output<typeof Broadcast>> => {
  const signedFor = chainIdOf(signedTx)
  if (signedFor !== undefined && signedFor !== chain.chainId) {
    const message = `signed for chain ${signedFor}, not ${chain.chainId}`
    throw invalid(`signedTx: ${message}`, [{ path: 'signedTx', message }])
  }
  return { txHash: await chain.broadcast(signedTx) }
}
