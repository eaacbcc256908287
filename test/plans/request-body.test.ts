import { describe, expect, test } from 'vitest'
import { type ActionName, actions } from '../../src/plans/actions/table.ts'
import { USDC_AT, WALLET } from '../support/plan-chain.ts'

const common = { chainId: 8453, from: WALLET }

/** The paths and messages of a body's faults. */
const faultsOf = (name: ActionName, body: object): string[] => {
  const parsed = actions[name].body.safeParse({ ...common, ...body })
  return (
    parsed.error?.issues.map(({ path, message, code }) => `${path.join('.')} ${code === 'custom' ? message : code}`) ??
    []
  )
}

const purchase = { eventId: 5, notional: '1' }
const deposit = { eventId: 5, amount: '1' }

describe('the options of plans', () => {
  test.each<[ActionName, object, object, boolean]>([
    ['buy-protection', purchase, { deadlineSeconds: 1 }, true],
    ['buy-protection', purchase, { deadlineSeconds: 0 }, false],
    ['buy-protection', purchase, { deadlineSeconds: 86_400 }, true],
    ['buy-protection', purchase, { deadlineSeconds: 86_401 }, false],
    ['buy-protection', purchase, { deadlineSeconds: 1.5 }, false],
    ['buy-protection', purchase, { deadlineSeconds: '1' }, false],
    ['buy-protection', purchase, { maxCostBps: 0 }, true],
    ['buy-protection', purchase, { maxCostBps: -1 }, false],
    ['buy-protection', purchase, { maxCostBps: 10_000 }, true],
    ['buy-protection', purchase, { maxCostBps: 10_001 }, false],
    ['buy-protection', purchase, { approval: 'exact' }, true],
    ['buy-protection', purchase, { approval: 'unlimited' }, true],
    ['buy-protection', purchase, { approval: 'half' }, false],
    ['buy-protection', purchase, { force: true }, true],
    ['buy-protection', purchase, { force: 'true' }, false],
    ['buy-protection', purchase, { maxCost: '1' }, false],
    ['buy-protection', purchase, { deadline: '1' }, false],
    ['deposit', deposit, { approval: 'unlimited' }, true],
    ['deposit', deposit, { deadlineSeconds: 1 }, false],
    ['deposit', deposit, { maxCostBps: 1 }, false],
    ['claim-payout', { positionId: 9 }, { force: false }, true],
    ['claim-payout', { positionId: 9 }, { approval: 'exact' }, false],
    ['claim-all', {}, { force: true }, true],
    ['claim-all', {}, { approval: 'exact' }, false],
    ['revoke-approval', { token: USDC_AT }, {}, true],
    ['revoke-approval', {}, {}, false],
    ['revoke-approval', { token: USDC_AT }, { approval: 'exact' }, false],
  ])('%s with %o and %o: %s', (name, body, option, isValid) => {
    const faults = faultsOf(name, { ...body, ...option })
    expect([faults, faults.length === 0]).toEqual([faults, isValid])
  })

  test.each(Object.entries(actions))('%s needs the chain and the wallet', (_, { body }) => {
    const faults = body.safeParse({}).error?.issues.map(({ path }) => path[0]) ?? []
    expect(faults).toEqual(expect.arrayContaining(['chainId', 'from']))
  })

  test('a body is parsed into the values of the arguments', () => {
    expect(actions['buy-protection'].body.parse({ ...common, ...purchase, from: WALLET.toLowerCase() })).toEqual({
      ...{ ...common, eventId: 5n, notional: 1n },
    })
  })
})

describe('the creation of an event', () => {
  const seeded = { name: 'Cedi', allowExternalLp: true, initialLiquidity: '1', paymentToken: USDC_AT }
  const terms = {
    ...{ underlying: 'USD/GHS', strike: '12', payoutCap: '13', premiumRate: '1', expiry: '1800000000' },
    ...{ initialRate: '11', strikeAbove: true },
  }
  const quote = {
    ...{ pair: 'USD/GHS', strike: 12, payoutCap: 13, expiryUnixSeconds: 1_800_000_000, notional: 1 },
    strikeAbove: true,
  }
  const signature = { signature: '0x', quoteTimestamp: '0', quoteNonce: `0x${'0'.repeat(64)}` }

  test.each([
    ['explicit terms', terms],
    ['explicit terms with a signature', { ...terms, ...signature }],
    ['a quote', { quote }],
    ['a quote with a wish for a signature', { quote: { ...quote, signed: false } }],
  ])('takes %s', (_, body) => {
    expect(faultsOf('create-event', { ...seeded, ...body })).toEqual([])
  })

  test.each(Object.keys(terms))('needs %s without a quote, and not with one', (name) => {
    const { [name as 'strike']: given, ...others } = terms
    expect(faultsOf('create-event', { ...seeded, ...others })).toEqual([`${name} is required unless there is a quote`])
    expect(faultsOf('create-event', { ...seeded, quote, [name]: given })).toEqual([
      `${name} leave it out: the quote has it`,
    ])
  })

  test.each(Object.entries(signature))('takes %s not with a quote', (name, given) => {
    expect(faultsOf('create-event', { ...seeded, quote, [name]: given })).toEqual([
      `${name} leave it out: the quote has it`,
    ])
  })

  test('reports missing terms only once each field is valid', () => {
    expect(faultsOf('create-event', { ...seeded, name: '' })).toHaveLength(1)
    expect(faultsOf('create-event', { ...seeded, name: '' })[0]).toMatch(/^name /)
  })

  test.each(['chainId', 'diamondAddress', 'creator'])('does not let a quote have %s', (name) => {
    const value = name === 'chainId' ? 8453 : WALLET
    expect(faultsOf('create-event', { ...seeded, quote: { ...quote, [name]: value } })).toEqual([
      'quote unrecognized_keys',
    ])
  })
})
