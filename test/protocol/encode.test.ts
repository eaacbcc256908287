import { encodeAbiParameters, encodeFunctionData, parseAbi, parseAbiParameters } from 'viem'
import { describe, expect, it } from 'vitest'
import { contractFunction, functionsOf, ofItem, selectorOf } from '../../src/protocol/abi/contract-function.ts'
import { compileEncoder } from '../../src/protocol/abi/encode.ts'

const address = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const bytes32 = `0x${'Ab'.repeat(32)}` as const

const encoderOf = (types: string) => {
  const parameters = parseAbiParameters(types)
  const encode = compileEncoder(
    parameters.map((parameter, at) => ({ name: `${at}`, parameter })),
    false,
  )
  return { parameters, encode: (values: readonly unknown[]) => `0x${encode({ ...values })}` }
}

describe('arguments', () => {
  it.each([
    ['uint256, uint8, bool, bool', [2n ** 256n - 1n, 255, true, false]],
    ['address, bytes32, bytes4', [address, bytes32, '0xaBcdef01']],
    ['string, uint256', ['für 😀', 7n]],
    ['string, string', ['', 'x'.repeat(33)]],
    ['bytes, bytes', ['0x', `0x${'12'.repeat(32)}`]],
    ['uint256[], address', [[1n, 2n, 3n], address]],
    ['string[], bytes[]', [['a', 'b'.repeat(40)], ['0x01']]],
    ['uint256[][], uint256', [[[1n], [], [2n, 3n]], 4n]],
  ])('of the types %s are encoded as viem encodes them', (types, values) => {
    const { parameters, encode } = encoderOf(types)
    expect(encode(values)).toBe(encodeAbiParameters(parameters, values as never).toLowerCase())
  })

  it.each([
    ['uint256', -1n, RangeError],
    ['uint256', 2n ** 256n, RangeError],
    ['uint256', '1', TypeError],
    ['address', 1n, TypeError],
    ['string', 1n, TypeError],
    ['uint256[]', {}, TypeError],
  ])('of the type %s that are %s are refused', (types, value, error) => {
    expect(() => encoderOf(types).encode([value])).toThrow(error)
  })

  it('of a type that no call has are refused when the encoder is compiled', () => {
    expect(() => encoderOf('int256')).toThrow('no layout for ABI type int256')
  })

  it.each([true, false])('in a struct with a text: %s are encoded as viem encodes the struct', (hasText) => {
    const fields = hasText ? 'uint256 a, string b' : 'uint256 a, address b'
    const abi = parseAbi([`struct S { ${fields.replace(', ', '; ')}; }`, 'function f(S s)'] as never) as never
    const value = { a: 7n, b: hasText ? 'text' : address }
    const encode = compileEncoder(
      parseAbiParameters(fields).map((parameter) => ({ name: parameter.name ?? '', parameter })),
      true,
    )
    const calldata = encodeFunctionData({ abi, functionName: 'f', args: [value] } as never) as string
    expect(encode(value)).toBe(calldata.slice(10).toLowerCase())
    expect(() => encode(null)).toThrow('expected an object')
  })
})

describe('a function of a contract', () => {
  const abi = parseAbi([
    'event Logged(uint256 a)',
    'function one(uint256 a) view returns (uint256)',
    'function two() view returns (uint256 a, string b)',
  ])
  const [one, two] = [contractFunction(abi, 'one'), contractFunction(abi, 'two')]

  it('is prepared once', () => {
    expect(contractFunction(abi, 'one')).toBe(one)
    expect(functionsOf(abi).map((item) => ofItem(item))).toEqual([one, two])
  })

  it('encodes and decodes its arguments', () => {
    const calldata = one.encode([7n])
    expect(calldata).toBe(encodeFunctionData({ abi, functionName: 'one', args: [7n] }))
    expect(selectorOf(calldata)).toBe(one.selector)
    expect(one.decodeArguments(calldata)).toEqual([7n])
  })

  it('decodes one output as its value, and several as a list', () => {
    expect(one.decode(encodeAbiParameters([{ type: 'uint256' }], [8n]))).toBe(8n)
    expect(two.decode(encodeAbiParameters([{ type: 'uint256' }, { type: 'string' }], [8n, 'x']))).toEqual([8n, 'x'])
    expect(() => one.decode('0x')).toThrow()
  })

  it('has to be in the ABI', () => {
    expect(() => contractFunction(abi, 'three' as never)).toThrow('the ABI has no function three')
  })
})
