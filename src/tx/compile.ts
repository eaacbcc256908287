import type { AbiFunction, AbiParameter, Address, Hex } from 'viem'
import { z } from 'zod'
import { erc20Abi } from '../abi/erc20.generated.ts'
import { protocolAbi } from '../abi/protocol.generated.ts'
import { ofItem } from '../protocol/abi/contract-function.ts'
import { compileEncoder, type Member } from '../protocol/abi/encode.ts'
import { BodyChainId, type ChainId } from '../protocol/chains.ts'
import {
  Address20,
  BodyInteger,
  Bool,
  Bytes,
  Bytes32,
  Destination,
  FacetAction,
  objectsAtMost,
  Selector,
  scalarsAtMost,
  Text,
  TokenDestination,
  uints,
} from '../protocol/fields/request-fields.ts'
import { argumentNotes } from './arguments.ts'
import type { Builder } from './builders.ts'

/** A value of a BuiltTx's `args`. */
type Scalar = string | number | boolean | null

/** A parsed body: the chain, the sender, the token of a token call, and the function's arguments by name. */
export type Body = {
  readonly chainId: ChainId
  readonly from?: Address | undefined
  readonly token?: Address | undefined
  readonly [argument: string]: unknown
}

/** A builder with its body's schema and its encoder. */
export type CompiledBuilder = Builder & {
  readonly body: z.ZodType<Body>
  /** The schemas of the function's arguments, by their names in the body. */
  readonly fields: Readonly<Record<string, z.ZodType>>
  /** The function and its arguments by the body's names: `deposit(eventId, amount)`. */
  readonly signature: string
  readonly arguments: readonly Member[]
  /** The contract to call: the body's token or the protocol. */
  to(body: Body, diamond: Address): Address
  /** The calldata of a parsed body. */
  encode(body: Body): Hex
  /** The arguments of a parsed body as scalars. */
  echo(body: Body): Record<string, Scalar>
}

/** ABI type -> codec. The protocol's only uint8 argument is the action of a facet cut. */
const codecs: Readonly<Record<string, z.ZodType>> = {
  uint256: uints.number,
  uint8: FacetAction,
  bool: Bool,
  string: Text,
  address: Destination,
  bytes: Bytes,
  bytes32: Bytes32,
  bytes4: Selector,
}

/** Maximum items of a list: of structs (the cuts of an upgrade) and of scalars (the selectors of a cut). */
const MAX_STRUCTS = 100
const MAX_SCALARS = 500

const hasComponents = (
  parameter: AbiParameter,
): parameter is AbiParameter & { readonly components: readonly AbiParameter[] } => 'components' in parameter

const codecOf = ({ name, parameter }: Member): z.ZodType => {
  const { type } = parameter
  if (type.endsWith('[]')) {
    const items = z.array(codecOf({ name, parameter: { ...parameter, type: type.slice(0, -2) } }))
    return hasComponents(parameter) ? objectsAtMost(items, MAX_STRUCTS) : scalarsAtMost(items, MAX_SCALARS)
  }
  if (hasComponents(parameter)) return z.strictObject(shapeOf(fieldsOf(parameter.components, {})))
  // The reads return ids as JSON integers, so bodies accept them as JSON integers too.
  const note = argumentNotes[name]
  const ofType = note?.unit === undefined ? codecs[type] : uints[note.unit]
  const codec = type === 'uint256' && name.endsWith('Id') ? BodyInteger : ofType
  if (codec === undefined) throw new TypeError(`no codec for ABI type ${type} (${name})`)
  return note === undefined ? codec : codec.meta({ description: note.description })
}

const fieldsOf = (parameters: readonly AbiParameter[], names: Readonly<Record<string, string>>): readonly Member[] =>
  parameters.map((parameter) => {
    const name = (parameter.name ?? '').replace(/^_/, '')
    return { name: names[name] ?? name, parameter }
  })

const shapeOf = (fields: readonly Member[]): Record<string, z.ZodType> =>
  Object.fromEntries(fields.map((field) => [field.name, codecOf(field)]))

/** Scalars unchanged, uints as decimal strings, structs and lists as one compact JSON string. */
const scalar = (value: unknown): Scalar => {
  if (typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number') return value
  if (typeof value === 'bigint') return value.toString()
  return JSON.stringify(value)
}

/** The ABI item of the function that a builder encodes. Throws a TypeError for an unknown one. */
export const functionOf = (builder: Builder): AbiFunction => {
  const abi: readonly { readonly type: string }[] = builder.target === 'token' ? erc20Abi : protocolAbi
  const isIt = (item: { readonly type: string }): item is AbiFunction =>
    item.type === 'function' && 'name' in item && item.name === builder.function
  const found = abi.find(isIt)
  if (found === undefined) throw new TypeError(`the ABI has no function ${builder.function}`)
  return found
}

/**
 * Derives a builder's strict body and its encoder from the function's ABI inputs. A function that takes one struct has
 * the struct's members as its body. Throws a TypeError at start for an unknown function or type.
 */
export const compile = (builder: Builder): CompiledBuilder => {
  const item = functionOf(builder)
  const [first] = item.inputs
  const struct = item.inputs.length === 1 && first?.type === 'tuple' && hasComponents(first) ? first : undefined
  const members = fieldsOf(struct?.components ?? item.inputs, builder.names ?? {})
  const fields = shapeOf(members)

  const { selector } = ofItem(item)
  const encodeArguments = compileEncoder(members, struct !== undefined)
  const target: Record<string, z.ZodType> = builder.target === 'token' ? { token: TokenDestination } : {}

  return {
    ...builder,
    arguments: members,
    fields,
    signature: `${builder.function}(${members.map(({ name }) => name).join(', ')})`,
    body: z.strictObject({
      chainId: BodyChainId,
      ...target,
      ...fields,
      from: Address20.optional().meta({ description: 'Wallet to simulate the call for' }),
    }),
    to(body, diamond) {
      if (builder.target !== 'token') return diamond
      if (body.token === undefined) throw new TypeError(`${builder.path} needs a token in its body`)
      return body.token
    },
    encode: (body) => `${selector}${encodeArguments(body)}`,
    echo(body) {
      const echoed: Record<string, Scalar> = {}
      for (const { name } of members) echoed[name] = scalar(body[name])
      return echoed
    },
  }
}
