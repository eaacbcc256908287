import pino from 'pino'
import { parseUnits } from 'viem'
import { expect, test } from 'vitest'
import { openEngine } from '../../src/pricing/engine.ts'
import { createAccounts } from '../../src/sandbox/story/accounts.ts'
import { createRandom } from '../../src/sandbox/story/random.ts'
import { SCENARIO_DAYS, scenario } from '../../src/sandbox/story/scenario.ts'

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)
const rate = (decimal: string): bigint => parseUnits(decimal, 6)

test('the scenario has at least 20 deposits by others than the creators, and 50 positions', () => {
  expect(sum(scenario.map((plan) => plan.deposits))).toBeGreaterThanOrEqual(20)
  expect(sum(scenario.map((plan) => plan.positions))).toBeGreaterThanOrEqual(50)
})

test('every event fits into the past of the chain, and into the maximum duration of an event', () => {
  for (const plan of scenario) {
    expect(plan.createdDaysAgo, plan.name).toBeLessThan(SCENARIO_DAYS)
    expect(plan.days, plan.name).toBeLessThanOrEqual(365)
  }
})

test('an event has expired exactly when its outcome requires it', () => {
  for (const { name, outcome, createdDaysAgo, days } of scenario) {
    const stillOn = outcome.state === 'open' || outcome.state === 'pool closed'
    expect(days > createdDaysAgo, name).toBe(stillOn)
  }
})

test('strike and cap are beyond the initial rate, on the same side', () => {
  for (const { name, initialRate, strike, payoutCap } of scenario) {
    const up = rate(strike) > rate(initialRate)
    expect(rate(strike), name).not.toBe(rate(initialRate))
    if (payoutCap !== '0') expect(rate(payoutCap) > rate(strike), name).toBe(up)
  }
})

test('the sandbox’s engine values every event of the scenario at fresh rates, near the newest rate of its pair', async () => {
  const now = Date.UTC(2026, 10, 21)
  const engine = await openEngine({
    ...{ key: undefined, chainIds: [], deployments: [], isProduction: false, findSet: undefined },
    ...{ ratesFolder: undefined, ecbUrl: undefined, fredUrl: undefined, synthetic: true },
    ...{ usdRateUrl: undefined, localRatesFile: undefined, volMarkups: {}, maxStalenessDays: 7 },
    ...{ now: () => now, log: pino({ level: 'silent' }) },
  })
  for (const { name, underlying, strike, payoutCap, initialRate } of scenario) {
    const terms = { pair: underlying, strike: String(rate(strike)), payoutCap: String(rate(payoutCap)) }
    const range = { ...terms, initialRate: String(rate(initialRate)), strikeAbove: rate(strike) > rate(initialRate) }
    const { values } = await engine.values({ ranges: [{ ...range, expiryUnixSeconds: now / 1_000 + 30 * 86_400 }] })
    expect(values, name).toMatchObject([{ stale: false, synthetic: true }])
    const [value] = values
    const spot = value !== undefined && 'spotFixed6' in value ? Number(value.spotFixed6) : 0
    expect(Math.abs(spot / Number(rate(initialRate)) - 1), name).toBeLessThan(0.03)
  }
  const day = { expiryUnixSeconds: now / 1_000 + 90 * 86_400, notional: 1_000 }
  for (const { name, underlying, strike, payoutCap, initialRate } of scenario) {
    if (payoutCap === '0') continue
    const range = { pair: underlying, strike: Number(strike), payoutCap: Number(payoutCap) }
    const { breakdown } = await engine.quote({ ...day, ...range, strikeAbove: Number(strike) > Number(initialRate) })
    expect(breakdown.pairClassification.notes, name).not.toContain('no interest rate')
  }
})

test('the accounts are the default accounts of anvil and hardhat nodes', () => {
  const { owner, oracles, users, extras } = createAccounts()
  expect(owner.privateKey).toBe('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
  expect(owner.account.address).toBe('0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266')
  expect(users.at(-1)?.account.address).toBe('0xa0Ee7A142d267C1f36714E4a8F75612F20a79720')
  expect([owner, ...oracles, ...users, ...extras].map(({ index }) => index)).toEqual([...Array(16).keys()])
})

test('a seed repeats its numbers within their bounds, and another seed gives others', () => {
  const draw = (seed: number): number[] => {
    const random = createRandom(seed)
    return Array.from({ length: 1_000 }, () => random.int(3, 9))
  }
  expect(draw(7)).toEqual(draw(7))
  expect(draw(7)).not.toEqual(draw(8))
  expect([...new Set(draw(7))].sort()).toEqual([3, 4, 5, 6, 7, 8, 9])
})
