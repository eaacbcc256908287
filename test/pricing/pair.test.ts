import { expect, test } from 'vitest'
import { inverse, pairName, parsePair } from '../../src/pricing/pair.ts'

test('a pair is two different upper-case codes of three letters', () => {
  const pair = { base: 'USD', quote: 'GHS' }
  expect(parsePair('USD/GHS')).toEqual(pair)
  expect([pairName(pair), pairName(inverse(pair))]).toEqual(['USD/GHS', 'GHS/USD'])
  for (const text of ['USD/USD', 'USD/GHSX', 'XUSD/GHS', 'usd/ghs', 'USDGHS', 'USD/', ''])
    expect(parsePair(text)).toBe(undefined)
})
