import fc from 'fast-check'
import { encodeAbiParameters, encodeErrorResult, type Hex, parseAbi, toFunctionSelector } from 'viem'
import { describe, expect, test } from 'vitest'
import { revertByCode, reverts } from '../../src/protocol/reverts/catalogue.ts'
import { revertOf } from '../../src/protocol/reverts/decode.ts'

const abi = parseAbi([
  'error Error(string)',
  'error Panic(uint256)',
  'error ERC20InsufficientAllowance(address,uint256,uint256)',
  'error Unheard(uint256)',
])
const account = `0x${'1f'.repeat(20)}` as const
const text = (reason: string): Hex => encodeErrorResult({ abi, errorName: 'Error', args: [reason] })
const panic = (code: bigint): Hex => encodeErrorResult({ abi, errorName: 'Panic', args: [code] })
const decode = (data: Hex | null, functionName?: string, message = 'execution reverted') => {
  const { code, reason } = revertOf({ data, message }, functionName)
  return [code, reason]
}

describe('a failed call', () => {
  test('with a text has the code of the text', () => {
    expect(decode(text('Past deadline'))).toEqual(['past_deadline', 'Past deadline'])
    expect(decode(text('Transaction deadline expired'))).toEqual(['past_deadline', 'Transaction deadline expired'])
  })

  test('has the hint of its row', () => {
    const { code, hint } = revertOf({ data: text('Exceeds capacity'), message: '' })
    expect(hint).toBe(reverts.find((row) => row.code === code)?.hint)
  })

  test.each([
    ['insufficient_allowance', 'ERC20: transfer amount exceeds allowance'],
    ['insufficient_allowance', 'Some token/Transfer amount exceeds ALLOWANCE'],
    ['insufficient_balance', 'BEP20: transfer amount exceeds balance'],
    ['insufficient_balance', 'XYZ: Transfer Amount Exceeds Balance'],
    ['unknown_reason', 'transfer amount exceeds allowance of today'],
  ])('has the code %s for the text of a token "%s"', (code, reason) => {
    expect(decode(text(reason))).toEqual([code, reason])
  })

  test('with a custom error has its code and its signature', () => {
    const data = encodeErrorResult({ abi, errorName: 'ERC20InsufficientAllowance', args: [account, 1n, 2n] })
    const signature = 'ERC20InsufficientAllowance(address,uint256,uint256)'
    expect(decode(data)).toEqual(['insufficient_allowance', signature])
    expect(decode(toFunctionSelector(signature))).toEqual(['insufficient_allowance', signature])
  })

  test('with an unknown custom error has its selector as reason', () => {
    const data = encodeErrorResult({ abi, errorName: 'Unheard', args: [1n] })
    expect(decode(data)).toEqual(['unknown_error', data.slice(0, 10)])
    expect(decode('0x12')).toEqual(['unknown_error', '0x12'])
  })

  test('with a panic has the code of the panic', () => {
    expect(decode(panic(0x11n))).toEqual(['arithmetic_overflow', 'Panic(0x11)'])
    expect(decode(panic(1n))).toEqual(['assertion_failed', 'Panic(0x01)'])
    expect(decode(panic(0x99n))).toEqual(['unknown_error', 'Panic(0x99)'])
  })

  test('without bytes has the code of the text in the message of the node', () => {
    expect(decode(null, 'deposit', 'execution reverted: Event settled')).toEqual(['event_settled', 'Event settled'])
    expect(decode('0x', 'deposit', 'execution reverted: Event settled')).toEqual(['event_settled', 'Event settled'])
    expect(decode(null, 'deposit', 'execution reverted: Never heard')).toEqual(['unknown_reason', 'Never heard'])
  })

  test('without a reason has a code of its own', () => {
    for (const data of [null, '0x', text('')] as const)
      expect(decode(data)).toEqual(['reverted_without_reason', 'execution reverted'])
    expect(decode(null, undefined, 'execution reverted  ')).toEqual(['reverted_without_reason', 'execution reverted'])
  })

  test('whose text has an impossible length is unknown, and one with less text than promised has its text', () => {
    const word = (value: bigint): string => value.toString(16).padStart(64, '0')
    const promising = (length: bigint): Hex => `0x08c379a0${word(32n)}${word(length)}50617374`
    expect(decode(promising(2n ** 53n - 1n))).toEqual(['unknown_reason', 'Past'])
    expect(decode(promising(2n ** 53n))).toEqual(['unknown_error', '0x08c379a0'])
  })

  test('with the bytes of a text after another selector is unknown', () => {
    expect(decode(`0x12345678${text('Past deadline').slice(10)}`)).toEqual(['unknown_error', '0x12345678'])
  })

  test.each([
    'out of gas',
    'gas required exceeds allowance (30000000)',
    'EVM error OutOfGas',
    'invalid opcode: INVALID',
  ])('that ended with "%s" did not revert', (message) => {
    expect(decode(null, 'deposit', message)).toEqual(['execution_failed', message])
  })

  test.each([
    ['Function not found', undefined, 'function_not_mounted'],
    ['Function not found', 'submitRate', 'function_not_mounted'],
    ['Function not found', 'diamondCut', 'cut_of_missing_function'],
    ['Function not found', 'executeCut', 'cut_of_missing_function'],
    ['Diamond: Function does not exist', 'executeCut', 'function_not_mounted'],
    ['Paused', undefined, 'protocol_paused'],
    ['Paused', 'deposit', 'protocol_paused'],
    ['Paused', 'pause', 'already_paused'],
    ['Not an oracle', 'submitRate', 'not_an_oracle'],
    ['Not an oracle', 'removeOracle', 'oracle_not_registered'],
  ])('with "%s" in %s has the code %s', (reason, functionName, code) => {
    expect(decode(text(reason), functionName)).toEqual([code, reason])
  })
})

describe('any bytes and any message', () => {
  const codes = new Set(reverts.map(({ code }) => code))
  const check = (data: Hex | null, message: string, functionName?: string): void => {
    const { code, reason } = revertOf({ data, message }, functionName)
    expect(codes).toContain(code)
    expect(reason.length).toBeLessThanOrEqual(200)
    expect(reason).not.toMatch(/[\p{Cc}\p{Cs}]/u)
  }
  const hex = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString('hex')}`
  const messages = fc.string({ unit: 'binary', maxLength: 400 })

  test('are decoded without an error, to a known code and a short reason', () => {
    const heads = ['0x', '0x08c379a0', '0x4e487b71', '0xfb8f41b2'] as const
    fc.assert(
      fc.property(fc.constantFrom(...heads), fc.uint8Array({ maxLength: 300 }), messages, (head, bytes, message) =>
        check(`${head}${hex(bytes).slice(2)}`, message),
      ),
    )
    fc.assert(fc.property(messages, (message) => check(null, `execution reverted: ${message}`, 'deposit')))
  })

  test('include offsets and lengths that lead beyond the end', () => {
    const word = fc.oneof(fc.constantFrom(0n, 32n, 64n, 2n ** 256n - 1n), fc.bigInt({ min: 0n, max: 2n ** 64n }))
    fc.assert(
      fc.property(word, word, fc.uint8Array({ maxLength: 64 }), (offset, length, bytes) => {
        const words = encodeAbiParameters([{ type: 'uint256' }, { type: 'uint256' }], [offset, length])
        check(`0x08c379a0${words.slice(2)}${hex(bytes).slice(2)}`, '')
      }),
    )
  })

  test('include texts of any length and content, cut where a pair of surrogates may be', () => {
    for (const reason of ['x'.repeat(5_000), '😀'.repeat(500), `${'x'.repeat(198)}😀😀`, '\0\n\u2028', '\uD800'])
      check(text(reason), reason)
    expect(revertOf({ data: text('a\nb\0c'), message: '' }).reason).toBe('a b c')
  })
})

test('a code that the catalogue lacks is a fault of this program', () => {
  expect(() => revertByCode('nothing')).toThrow(TypeError)
})

test('a text whose offset or length no memory holds is read as an unknown error', () => {
  const [selector, word] = [text('').slice(0, 10), (value: bigint) => value.toString(16).padStart(64, '0')]
  for (const offset of [2n ** 53n, 10n ** 30n - 1n])
    expect(decode(`${selector as Hex}${word(offset)}`)[0]).toBe('unknown_error')
})

test.each([
  ['VM Exception: REVERT', 'unknown_reason'],
  ['out of gas', 'execution_failed'],
])('the message %s without bytes has the code %s', (message, code) => {
  expect(decode(null, undefined, message)).toEqual([code, message])
})
