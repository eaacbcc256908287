import { describe, expect, test } from 'vitest'
import { refusalOf } from '../../client/src/refusals.ts'

const coded = (code: unknown, message = 'why') => Object.assign(new Error(message), { code })

describe('the code of an error decides', () => {
  test.each([
    ...[4001, 5000, 5750].map((code) => [code, 'rejected'] as const),
    [5720, 'duplicate'],
    [5740, 'too_large'],
    ...[-32_002, -32_003].map((code) => [code, 'refused'] as const),
    ...[4100, 4200, -32_004, -32_601, -32_602, 5700, 5710, 5760].map((code) => [code, 'unsupported'] as const),
    ...[-32_603, -32_000, 5730, 4900, 0, 999].map((code) => [code, 'unknown'] as const),
  ] as const)('%i is %s', (code, refusal) => {
    expect(refusalOf(coded(code))).toBe(refusal)
  })

  test('of the outermost error that has one of JSON-RPC, and not of those that it wraps', () => {
    expect(refusalOf(coded(-32_603, 'internal'))).toBe('unknown')
    expect(refusalOf(Object.assign(coded(-32_603), { data: { code: 4001 } }))).toBe('unknown')
    // A small number is that of a browser, and -1 that of a library around another error.
    for (const code of [-1, 25, 999, 'ABORT', undefined])
      expect(refusalOf(Object.assign(coded(code), { cause: coded(4001) }))).toBe('rejected')
    expect(refusalOf(Object.assign(coded(1_000), { cause: coded(4001) }))).toBe('unknown')
  })
})

describe('an error is found in what wraps it:', () => {
  const inner = coded(4001)
  test.each<[string, object]>([
    ['cause', new Error('outer', { cause: inner })],
    ['error', { error: inner }],
    ['data', { data: { code: 4001 } }],
    ['data.originalError', { data: { originalError: { code: 4001 } } }],
  ])('%s', (_, error) => {
    expect(refusalOf(error)).toBe('rejected')
  })

  const nested = (depth: number): unknown => (depth === 1 ? inner : { cause: nested(depth - 1) })
  test('up to eight errors in one another', () => {
    expect([refusalOf(nested(8)), refusalOf(nested(9))]).toEqual(['rejected', 'unknown'])
    const endless: { cause?: unknown } = {}
    endless.cause = endless
    expect(refusalOf(endless)).toBe('unknown')
  })
})

test.each([
  ['nonce too low', 'nonce'],
  ['Nonce provided for the transaction (8) is lower than the current nonce of the account.', 'nonce'],
  ['insufficient funds', 'refused'],
  ['user rejected', 'refused'],
])('a node rejects a transaction (-32003) with %s: %s', (message, refusal) => {
  expect(refusalOf({ code: -32_003, message })).toBe(refusal)
})

describe('without a code, the words decide:', () => {
  test.each([
    ['User rejected the request.', 'rejected'],
    ['MetaMask Tx Signature: User denied transaction signature.', 'rejected'],
    ['user canceled', 'rejected'],
    ['User cancelled', 'rejected'],
    ['nonce too low', 'nonce'],
    ['nonce is too low', 'nonce'],
    ['nonce has already been used', 'nonce'],
    ['NONCE_EXPIRED', 'nonce'],
    ['invalid nonce', 'nonce'],
    ['OldNonce', 'nonce'],
    ['replacement transaction underpriced', 'nonce'],
    ['insufficient funds for gas * price + value', 'refused'],
    ['execution reverted: Expired', 'refused'],
    ['intrinsic gas too low', 'refused'],
    ['gas required exceeds allowance', 'refused'],
    ['exceeds block gas limit', 'refused'],
    ['max fee per gas less than block base fee', 'refused'],
    ['transaction underpriced', 'refused'],
    ['already known', 'unknown'],
    ['known transaction: 0x12', 'unknown'],
    ['the request timed out, user rejected', 'unknown'],
    ['timeout', 'unknown'],
    ['internal error', 'unknown'],
  ])('%s: %s', (message, refusal) => {
    expect(refusalOf(new Error(message))).toBe(refusal)
    expect(refusalOf({ error: { message } })).toBe(refusal)
    expect(refusalOf(message)).toBe(refusal)
  })

  test('also when the code names a refusal and the words a time-out', () => {
    expect(refusalOf(coded(-32_601, 'request timed out'))).toBe('unknown')
    expect(refusalOf(coded(-32_003, 'already known'))).toBe('unknown')
  })

  test('of a code that is a word', () => {
    expect(refusalOf(coded('ACTION_REJECTED'))).toBe('rejected')
  })

  test('and not the arguments that a library repeats after its short message', () => {
    const message = 'The method failed.\nRequest arguments: nonce too low'
    expect(refusalOf({ message, shortMessage: 'The method failed.' })).toBe('unknown')
    expect(refusalOf({ message: 'x', shortMessage: 'The method failed.', details: 'nonce too low' })).toBe('nonce')
  })

  test('of which the first 4,096 characters are read', () => {
    const at = (place: number) => new Error(`${'x'.repeat(place - 'nonce too low'.length - 1)} nonce too low`)
    expect([refusalOf(at(4_096)), refusalOf(at(4_098 + 'nonce too low'.length))]).toEqual(['nonce', 'unknown'])
  })

  test.each([undefined, null, 7, {}, []])('%o is unknown', (error) => {
    expect(refusalOf(error)).toBe('unknown')
  })
})
