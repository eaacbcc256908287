import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { feeAmount, premiumAmount } from '../../src/protocol/formulas.ts'
import { payoff } from '../../src/protocol/payoff.ts'

type Inputs = Readonly<Record<string, bigint>>

const of = (inputs: Inputs, name: string): bigint => {
  const value = inputs[name]
  if (value === undefined) throw new Error(`the example has no ${name}`)
  return value
}

const fee = (inputs: Inputs): bigint => feeAmount(of(inputs, 'amount'), of(inputs, 'rate'))

/** The formula of each kind of example in the documentation. */
const formulas: Readonly<Record<string, (inputs: Inputs) => bigint>> = {
  premium: (inputs) => premiumAmount(of(inputs, 'notional'), of(inputs, 'premiumRate')),
  'hedger fee': fee,
  'payout fee': fee,
  'LP fee': fee,
  'cost of an event': (inputs) => of(inputs, 'creationFee') + of(inputs, 'initialLiquidity'),
  'gross payout': (inputs) => {
    const [strike, payoutCap, initialRate] = [of(inputs, 'strike'), of(inputs, 'payoutCap'), of(inputs, 'initialRate')]
    const range = { strike, payoutCap, initialRate, strikeAbove: payoutCap > strike }
    return payoff(range, of(inputs, 'settlement'), of(inputs, 'notional'))
  },
}

const page = readFileSync(new URL('../../docs/plans.md', import.meta.url), 'utf8')
const examples = page
  .slice(page.indexOf('| example'))
  .split('\n')
  .slice(2)
  .filter((line) => line.startsWith('|'))
  .map((line) => line.split('|').map((cell) => cell.trim()))

test('there is an example of every formula', () => {
  expect(new Set(examples.map(([, name]) => name))).toEqual(new Set(Object.keys(formulas)))
})

test.each(examples)('%s%s of %s is %s', (_, name = '', inputs = '', result = '') => {
  const values = inputs.split(', ').map((each) => each.split(' '))
  const given = Object.fromEntries(values.map(([input = '', value = '']) => [input, BigInt(value)]))
  expect(formulas[name]?.(given)).toBe(BigInt(result))
})
