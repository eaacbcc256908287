import { type Address, type Hex, isAddressEqual } from 'viem'
import { ofItem, selectorOf } from '../protocol/abi/contract-function.ts'
import type { Deployment } from '../protocol/chains.ts'
import { type Scalar, scalarOf } from '../protocol/fields/scalars.ts'
import { configuredTokens } from '../protocol/tokens.ts'
import { builders } from './builders.ts'
import { functionOf } from './compile.ts'

/** A call of the protocol or of a token, with the names that its builder uses. */
export type DecodedCall = { readonly function: string; readonly args: Readonly<Record<string, Scalar>> }

/** Every function that has a builder, by its selector. */
const functions = new Map(
  builders.map((builder) => {
    const called = ofItem(functionOf(builder))
    return [called.selector, { called, builder }] as const
  }),
)

/** The protocol's proxy, or one of the configured tokens; null for any other address. */
export const targetOf = (to: Address, deployment: Deployment): 'diamond' | 'token' | null => {
  if (isAddressEqual(to, deployment.diamond)) return 'diamond'
  return configuredTokens(deployment).some(({ token }) => isAddressEqual(to, token)) ? 'token' : null
}

/** Decodes a call of the protocol, or of a configured token. Null for any other call and for malformed calldata. */
export const decodeCall = (deployment: Deployment, to: Address | null, data: Hex): DecodedCall | null => {
  const target = to === null ? null : targetOf(to, deployment)
  if (target === null) return null
  const found = functions.get(selectorOf(data))
  if (found === undefined || (found.builder.target ?? 'diamond') !== target) return null
  const { called, builder } = found
  const { item } = called
  try {
    const args = called.decodeArguments(data)
    const [first] = item.inputs
    const isStruct = item.inputs.length === 1 && first?.type === 'tuple'
    const named = isStruct
      ? Object.entries(args[0] as Readonly<Record<string, unknown>>)
      : item.inputs.map(({ name = '' }, at) => [name, args[at]] as const)
    const shown = named.map(([name, value]) => {
      const bare = name.replace(/^_/, '')
      const given = builder.names?.[bare] ?? bare
      // As in the `args` of a built transaction, ids are decimal strings too.
      return [given, typeof value === 'bigint' ? value.toString() : scalarOf(given, value)] as const
    })
    return { function: item.name, args: Object.fromEntries(shown) }
  } catch {
    return null
  }
}
