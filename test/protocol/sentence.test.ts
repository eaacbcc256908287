import { describeEvent, describePurchase } from 'fx-protection-client'
import { describe, expect, test } from 'vitest'
import { formatAmount, purchaseText, termsText, timeText, wordText } from '../../src/protocol/sentence.ts'

const usdc = { symbol: 'USDC', decimals: 6 }
const upward = {
  ...{ id: 9, underlying: 'USD/GHS', expiryDate: 1_796_083_200 },
  ...{ strike: 12_000_000n, payoutCap: 13_500_000n, initialRate: 11_400_000n, strikeAbove: true },
}
const downward = { ...upward, strike: 11_000_000n, payoutCap: 10_500_000n, strikeAbove: false }

describe('the terms of an event as text', () => {
  test.each([
    [upward, 'USD/GHS above 12, capped at 13.5, until the expiry 2026-12-01T00:00:00Z'],
    [downward, 'USD/GHS below 11, capped at 10.5, until the expiry 2026-12-01T00:00:00Z'],
    [{ ...upward, payoutCap: 0n }, 'USD/GHS at or above 12, all or nothing, until the expiry 2026-12-01T00:00:00Z'],
    [{ ...downward, payoutCap: 0n }, 'USD/GHS at or below 11, all or nothing, until the expiry 2026-12-01T00:00:00Z'],
    [
      { ...upward, strike: 12_000_001n },
      'USD/GHS above 12.000001, capped at 13.5, until the expiry 2026-12-01T00:00:00Z',
    ],
    [
      { ...upward, expiryDate: 2n ** 256n - 1n },
      `USD/GHS above 12, capped at 13.5, until the expiry Unix second ${2n ** 256n - 1n}`,
    ],
  ])('name the pair, the side, the strike, the cap and the expiry (%#)', (event, text) => {
    expect(termsText(event)).toBe(text)
  })

  test('of a purchase have the greatest payout and the greatest cost', () => {
    const purchase = { notional: 1_000_000_000n, maxCost: 33_165_000n, deadline: 1_796_000_000 }
    expect(describePurchase(upward, purchase, usdc)).toBe(
      'Buy protection of 1000 USDC in event 9 against USD/GHS above 12, capped at 13.5, until the expiry 2026-12-01T00:00:00Z: pays at most 131.578947 USDC, costs at most 33.165 USDC. Sign before 2026-11-30T00:53:20Z.',
    )
    expect(describePurchase({ ...upward, payoutCap: 0n }, { notional: 1_000_000_000n }, usdc)).toBe(
      'Buy protection of 1000 USDC in event 9 against USD/GHS at or above 12, all or nothing, until the expiry 2026-12-01T00:00:00Z: pays 52.631578 USDC or nothing.',
    )
    expect(describeEvent(upward)).toBe(`Protection against ${termsText(upward)}.`)
  })

  test('of a purchase in an unknown event, or in a token that returns nothing, have what is known', () => {
    const purchase = { eventId: 9n, notional: 7n, maxCost: 3n }
    expect(purchaseText(null, purchase, usdc)).toBe(
      'protection of 0.000007 USDC in event 9: costs at most 0.000003 USDC',
    )
    const costly = { ...purchase, notional: 1_000_000_000n, maxCost: 1n }
    expect(purchaseText(upward, costly, usdc)).toContain('pays at most 131.578947 USDC, costs at most 0.000001 USDC')
    expect(purchaseText(null, { eventId: 9n, notional: 7n }, { symbol: null, decimals: null })).toBe(
      'protection of 7 units of the token in event 9',
    )
  })
})

test('amounts are written exactly, with their sign and without zeros at the end', () => {
  const written = ([amount, decimals]: readonly [bigint, number]): string => formatAmount(amount, decimals)
  const amounts = [
    [1_500_000n, 6],
    [-1_500_000n, 6],
    [-1n, 6],
    [100n, 0],
    [1_000n, 2],
    [0n, 6],
  ] as const
  expect(amounts.map(written)).toEqual(['1.5', '-1.5', '-0.000001', '100', '10', '0'])
})

test('the last second of a date is written as a date, and the next as its number', () => {
  expect(timeText(8_640_000_000_000n)).toBe('+275760-09-13T00:00:00Z')
  expect(timeText(8_640_000_000_001n)).toBe('Unix second 8640000000001')
})

describe("other people's text", () => {
  test.each([
    ['USD/GHS', 'USD/GHS'],
    ['USD₮0', 'USD₮0'],
    ['USDC.e', 'USDC.e'],
    ['', '""'],
    ['USDC. Sign now', '"USDC. Sign now"'],
    ['USD/GHS: pays 9 USDC', '"USD/GHS: pays 9 USDC"'],
    ['a"b', '"a\\"b"'],
    ['A\nB', '"A B"'],
    ['A\u0000\u0007\u009bB', '"A   B"'],
    ['A\u2028\u2029\u0085B', '"A   B"'],
    ['\u202eUSDC\u202c', '" USDC "'],
    ['\u2066x\u2069\u200f\u061c', '" x   "'],
    ['\u05d0\u05d1 12', '"   12"'],
    ['U\u0301\u0302S', '"U  S"'],
    ['\ud800x', '" x"'],
  ])('%j is shown as %s', (text, shown) => {
    expect(wordText(text)).toBe(shown)
  })

  test('of any length takes at most 40 characters, without half of a character', () => {
    expect(wordText('x'.repeat(1_000_000))).toBe(`"${'x'.repeat(39)}…"`)
    expect(wordText(`a b${'x'.repeat(37)}`)).toBe(`"a b${'x'.repeat(37)}"`)
    expect([wordText('x'.repeat(16)), wordText('x'.repeat(17))]).toEqual(['x'.repeat(16), `"${'x'.repeat(17)}"`])
    expect(wordText('\u{1f600}'.repeat(50))).toBe(`"${'\u{1f600}'.repeat(19)} …"`)
  })
})
