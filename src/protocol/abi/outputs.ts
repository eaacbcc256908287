import type { AbiParameter, AbiParameterToPrimitiveType, ContractFunctionArgs, ContractFunctionName, Hex } from 'viem'
import { protocolAbi } from '../../abi/protocol.generated.ts'
import { cutText } from '../fields/text.ts'
import { type AnyFunction, functionsOf, ofItem } from './contract-function.ts'
import type { Slot } from './slots.ts'

type ProtocolAbi = typeof protocolAbi

/** The name of a view of the protocol. */
export type ReadName = ContractFunctionName<ProtocolAbi, 'view' | 'pure'>

type Outputs<N extends ReadName> = Extract<ProtocolAbi[number], { type: 'function'; name: N }>['outputs']

type Named<P extends readonly AbiParameter[]> = {
  [Parameter in P[number] as Parameter extends { name: infer Name extends string }
    ? Name
    : never]: AbiParameterToPrimitiveType<Parameter>
}

/** The result of a view: the plain value of a single output, otherwise an object keyed by output name. */
export type Output<N extends ReadName> = N extends ReadName
  ? Outputs<N> extends readonly [infer Only extends AbiParameter]
    ? AbiParameterToPrimitiveType<Only>
    : Named<Outputs<N>>
  : never

/** One view call: its name, its calldata and the decoder of its answer. */
export type Call<T = unknown> = {
  readonly name: ReadName
  readonly data: Hex
  /** Decodes the return bytes; throws for bytes that are not an answer of this function. */
  decode(returned: Hex): T
  /** The storage slot with the same value, for deployments that do not mount the function. */
  readonly slot?: Slot<T>
}

/**
 * Prepares a view call.
 *
 * @example call('getHedgePosition', [7n]).data // '0x32b42381…07'
 */
export const call = <N extends ReadName>(
  name: N,
  ...args: ContractFunctionArgs<ProtocolAbi, 'view' | 'pure', N> extends readonly []
    ? []
    : [args: ContractFunctionArgs<ProtocolAbi, 'view' | 'pure', N>]
): Call<Output<N>> => ({
  name,
  // The compiler cannot see that the arguments of any function are a list.
  data: functionNamed(name).encode((args[0] ?? []) as readonly unknown[]),
  decode: (returned) => nameOutputs(name, functionNamed(name).decode(returned)),
})

const items = new Map(functionsOf(protocolAbi).map((item) => [item.name, item]))

const functionNamed = (name: ReadName): AnyFunction => {
  const item = items.get(name)
  if (item === undefined) throw new TypeError(`the protocol has no function ${name}`)
  return ofItem(item)
}

/** viem returns several outputs as an array. This service names them. Texts are truncated. */
const nameOutputs = <N extends ReadName>(name: N, decoded: unknown): Output<N> => {
  const outputs = severalOutputs.get(name)
  if (outputs === undefined || !Array.isArray(decoded)) return decoded as Output<N>
  return Object.fromEntries(
    outputs.map(({ name: output = '', type }, at) => [output, type === 'string' ? cutText(decoded[at]) : decoded[at]]),
  ) as Output<N>
}

const severalOutputs = new Map<string, readonly AbiParameter[]>(
  protocolAbi.flatMap((item) =>
    item.type === 'function' && item.outputs.length > 1 ? [[item.name, item.outputs] as const] : [],
  ),
)
