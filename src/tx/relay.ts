import { type Address, type Hex, keccak256 } from 'viem'
import { z } from 'zod'
import type { Chain } from '../chain/chain.ts'
import { conflict, invalidField } from '../lib/errors.ts'
import { BodyChainId } from '../protocol/chains.ts'
import { Bool, MAX_TX_HEX } from '../protocol/fields/request-fields.ts'
import { type DecodedRevert, revertOf } from '../protocol/reverts/decode.ts'
import { RevertReason } from '../protocol/reverts/reason.ts'
import { decodeCall, targetOf } from './decode-call.ts'
import { signedCallOf } from './signed-call.ts'
import { bytesAfter, invalidV, signedFor } from './signed-for.ts'

const SIGNED = /^0x[a-fA-F0-9]+$/
const NO_HEX = 'expected 0x hex of a signed transaction'
const HALF_A_BYTE = 'expected an even number of hex digits: two for each byte'
const TOO_LONG = `expected at most ${MAX_TX_HEX} characters: networks reject longer transactions`

export const BroadcastBody = z
  .strictObject({
    chainId: BodyChainId,
    signedTx: z
      .string({ error: NO_HEX })
      .max(MAX_TX_HEX, { error: TOO_LONG, abort: true })
      .refine((text) => SIGNED.test(text), { error: NO_HEX, abort: true })
      .refine((text) => text.length % 2 === 0, { error: HALF_A_BYTE, abort: true })
      .transform((text): Hex => `0x${text.slice(2)}`)
      .meta({
        type: 'string',
        pattern: SIGNED.source,
        description: 'The complete signed transaction',
      }),
    rejectIfReverts: Bool.optional().meta({
      description: 'Do not send a transaction of which the simulation shows that it would revert; false by default',
    }),
  })
  .meta({ id: 'BroadcastBody' })

export type BroadcastBody = z.output<typeof BroadcastBody>

export const Broadcast = z
  .object({
    txHash: z.string().regex(/^0x[0-9a-f]{64}$/),
    simulated: z.boolean().meta({
      description:
        'Whether the transaction was simulated before it was sent: false for a call of another contract, when the node already had it, when earlier transactions of the sender are not mined, and when no node answered within 300 ms',
    }),
    warning: RevertReason.nullable().meta({
      description:
        'Why the transaction would revert at the newest block, although it was sent. Null when it would not, and when it was not simulated',
    }),
    warnings: z
      .array(z.object({ code: z.enum(['no_chain_id']), message: z.string() }))
      .max(1)
      .meta({
        description:
          'What else its sender should know. `no_chain_id`: the signature does not contain the chain (EIP-155), so anyone can send the same transaction on every other chain',
      }),
  })
  .meta({ id: 'Broadcast' })

const NO_CHAIN_ID = {
  code: 'no_chain_id',
  message:
    'the signature does not contain the chain: anyone can send the same transaction on every chain where the sender has this nonce. Sign it with a chain id',
} as const

/** The hash of a signed transaction, and whose it is. */
export type SignedBy = { readonly hash: Hex; readonly from: Address; readonly nonce: bigint }

/** A transaction to send, and what to do with it. */
type Order = {
  readonly signedTx: Hex
  readonly rejectIfReverts?: boolean | undefined
  /** Called with a transaction of the protocol or a token that was sent. */
  readonly onSent?: (sent: SignedBy) => void
  readonly caller?: Parameters<Chain['broadcast']>[1]
}

/**
 * Sends a signed transaction to a node of the chain, and simulates it before if it calls the protocol or a configured
 * token. Throws `validation_error` for a transaction of another chain, for a `v` that no signature has and for bytes
 * after the transaction, `conflict` for one that would revert with `rejectIfReverts`, and as `Chain.broadcast` does.
 */
export const relay = async (
  chain: Chain,
  { signedTx, rejectIfReverts = false, onSent, caller }: Order,
): Promise<z.output<typeof Broadcast>> => {
  const { chainId, deployment } = chain
  const extra = bytesAfter(signedTx)
  if (extra > 0) throw invalidField('signedTx', `bytes after the complete transaction: ${extra}. Leave them out`)
  const v = invalidV(signedTx)
  if (v !== null) {
    const expected = '27 or 28, or 35 and above with the chain id (EIP-155)'
    throw invalidField('signedTx', `no signature has v ${v}: expected ${expected}. Sign the transaction again`)
  }
  const signedChain = signedFor(signedTx)
  if (signedChain != null && signedChain !== BigInt(chainId)) {
    throw invalidField('signedTx', `signed for chain ${signedChain}, not ${chainId}`)
  }
  // Hashing a long transaction takes milliseconds, so it is done once, after all other checks.
  const hash = keccak256(Buffer.from(signedTx.slice(2), 'hex'))
  const call = await signedCallOf(signedTx, (to) => targetOf(to, deployment) !== null)
  const simulated = call && (await chain.simulateSigned({ ...call, hash }, caller))
  const failure = simulated?.error ?? null
  const called = call && decodeCall(deployment, call.to, call.input)
  const warning: DecodedRevert | null = failure && revertOf(failure, called?.function)
  if (rejectIfReverts && warning !== null)
    throw conflict(`not sent, because it would revert: ${warning.reason} (${warning.code}). ${warning.hint}`, [
      { path: 'signedTx', message: warning.code },
    ])
  await chain.broadcast({ bytes: signedTx, hash }, caller)
  if (call !== null) onSent?.({ ...call, hash })
  return { txHash: hash, simulated: simulated !== null, warning, warnings: signedChain === null ? [NO_CHAIN_ID] : [] }
}
