import type { Address, Hex } from 'viem'
import { z } from 'zod'
import type { Chain } from '../chain/chain.ts'
import type { Member } from '../protocol/abi/encode.ts'
import { OfChain } from '../protocol/chains.ts'
import { Account, Decimal } from '../protocol/fields/response-fields.ts'
import type { Body, CompiledBuilder } from './compile.ts'
import { Simulation, simulationRecord } from './simulation.ts'

/** A call ready to be signed. */
export const BuiltTx = z
  .object({
    chainId: OfChain,
    to: Account,
    data: z.string().regex(/^0x[0-9a-f]{8,}$/),
    value: Decimal.meta({ description: 'Wei' }),
    function: z.string().regex(/^[A-Za-z]\w*$/),
    args: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
    estimatedGas: Decimal.nullable(),
    simulation: Simulation.nullable().meta({ description: 'Null without `from`' }),
  })
  .meta({
    id: 'BuiltTx',
  })

export type BuiltTx = z.output<typeof BuiltTx>

/** Encodes one call of the protocol, or of the body's token, without a request to a node. */
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
  simulation: null,
})

/**
 * Encodes a call. When the body has `from`, also simulates it, which never fails the build. Only the simulation needs a
 * node, so a body without `from` returns synchronously.
 */
export const build = (
  builder: CompiledBuilder,
  chain: Chain,
  body: Body,
  callerOf?: () => Parameters<Chain['simulate']>[1],
): BuiltTx | Promise<BuiltTx> => {
  const call = encode(builder, chain.deployment.diamond, body)
  if (body.from === undefined) return call
  const simulating = chain.simulate({ from: body.from, to: call.to, data: call.data }, callerOf?.())
  return simulating.then((simulated) => ({
    ...call,
    estimatedGas: simulated.status === 'success' ? simulated.gas.toString() : null,
    simulation: simulationRecord(simulated, builder.function),
  }))
}

/** Hex and decimal digits, which JSON does not need to escape. */
const PLAIN = { type: 'string', format: 'unsafe' } as const

/** By ABI type: arguments that are not echoed as plain digits. Structs and lists are echoed as JSON in a string. */
const echoes: Readonly<Record<string, object>> = {
  bool: { type: 'boolean' },
  uint8: { type: 'integer' },
  string: { type: 'string' },
}

const echoOf = ({ parameter: { type } }: Member): object =>
  echoes[type] ?? (type.endsWith(']') ? { type: 'string' } : PLAIN)

/** `BuiltTx` of one builder, for its serializer, with exactly the builder's arguments. */
export const answerSchema = (builder: CompiledBuilder): object => ({
  type: 'object',
  properties: {
    chainId: { type: 'integer' },
    to: PLAIN,
    data: PLAIN,
    value: PLAIN,
    function: PLAIN,
    args: {
      type: 'object',
      properties: Object.fromEntries(builder.arguments.map((member) => [member.name, echoOf(member)])),
    },
    estimatedGas: { ...PLAIN, nullable: true },
    simulation: {
      type: 'object',
      nullable: true,
      properties: {
        status: PLAIN,
        code: { ...PLAIN, nullable: true },
        reason: { type: 'string', nullable: true },
        hint: { type: 'string', nullable: true },
        blockNumber: { type: 'integer', nullable: true },
      },
    },
  },
})
