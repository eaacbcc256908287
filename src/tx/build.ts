import type { Address, Hex } from 'viem'
import { z } from 'zod'
import type { Chain } from '../chain/chain.ts'
import type { Body, CompiledBuilder } from './compile.ts'

/** A call ready to be signed. */
export const BuiltTx = z
  .object({
    chainId: z.int().positive(),
    to: z.string().regex(/^0x[0-9a-fA-F]{40}$/),
    data: z.string().regex(/^0x[0-9a-f]*$/),
    value: z.string().regex(/^\d+$/).meta({ description: 'Wei', example: '0' }),
    function: z.string().meta({ example: 'buyProtection' }),
    args: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
    estimatedGas: z.string().regex(/^\d+$/).nullable(),
  })
  .meta({ id: 'BuiltTx' })

export type BuiltTx = z.output<typeof BuiltTx>

/** Encodes one call of the protocol, or of the body's token, without asking anybody. */
export const encode = (
  builder: CompiledBuilder,
  diamond: Address,
  body: Body,
): BuiltTx & { to: Address; data: Hex } => ({
  chainId: body.chainId,
  to: builder.to(body, diamond),
  data: builder.encode(body),
  value: '0',
  function: builder.function,
  args: builder.echo(body),
  estimatedGas: null,
})

/**
 * Encodes a call and, when the body says from whom, estimates its gas; an estimate that fails is null and never an error. Nothing
 * but the estimate needs a node.
 */
export const build = async (builder: CompiledBuilder, chain: Chain, body: Body): Promise<BuiltTx> => {
  const call = encode(builder, chain.deployment.diamond, body)
  if (body.from === undefined) return call
  const gas = await chain.estimateGas({ from: body.from, to: call.to, data: call.data })
  return { ...call, estimatedGas: gas === null ? null : gas.toString() }
}
