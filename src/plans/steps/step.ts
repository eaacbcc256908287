import { type Address, type Hex, keccak256, parseAbiParameters } from 'viem'
import { compileEncoder } from '../../protocol/abi/encode.ts'
import type { Deployment } from '../../protocol/chains.ts'
import type { Entity } from '../../protocol/entities.ts'
import { type BuiltTx, encode } from '../../tx/build.ts'
import type { Body } from '../../tx/compile.ts'
import { builderOf } from '../../tx/compiled.ts'
import type { CallAction } from './call-action.ts'

/** A transaction of a plan. */
export type Step = {
  /** Names the step within its plan. */
  readonly id: string
  readonly transaction: BuiltTx & { readonly to: Address; readonly data: Hex }
  /** What the call does; null for a call of a token. */
  readonly action: CallAction | null
  /** The entity that the call is about; null when it names none. */
  readonly entity: Entity | null
}

/** The name of the first argument of an action's function. */
export const firstArgument = ({ function: name }: CallAction): string => builderOf(name).arguments[0]?.name ?? ''

/** The entity that the first argument of an action's function names, if it names one. */
const entityOf = (action: CallAction, body: Body): Entity | null => {
  const { entity: kind } = action
  const id = body[firstArgument(action)]
  return kind !== null && typeof id === 'bigint' ? { kind, id } : null
}

/** The step of an action; `body` has all arguments of its function. */
export const actionStep = (id: string, action: CallAction, body: Body, { diamond }: Deployment): Step => ({
  id,
  action,
  transaction: encode(builderOf(action.function), diamond, body),
  entity: entityOf(action, body),
})

/** The step that sets the protocol's allowance of a token. */
export const approval = (id: string, token: Address, amount: bigint, { chainId, diamond }: Deployment): Step => ({
  id,
  action: null,
  transaction: encode(builderOf('approve'), diamond, { chainId, token, spender: diamond, amount }),
  entity: null,
})

const encodeApproved = compileEncoder(
  parseAbiParameters([
    'uint256 chainId, address from, Call[] calls',
    'struct Call { address to; uint256 value; bytes data; }',
  ]).map((parameter) => ({ name: parameter.name, parameter })),
  false,
)

/** A hash of what a wallet is asked to sign: keccak256(abi.encode(chainId, from, (to, value, data)[])). */
export const digestOf = (chainId: number, from: Address, steps: readonly Step[]): Hex => {
  const calls = steps.map(({ transaction: { to, value, data } }) => ({ to, value: BigInt(value), data }))
  return keccak256(Buffer.from(encodeApproved({ chainId, from, calls }), 'hex'))
}
