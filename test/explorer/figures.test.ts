import { expect, test } from 'vitest'
import { derivedRateText, numbersText } from '../../explorer/src/text/amount.ts'
import { chainJson } from '../../explorer/src/text/terms.ts'

test('a rate that follows from others has five significant digits, and all digits before its point', () => {
  const rates = [19_688_461n, 19_200_000n, 1_234_567_890n, 123_456_789_000n, 999_999_500n, 12_345n, 123_456n]
  expect(rates.map(derivedRateText)).toEqual(['19.688', '19.2', '1,234.6', '123,457', '1,000', '0.012345', '0.12346'])
})

test('the values of a chart have the same number of decimals', () => {
  expect([2_457, 2_363.85, 0.0012].map(numbersText([2_457, 2_363.85, null]))).toEqual([
    '2,457.00',
    '2,363.85',
    '0.0012',
  ])
  expect([2_457, 0].map(numbersText([2_457, null, 0]))).toEqual(['2,457', '0'])
})

test('values of the chain as JSON have escapes for what changes how others are shown, and are the same values', () => {
  const values = { name: `pay \u202Eevil\u2066 "me"\n${'\u0301'.repeat(4)}\u{E0041}é`, id: 9 }
  const json = chainJson(values)
  expect(json).toBe(
    `{\n  "name": "pay \\u202eevil\\u2066 \\"me\\"\\n\u0301\u0301\\u0301\\u0301\\udb40\\udc41é",\n  "id": 9\n}`,
  )
  expect(JSON.parse(json)).toEqual(values)
})
