import { z } from 'zod'
import type { Chain } from '../chain/chain.ts'
import type { Body, CompiledBuilder } from './compile.ts'

/** A call ready to be signed. */
export const BuiltTx = z
  .object({
    chainId: z.int(),
    to: z.string().regex(/^0x[0-9a-fA-F]{40}$/),
    data: z.string().regex(/^0x[0-9a-f]*$/),
    value: z.string().regex(/^\d+$/).meta({ description: 'Wei', example: '0' }),
    function: z.string().meta({ example: 'buyProtection' }),
    args: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
    estimatedGas: z.string().regex(/^\d+$/).nullable(),
  })
  .meta({ id: 'BuiltTx' })

export type BuiltTx = z.output<typeof BuiltTx>

/**
 * Encodes one call of the protocol, or of the body's token. Gas is estimated when the body says from whom; an estimate that
 * fails is null and never an error. Nothing but the estimate needs a node.
 */
export const build = async (builder: CompiledBuilder, chain: Chain, body: Body): Promise<BuiltTx> => {
  const to = builder.to(body, chain.deployment.diamond)
  const data = builder.encode(body)
  const gas = body.from === undefined ? null : await chain.estimateGas({ from: body.from, to, data })
  return {
    chainId: chain.chainId,
    to,
    data,
    value: '0',
    function: builder.function,
    args: builder.echo(body),
    estimatedGas: gas === null ? null : gas.toString(),
  }
}
