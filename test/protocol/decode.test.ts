import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { BodyChainId } from '../../src/protocol/chains.ts'
import { compileDecoder, shortcuts } from '../../src/protocol/decode.ts'
import {
  Address20,
  BodyInteger,
  Bool,
  Bytes,
  Bytes32,
  Destination,
  Selector,
  Text,
  uints,
} from '../../src/protocol/request-fields.ts'

const address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const max = 2n ** 256n - 1n

/** Values at the limits of the schemas. */
const values: readonly unknown[] = [
  ...[undefined, null, true, false, [], {}, ['1'], 'true', ''],
  ...[0, -0, 1, -1, 0.5, 2 ** 53 - 1, 2 ** 53, 1e300, Number.NaN, Number.POSITIVE_INFINITY, 8453, 56, 1],
  ...['0', '007', '-1', '+1', ' 1', '1\n', '1e3', '0x10', '1.0', '٣', '8453', '56', String(max), String(max + 1n)],
  ...['9'.repeat(77), '9'.repeat(78), `0${'9'.repeat(77)}`, '1'.repeat(1_000)],
  ...[address, address.toLowerCase(), `0x${address.slice(2).toUpperCase()}`, address.replace('aA', 'Aa')],
  ...[address.toUpperCase(), address.slice(0, -1), `${address}0`, `${address}\n`, address.slice(2)],
  ...['0x', '0X', '0x1', '0x12', '0xzz', '0x12345678', '0xABCDEF12', `0x${'Ab'.repeat(32)}`, `0x${'ab'.repeat(33)}`],
  ...[' ', '\u00a0', 'a', 'a\ud800', '😀', 'é'.repeat(200), 'x'.repeat(10_000), `0x${'00'.repeat(131_073)}`],
]

const schemas = { Address20, BodyChainId, BodyInteger, Bool, Bytes, Bytes32, Destination, Selector, Text, ...uints }

/** Whether the fast decoder returns the schema's result, or leaves the value to the schema. */
const agrees = (schema: z.ZodType, decoded: unknown, value: unknown): void => {
  if (decoded !== undefined) expect({ success: true, data: decoded }).toEqual(schema.safeParse(value))
}

describe.each(Object.entries(schemas))('the fast decoder of %s', (_, schema) => {
  const decode = shortcuts.get(schema)?.decode ?? expect.fail('there is none')

  test('the fast decoder accepts no value that the schema rejects, and decodes the others like the schema', () => {
    for (const value of values) agrees(schema, decode(value), value)
    fc.assert(fc.property(fc.anything(), (value) => agrees(schema, decode(value), value)))
  })

  test('the fast decoder accepts a valid value', () => {
    const address = '0x976EA74026E726554dB657fA54763abd0C3a0aa9'
    const valid = [56, false, 'a', '7', '0x01020304', `0x${'5f'.repeat(32)}`, address]
    expect(valid.map(decode).filter((it) => it !== undefined).length).toBeGreaterThan(0)
  })
})

describe('the fast decoder of a strict object', () => {
  const schema = z.strictObject({ chainId: BodyChainId, amount: uints.number, from: Address20.optional() })
  const decode = compileDecoder(schema) ?? expect.fail('there is none')
  const body = { chainId: 56, amount: '7' }

  test('the fast decoder of a strict object returns the schema’s result', () => {
    expect(decode(body)).toEqual({ chainId: 56, amount: 7n })
    expect(decode({ ...body, from: address.toLowerCase() })).toEqual({ chainId: 56, amount: 7n, from: address })
  })

  const others: readonly unknown[] = [
    ...[
      undefined,
      null,
      'text',
      7,
      [],
      [body],
      {},
      { chainId: 56 },
      { ...body, more: 1 },
      { ...body, more: undefined },
    ],
    ...[
      { ...body, from: null },
      { ...body, from: 'me' },
      { ...body, amount: '-1' },
      { ...body, chainId: 1 },
    ],
    JSON.parse('{"chainId":56,"amount":"7","__proto__":{"from":"me"}}'),
    Object.create(body),
  ]
  test.each(others)('the fast decoder leaves %j to the schema', (value) => {
    expect(decode(value)).toBeUndefined()
  })

  test('objects with unknown fields, and objects with a field without a fast decoder, have no fast decoder', () => {
    expect(compileDecoder(z.object({ amount: uints.number }))).toBeUndefined()
    expect(compileDecoder(z.strictObject({ amount: z.string() }))).toBeUndefined()
    expect(compileDecoder(uints.number)).toBeUndefined()
  })
})
