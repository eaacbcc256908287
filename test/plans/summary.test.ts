import type { Address } from 'viem'
import { expect, test } from 'vitest'
import { MAX_UINT256 } from '../../src/lib/fixed.ts'
import { type Known, summaryOf } from '../../src/plans/answer/summary.ts'
import { actionStep, approval, type Step } from '../../src/plans/steps/step.ts'
import { type ActionName, actions } from '../support/call-actions.ts'
import { core, DAI_AT, deploymentOf, range, USDC_AT } from '../support/plan-chain.ts'

const deployment = deploymentOf(8453)
const usdc = { token: USDC_AT, symbol: 'USDC', decimals: 6 }
const dai = { token: DAI_AT, symbol: 'DAI', decimals: 18 }
const terms = {
  ...{ name: 'Cedi', underlying: 'USD/GHS', strike: 12_000_000n, payoutCap: 13_000_000n, premiumRate: 23_450n },
  ...{ expiry: 1_800_000_000n, allowExternalLp: true, initialLiquidity: 70_000_000n, initialRate: 10_000_000n },
  ...{
    strikeAbove: true,
    paymentToken: USDC_AT,
    signature: '0x',
    quoteTimestamp: 0n,
    quoteNonce: `0x${'0'.repeat(64)}`,
  },
}
const body = {
  ...{ chainId: 8453, eventId: 5n, depositId: 3n, positionId: 9n, amount: 1_500_000n, notional: 2_000_000n },
  ...{ maxCost: 41_000n, deadline: 1n, price: 12_500_000n, poolOpen: true, ...terms },
}
const step = (name: ActionName, more: object = {}): Step =>
  actionStep(name, actions[name], { ...body, ...more }, deployment)

const known: Known = {
  ...{ main: usdc, event: null, total: null, signBefore: null },
  tokenAt: (address: Address) => [usdc, dai].find(({ token }) => token === address),
}

const summary = (steps: readonly Step[], more: Partial<Known> = {}): string =>
  summaryOf(
    steps.map(({ transaction: { to, data } }) => ({ to, data })),
    { ...known, ...more },
  )

test.each<[string, Step, Partial<Known>, string]>([
  ['a deposit', step('deposit'), {}, 'Deposit 1.5 USDC into event 5.'],
  ['a payout', step('claim-payout'), {}, 'Claim the payout of position 9.'],
  ['premiums', step('claim-premiums'), {}, 'Claim the premiums of deposit 3.'],
  ['capital', step('withdraw-capital'), {}, 'Withdraw the capital of deposit 3.'],
  ['earnings', step('withdraw-creator-earnings'), {}, "Withdraw the creator's earnings of event 5."],
  ['a rate', step('submit-rate'), {}, 'Submit 12.5 as the settlement rate of event 5.'],
  ['an open pool', step('set-pool-settings'), {}, 'Open the pool of event 5 and allow other liquidity providers.'],
  [
    'a pool for others that is closed',
    step('set-pool-settings', { poolOpen: false }),
    {},
    'Close the pool of event 5 and allow other liquidity providers.',
  ],
  [
    'an open pool for the creator alone',
    step('set-pool-settings', { allowExternalLp: false }),
    {},
    'Open the pool of event 5 and refuse other liquidity providers.',
  ],
  ['an approval', approval('a', DAI_AT, 10n ** 18n, deployment), {}, 'Allow the protocol to take 1 DAI.'],
  ['an approval of one unit', approval('a', USDC_AT, 1n, deployment), {}, 'Allow the protocol to take 0.000001 USDC.'],
  [
    'an approval without a limit',
    approval('a', USDC_AT, MAX_UINT256, deployment),
    {},
    'Allow the protocol to take any amount of USDC.',
  ],
  [
    'an approval just below it',
    approval('a', DAI_AT, MAX_UINT256 - 1n, deployment),
    { tokenAt: () => ({ ...dai, decimals: 0 }) },
    `Allow the protocol to take ${MAX_UINT256 - 1n} DAI.`,
  ],
  [
    'a revoked approval',
    approval('a', DAI_AT, 0n, deployment),
    {},
    `Take back the protocol's allowance of DAI (${DAI_AT}).`,
  ],
  [
    'a revoked approval of an unknown token',
    approval('a', DAI_AT, 0n, deployment),
    { tokenAt: () => undefined },
    `Take back the protocol's allowance of ${DAI_AT}.`,
  ],
  [
    'an approval without a limit of a token without a symbol',
    approval('a', DAI_AT, MAX_UINT256, deployment),
    { tokenAt: () => ({ ...dai, symbol: null }) },
    'Allow the protocol to take any amount of the token.',
  ],
  [
    'a purchase in an unknown event',
    step('buy-protection'),
    { total: 41_000n },
    'Buy protection of 2 USDC in event 5: costs at most 0.041 USDC.',
  ],
  ['a purchase of unknown cost', step('buy-protection'), {}, 'Buy protection of 2 USDC in event 5.'],
  [
    'a purchase',
    step('buy-protection'),
    { total: 40_000n, event: { ...core, ...range, expiryDate: 1_800_000_000n } },
    'Buy protection of 2 USDC in event 5 against USD/GHS above 12, capped at 13, until the expiry 2027-01-15T08:00:00Z: pays at most 0.2 USDC, costs at most 0.041 USDC.',
  ],
  [
    'a new event',
    step('create-event'),
    { total: 75_000_000n },
    'Create an event that sells protection against USD/GHS above 12, capped at 13, until the expiry 2027-01-15T08:00:00Z, for 2.345 % of the notional, and seed it with 70 USDC: costs 75 USDC.',
  ],
  [
    'a new event without a seed and a known cost',
    step('create-event', { initialLiquidity: 0n }),
    {},
    'Create an event that sells protection against USD/GHS above 12, capped at 13, until the expiry 2027-01-15T08:00:00Z, for 2.345 % of the notional.',
  ],
  ['amounts of an unknown token', step('deposit'), { main: null }, 'Deposit 1500000 units of the token into event 5.'],
])('the summary of %s', (_, call, more, text) => {
  expect(summary([call], more)).toBe(text)
})

test('amounts of a token call are in that token, and others in the main one', () => {
  const approve = approval('a', DAI_AT, 10n ** 18n, deployment)
  expect(summary([approve, step('deposit')])).toBe(
    'Allow the protocol to take 1 DAI, then deposit 1.5 USDC into event 5.',
  )
})

test.each([
  [0, 'Nothing to do.'],
  [1, 'Claim the payout of position 9.'],
  [5, `Claim the payout of position 9${', then claim the payout of position 9'.repeat(4)}.`],
  [6, `Claim the payout of position 9${', then claim the payout of position 9'.repeat(4)}, then do 1 more calls.`],
  [8, `Claim the payout of position 9${', then claim the payout of position 9'.repeat(4)}, then do 3 more calls.`],
])('a summary of %d calls has five parts at most', (count, text) => {
  expect(summary(Array<Step>(count).fill(step('claim-payout')))).toBe(text)
})

test('a summary ends with the time until which to sign', () => {
  expect(summary([step('claim-payout')], { signBefore: 1_800_000_000n })).toBe(
    'Claim the payout of position 9. Sign before 2027-01-15T08:00:00Z.',
  )
})

test('calldata of no function has no summary', () => {
  expect(() => summaryOf([{ to: USDC_AT, data: '0x12345678' }], known)).toThrow(TypeError)
})
