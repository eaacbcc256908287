import { expect, test } from 'vitest'
import { scalarOf } from '../../src/protocol/fields/scalars.ts'

const most = Number.MAX_SAFE_INTEGER

test.each([
  ['positionId', 7n, 7],
  ['id', 7n, 7],
  ['expiryDate', 1_800_000_000n, 1_800_000_000],
  ['deadline', 9n, 9],
  ['quoteTimestamp', 9n, 9],
  ['eta', 9n, 9],
  ['lpCount', 9n, 9],
  ['requiredSigners', 9n, 9],
  ['toleranceBps', 9n, 9],
  ['bps', 9n, 9],
  ['eventId', BigInt(most), most],
  ['eventId', BigInt(most) + 1n, most],
  ['notional', 7n, '7'],
  ['premiumRate', 2n ** 200n, `${2n ** 200n}`],
  ['paid', 7n, '7'],
  ['idle', 7n, '7'],
  ['decimals', 6, 6],
  ['success', false, false],
  ['nothing', undefined, 'null'],
  ['fee', { of: 7n, to: [1n, 'x'] }, '{"of":"7","to":["1","x"]}'],
])('the argument %s of %s is shown as %j', (name, value, shown) => {
  expect(scalarOf(name, value)).toEqual(shown)
})

test('bytes are cut at 1,024 characters, texts at 256, and the JSON of lists at 1,024', () => {
  const lengthOf = (value: unknown): number => String(scalarOf('value', value)).length
  expect(scalarOf('value', `0x${'a'.repeat(1_022)}`)).toBe(`0x${'a'.repeat(1_022)}`)
  expect([lengthOf(`0x${'a'.repeat(1_023)}`), lengthOf(`0x${'a'.repeat(9_000)}`)]).toEqual([1_024, 1_024])
  expect([lengthOf('a'.repeat(256)), lengthOf('a'.repeat(257))]).toEqual([256, 256])
  expect([lengthOf(['a'.repeat(1_020)]), lengthOf(['a'.repeat(1_021)])]).toEqual([1_024, 1_024])
})
