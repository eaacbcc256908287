import {
  type Abi,
  type AbiFunction,
  type AbiStateMutability,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionReturnType,
  decodeAbiParameters,
  type Hex,
  toFunctionSelector,
} from 'viem'
import { compileEncoder } from './encode.ts'

/** A function of a contract, with the selector and the encoder that follow from its ABI item. */
export type ContractFunction<Args, Output> = {
  readonly item: AbiFunction
  readonly selector: Hex
  /** The calldata of a call. Throws a TypeError or RangeError for arguments of another type. */
  encode(args: Args): Hex
  /** What a call returned; throws for bytes that are not an answer of this function. */
  decode(returned: Hex): Output
  /** The arguments of calldata of this function; throws for malformed calldata. */
  decodeArguments(calldata: Hex): readonly unknown[]
}

/** The function of an ABI item, whatever its types are. */
export type AnyFunction = ContractFunction<readonly unknown[], unknown>

/** Characters of `0x` and of a selector. */
const SELECTOR_END = 10

/** The selector of calldata. */
export const selectorOf = (calldata: Hex): Hex => calldata.slice(0, SELECTOR_END) as Hex

/** The bytes of hex digits; viem takes several times as long for this. */
const bytesOf = (digits: string): Uint8Array => Buffer.from(digits, 'hex')

const prepare = (item: AbiFunction): AnyFunction => {
  const selector = toFunctionSelector(item)
  const encodeArguments = compileEncoder(
    item.inputs.map((parameter, at) => ({ name: String(at), parameter })),
    false,
  )
  return {
    item,
    selector,
    encode: (args) => `${selector}${encodeArguments(args)}`,
    decode(returned) {
      const values = decodeAbiParameters(item.outputs, bytesOf(returned.slice(2)))
      return values.length > 1 ? values : values[0]
    },
    decodeArguments: (calldata) => decodeAbiParameters(item.inputs, bytesOf(calldata.slice(SELECTOR_END))),
  }
}

const prepared = new WeakMap<AbiFunction, AnyFunction>()

/** Prepares the function of an ABI item, once: hashing its selector takes longer than encoding a call. */
export const ofItem = (item: AbiFunction): AnyFunction => {
  const known = prepared.get(item)
  if (known !== undefined) return known
  const made = prepare(item)
  prepared.set(item, made)
  return made
}

const isFunction = (item: { readonly type: string }): item is AbiFunction => item.type === 'function'

/** The functions of an ABI, in its order. */
export const functionsOf = (abi: readonly { readonly type: string }[]): AbiFunction[] => abi.filter(isFunction)

/**
 * Prepares a function of an ABI, which has no other one of that name.
 *
 * @example const balanceOf = contractFunction(erc20Abi, 'balanceOf') // balanceOf.encode([wallet])
 */
export const contractFunction = <const A extends Abi, const N extends ContractFunctionName<A>>(
  abi: A,
  name: N,
): ContractFunction<
  ContractFunctionArgs<A, AbiStateMutability, N>,
  ContractFunctionReturnType<A, AbiStateMutability, N>
> => {
  const item = functionsOf(abi).find((each) => each.name === name)
  if (item === undefined) throw new TypeError(`the ABI has no function ${name}`)
  // The types of an ABI item follow from its name, which a search by name cannot show to the compiler.
  return ofItem(item) as never
}
