import type { Hex } from 'viem'
import { z } from 'zod'
import type { Chain } from '../chain/chain.ts'
import { invalidField } from '../lib/errors.ts'
import { BodyChainId } from '../protocol/chains.ts'
import { MAX_TX_HEX } from '../protocol/request-fields.ts'
import { signedFor } from './signed-for.ts'

const SIGNED = /^0x[a-fA-F0-9]+$/
const NO_HEX = 'expected 0x hex of a signed transaction'
const TOO_LONG = `expected at most ${MAX_TX_HEX} characters: networks reject longer transactions`

/** `pause()`, signed for chain 8453. */
const EXAMPLE =
  '0x02f87082210507830f4240843b9aca00830493e094610178da211fef7d417bc0e6fed39f05609ad78880848456cb59c080a04ff9600a3255e375b367c25f39942b0d4613b1eb65b224114ec5d061a9e31308a03a8b349379ae715e5a15ba694c8b3013525886d099238dd476b29630f8c29c45'

export const BroadcastBody = z
  .strictObject({
    chainId: BodyChainId,
    signedTx: z
      .string({ error: NO_HEX })
      .max(MAX_TX_HEX, { error: TOO_LONG, abort: true })
      .refine((text) => SIGNED.test(text), { error: NO_HEX, abort: true })
      .transform((text): Hex => `0x${text.slice(2)}`)
      .meta({
        type: 'string',
        pattern: SIGNED.source,
        description: 'The complete signed transaction',
        example: EXAMPLE,
      }),
  })
  .meta({ id: 'BroadcastBody' })

export type BroadcastBody = z.output<typeof BroadcastBody>

export const Broadcast = z.object({ txHash: z.string().regex(/^0x[0-9a-f]{64}$/) }).meta({ id: 'Broadcast' })

/**
 * Sends a signed transaction to a node of the chain. Throws `validation_error` for a transaction of another chain, and
 * `upstream_error` with the node's reason when the node rejects it.
 */
export const relay = async (chain: Chain, signedTx: Hex): Promise<z.output<typeof Broadcast>> => {
  const chainId = signedFor(signedTx)
  if (chainId !== undefined && chainId !== BigInt(chain.chainId)) {
    throw invalidField('signedTx', `signed for chain ${chainId}, not ${chain.chainId}`)
  }
  return { txHash: await chain.broadcast(signedTx) }
}
