import fc from 'fast-check'
import { getAddress } from 'viem'
import { describe, expect, test } from 'vitest'
import { BodyChainId, PathChainId } from '../../src/protocol/chains.ts'
import {
  Address20,
  BodyInteger,
  Bytes,
  Bytes32,
  PathInteger,
  Selector,
  uints,
} from '../../src/protocol/fields/request-fields.ts'

const notIntegers = ['0x2105', '1e1', '', ' 5', '5 ', '5.0', '-1', '+1', '１', '0b1', 'NaN', '1_000', '\n1']

describe('integers of paths and queries', () => {
  test.each(notIntegers)('the path integer %j is rejected', (text) => {
    expect(PathInteger.safeParse(text).success).toBe(false)
    expect(uints.number.safeParse(text).success).toBe(false)
    expect(PathChainId.safeParse(text).success).toBe(false)
  })

  test('2^53 - 1 is the greatest id', () => {
    expect(PathInteger.parse('9007199254740991')).toBe(Number.MAX_SAFE_INTEGER)
    expect(PathInteger.safeParse('9007199254740992').success).toBe(false)
  })
})

describe('uint256', () => {
  test('every uint256 is accepted, and no greater number', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), (n) => {
        expect(uints.number.parse(String(n))).toBe(n)
      }),
    )
    expect(uints.number.safeParse(String(2n ** 256n)).success).toBe(false)
    expect(uints.number.safeParse('9'.repeat(100_000)).success).toBe(false)
  })

  test('the fault of a number that is too large is its limit, and that of other text is the form', () => {
    const faultOf = (text: string) => PathInteger.safeParse(text).error?.issues.map(({ message }) => message)
    expect(faultOf('9007199254740992')).toEqual(['expected a number of at most 9007199254740991'])
    expect(faultOf('x')).toEqual(['expected a non-negative integer'])
  })

  test('a number is rejected as an amount and accepted as an id', () => {
    expect(uints.number.safeParse(5).success).toBe(false)
    expect(BodyInteger.parse(5)).toBe(5n)
    expect(BodyInteger.parse('5')).toBe(5n)
    for (const bad of [-1, 1.5, 2 ** 53, null, true, '', '5.0']) expect(BodyInteger.safeParse(bad).success).toBe(false)
  })
})

describe('hex', () => {
  test('an address is accepted in any letter case and returned with its checksum', () => {
    const lower = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
    for (const text of [lower, `0x${lower.slice(2).toUpperCase()}`, lower.replace('f39f', 'F39f')]) {
      expect(Address20.parse(text)).toBe(getAddress(lower))
    }
    for (const bad of [lower.slice(0, -1), `${lower}0`, lower.slice(2), `0X${lower.slice(2)}`, `${lower}\n`]) {
      expect(Address20.safeParse(bad).success).toBe(false)
    }
  })

  test('odd-length bytes, short words and long selectors are rejected', () => {
    expect(Bytes.parse('0x')).toBe('0x')
    expect(Bytes.safeParse('0x123').success).toBe(false)
    expect(Bytes32.safeParse(`0x${'0'.repeat(63)}`).success).toBe(false)
    expect(Selector.safeParse('0x1234567890').success).toBe(false)
    expect(Selector.parse('0xABCDEF01')).toBe('0xabcdef01')
  })
})

test('an unsupported chain is rejected with a message that names the supported ones', () => {
  for (const bad of ['1', '08453x', '999999999999999999']) {
    const parsed = PathChainId.safeParse(bad)
    expect(parsed.success).toBe(false)
    expect(parsed.error?.issues[0]?.message).toContain('8453, 56')
  }
  expect(BodyChainId.parse(56)).toBe(56)
  expect(BodyChainId.parse('8453')).toBe(8453)
  for (const bad of [1, '0x2105', 84.53, true, null, {}]) {
    expect(BodyChainId.safeParse(bad).error?.issues[0]?.message).toContain('8453, 56')
  }
})

test.each([undefined, 5, 'vitalik.eth'])(
  'the address %j is rejected with a message that names what is expected',
  (value) => {
    expect(Address20.safeParse(value).error?.issues.map(({ message }) => message)).toEqual([
      'expected a 20-byte 0x address: 0x and 40 hex digits',
    ])
  },
)
