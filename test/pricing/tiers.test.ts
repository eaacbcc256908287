import { expect, test } from 'vitest'
import { parsePair } from '../../src/pricing/pair.ts'
import { classify, jumpsOf, tierNames, tiers } from '../../src/pricing/tiers.ts'

const of = (name: string) => {
  const pair = parsePair(name)
  if (pair === undefined) throw new Error(`${name} is not a pair`)
  return classify(pair)
}

test.each([
  ['USD/GHS', 'frontierEM', 1],
  ['GHS/USD', 'frontierEM', -1],
  ['EUR/USD', 'developed', -1],
  ['USD/JPY', 'developed', 1],
  ['EUR/JPY', 'developed', 0],
  ['EUR/BRL', 'mainstreamEM', 1],
  ['BRL/EUR', 'mainstreamEM', -1],
  ['BRL/MXN', 'mainstreamEM', 0],
  ['MXN/NGN', 'frontierEM', 1],
  ['USD/AED', 'pegged', 1],
  ['AED/EUR', 'pegged', -1],
  ['AED/NGN', 'frontierEM', 1],
  ['USD/XOF', 'frontierEM', 1],
  ['EUR/XOF', 'pegged', 1],
  ['XOF/EUR', 'pegged', -1],
  ['USD/DKK', 'developed', 1],
  ['EUR/DKK', 'pegged', 1],
  ['SGD/BND', 'pegged', 1],
  ['USD/XYZ', 'frontierEM', 1],
])('%s is %s, and its risk has the direction %i', (pair, tier, direction) => {
  expect(of(pair)).toEqual({ tier, direction })
})

test.each(['USD/VES', 'RUB/EUR', 'LBP/SYP'])('%s is unsupported', (pair) => {
  expect(of(pair)).toBeUndefined()
})

test('no currency is in two tiers', () => {
  const all = tierNames.flatMap((name) => tiers[name].currencies)
  expect(new Set(all).size).toBe(all.length)
})

test('every tier’s process is stationary and its jumps fit the series for two years', () => {
  for (const name of tierNames) {
    const { garch, jumps } = tiers[name]
    expect(garch.alpha + garch.beta).toBeLessThan(1)
    expect(2 * jumps.lambda * Math.exp(jumps.jumpMean + jumps.jumpStd ** 2 / 2)).toBeLessThan(18)
  }
})

test('the tiers have the specification’s floors', () => {
  expect([tiers.frontierEM.floor, tiers.pegged.floor]).toEqual([0.15, 0.3])
  expect([tiers.developed.floor, tiers.mainstreamEM.floor]).toEqual([0, 0])
})

test('the mean jump changes its sign with the direction of the pair', () => {
  const means = ['USD/GHS', 'GHS/USD', 'BRL/MXN'].map((name) => {
    const found = of(name)
    return found && jumpsOf(found).jumpMean
  })
  expect(means).toEqual([0.1, -0.1, 0])
})
