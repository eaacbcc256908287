import { describe, expect, test } from 'vitest'
import { builders, diamondFunctions } from '../../src/tx/builders.ts'
import { compile, functionOf } from '../../src/tx/compile.ts'
import { builderOf, compiledBuilders } from '../../src/tx/compiled.ts'
import { DIAMOND, WALLET } from '../support/plan-chain.ts'

const cut = (selectors = 1) => ({
  ...{ facetAddress: WALLET, action: 0, functionSelectors: Array<string>(selectors).fill('0x01020304') },
})

describe('the lists of an upgrade', () => {
  const isValid = (cuts: readonly object[]): boolean =>
    builderOf('diamondCut').body.safeParse({ chainId: 8453, cuts, init: WALLET, initData: '0x' }).success

  test.each([
    ['100 cuts', Array(100).fill(cut()), true],
    ['101 cuts', Array(101).fill(cut()), false],
    ['500 selectors', [cut(500)], true],
    ['501 selectors', [cut(501)], false],
  ])('%s: %s', (_, cuts, valid) => {
    expect(isValid(cuts)).toBe(valid)
  })

  test('have a body that is longer than others', () => {
    const limits = builders.flatMap(({ function: name, bodyLimit }) =>
      bodyLimit === undefined ? [] : [[name, bodyLimit]],
    )
    expect(limits).toEqual([['diamondCut', 262_144]])
  })
})

test('ids are integers or texts, and amounts texts alone', () => {
  const bodyOf = (body: object) => builderOf('deposit').body.safeParse({ chainId: 8453, ...body })
  expect(bodyOf({ eventId: 5, amount: '1' }).data).toMatchObject({ eventId: 5n, amount: 1n })
  expect(bodyOf({ eventId: '5', amount: '1' }).data).toMatchObject({ eventId: 5n, amount: 1n })
  expect(bodyOf({ eventId: 5, amount: 1 }).success).toBe(false)
})

test('the message of a wrong number names its unit', () => {
  const messageOf = (name: string, body: object): string | undefined =>
    builderOf(name).body.safeParse({ chainId: 8453, ...body }).error?.issues[0]?.message
  const messages = [
    messageOf('deposit', { eventId: 5, amount: 1.5 }),
    messageOf('submitRate', { eventId: 5, price: 1.5 }),
    messageOf('buyProtection', { eventId: 5, notional: '1', maxCost: '1', deadline: 1.5 }),
  ]
  expect(new Set(messages).size).toBe(3)
})

test('a signature has the names of the body', () => {
  expect([builderOf('deposit').signature, builderOf('diamondCut').signature, builderOf('pause').signature]).toEqual([
    ...['deposit(eventId, amount)', 'diamondCut(cuts, init, initData)', 'pause()'],
  ])
  expect(builderOf('createEvent').arguments.map(({ name }) => name)).toContain('expiry')
})

test('every builder is found by its function, and no other name is', () => {
  expect(compiledBuilders.map(({ function: name }) => builderOf(name).function)).toEqual(
    builders.map((it) => it.function),
  )
  expect(() => builderOf('getHedgeEventCore')).toThrow('no builder encodes getHedgeEventCore')
})

test('the functions of the protocol are all but those of tokens', () => {
  expect(diamondFunctions).toHaveLength(builders.length - 1)
  expect(diamondFunctions).not.toContain('approve')
})

test('a builder of an unknown function does not start', () => {
  const builderNamed = (name: string) => ({ path: '/tx/x', summary: 'x', function: name }) as never
  expect(() => functionOf(builderNamed('freeze'))).toThrow('the ABI has no function freeze')
  expect(() => compile(builderNamed('freeze'))).toThrow(TypeError)
  // The beginning of a name is not enough.
  expect(() => functionOf(builderNamed('claim'))).toThrow('the ABI has no function claim')
})

test('a call of the protocol goes to it, whatever the body names', () => {
  expect(builderOf('deposit').to({ chainId: 8453, token: WALLET }, DIAMOND)).toBe(DIAMOND)
  expect(builderOf('approve').to({ chainId: 8453, token: WALLET }, DIAMOND)).toBe(WALLET)
  expect(() => builderOf('approve').to({ chainId: 8453 }, DIAMOND)).toThrow('needs a token')
})
