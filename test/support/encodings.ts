import { Interface } from 'ethers'
import fastJsonStringify from 'fast-json-stringify'
import { type AbiFunction, type AbiParameter, encodeFunctionData, parseAbiItem } from 'viem'
import { z } from 'zod'
import { uniforms } from '../../src/lib/random.ts'
import { answerSchema, encode } from '../../src/tx/build.ts'
import type { CompiledBuilder } from '../../src/tx/compile.ts'
import { builders as specified } from '../vectors/specification.ts'

const DIAMOND = '0x610178dA211FEF7D417bC0e6FeD39F05609AD788'
const TOKEN = '0x000000000000000000000000000000000000dead'

/** A value as in a body, and as the ABI libraries accept it. */
type Sample = { readonly sent: unknown; readonly value: unknown }

/** Texts whose characters take one to four bytes. */
const letters = [...'aZ 09"\\\n/éß€漢字😀\u0000']

const samplesOf = (seed: number) => {
  const uniform = uniforms(seed)
  const below = (count: number): number => Math.floor(uniform() * count)
  /** Small ones, and those about the end of a word, more often than others. */
  const length = (): number => [0, 1, 31, 32, 33, below(100)][below(6)] ?? 0
  const hex = (count: number): string => Buffer.from(Array.from({ length: count }, () => below(256))).toString('hex')
  const anyCase = (value: string): Sample => {
    const sent = [value, `0x${value.slice(2).toUpperCase()}`][below(2)]
    return { sent, value }
  }
  const integer = (): bigint => {
    const bits = [0, 1, 53, 54, 256, below(257)][below(6)] ?? 0
    const filled = (1n << BigInt(bits)) - 1n
    return below(2) === 0 ? filled : BigInt(`0x0${hex(32)}`) & filled
  }
  const scalars: Readonly<Record<string, (name: string) => Sample>> = {
    uint256: (name) => {
      const value = integer()
      const asNumber = name.endsWith('Id') && value <= Number.MAX_SAFE_INTEGER && below(2) === 0
      const zeros = '0'.repeat(below(3) === 0 ? Math.min(2, 78 - String(value).length) : 0)
      return { sent: asNumber ? Number(value) : `${zeros}${value}`, value }
    },
    uint8: () => {
      const value = below(3)
      return { sent: value, value }
    },
    bool: () => {
      const value = below(2) === 0
      return { sent: value, value }
    },
    address: () => anyCase(`0x${hex(20)}`),
    bytes: () => anyCase(`0x${hex(length())}`),
    bytes32: () => anyCase(`0x${hex(32)}`),
    bytes4: () => anyCase(`0x${hex(4)}`),
    string: () => {
      const value = `${Array.from({ length: length() }, () => letters[below(letters.length)]).join('')}.`
      return { sent: value, value }
    },
  }
  const sample = (parameter: AbiParameter): Sample => {
    const { type, name = '' } = parameter
    if (type.endsWith('[]')) {
      const item = { ...parameter, type: type.slice(0, -2) }
      const items = Array.from({ length: below(4) }, () => sample(item))
      return { sent: items.map(({ sent }) => sent), value: items.map(({ value }) => value) }
    }
    if ('components' in parameter) return struct(parameter.components)
    const make = scalars[type]
    if (make === undefined) throw new TypeError(`no sample for ${type}`)
    return make(name)
  }
  const struct = (parameters: readonly AbiParameter[]): { sent: object; value: object } => {
    const all = parameters.map((parameter) => [parameter.name ?? '', sample(parameter)] as const)
    return {
      sent: Object.fromEntries(all.map(([name, { sent }]) => [name, sent])),
      value: Object.fromEntries(all.map(([name, { value }]) => [name, value])),
    }
  }
  return { struct }
}

const same = (what: string, ours: unknown, theirs: unknown, sent: unknown): void => {
  if (ours !== theirs) throw new Error(`${what} differ for ${JSON.stringify(sent)}: ${ours}, expected ${theirs}`)
}

const comparable = (body: unknown): string =>
  JSON.stringify(body, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))

/**
 * Builds a call from each of many random bodies. Throws if the calldata differs from that of viem or ethers, if the
 * compiled schema decodes the body differently, or if the answer is not serialised like `JSON.stringify`.
 */
export const compareEncodings = (builder: CompiledBuilder, runs: number, seed: number): void => {
  const item = parseAbiItem([`function ${specified[builder.path]}`] as never) as unknown as AbiFunction
  const ethers = new Interface([item as never])
  const compiled = z.compile(builder.body)
  const serialize = fastJsonStringify({ type: 'object', properties: { data: answerSchema(builder) } })
  const [first, ...more] = item.inputs
  const isStruct = first !== undefined && more.length === 0 && first.type === 'tuple' && 'components' in first
  const { struct } = samplesOf(seed)
  for (let run = 0; run < runs; run += 1) {
    const { sent, value } = struct(isStruct ? first.components : item.inputs)
    const target = builder.target === 'token' ? { token: TOKEN } : {}
    const request = { chainId: 56, ...target, ...sent }
    const body = compiled.parse(request)
    same('bodies', comparable(body), comparable(builder.body.parse(request)), request)
    const args = isStruct ? [value] : Object.values(value)
    const call = encode(builder, DIAMOND, body)
    same('calldata and viem', call.data, encodeFunctionData({ abi: [item], args }), request)
    same('calldata and ethers', call.data, ethers.encodeFunctionData(builder.function, args), request)
    same('answers', serialize({ data: call }), JSON.stringify({ data: call }), request)
  }
}
