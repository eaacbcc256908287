import { type Address, maxUint256 } from 'viem'
import { expect, inject, test } from 'vitest'
import { min } from '../../src/lib/fixed.ts'
import { createRandom } from '../../src/sandbox/story/random.ts'
import { deployHostileToken, type Manner, manners } from '../support/hostile-token.ts'
import { createLedger, type Pool, poolBalance } from '../support/ledger.ts'
import { type Action, createRandomActions } from '../support/random-actions.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { DAI, DAY, useProtocol } from '../support/use-protocol.ts'

/** Actions that are tried at least; more of them until a third of this number went through. */
const steps = byForm(40, 20_000)
const MOST_STEPS = 10 * steps

const profile = inject('profile')
const protocol = await useProtocol(profile)
const { send, read, refuses, balance, at, mineAt, now, ...on } = protocol
const { owner, oracleAdmin, oracleA, oracleB, creator, lp, hedger, diamond, usdc, dai } = on

/** What differs between the profiles (decision 5). */
const rules = {
  reference: {
    sharesPerUnit: 1n,
    /** Units by which the withdrawal of a deposit may exceed its part. */
    excess: 0n,
    capital: (amount: bigint, payouts: bigint, liquidity: bigint) => (amount * (liquidity - payouts)) / liquidity,
    /** Every refusal has a reason of the protocol's own. */
    refusal: /^reverted with: (?!panic|no reason|nothing)/,
    manners,
  },
  deployed: {
    sharesPerUnit: 10n ** 12n,
    excess: 1n,
    capital: (amount: bigint, payouts: bigint, liquidity: bigint) => amount - (amount * payouts) / liquidity,
    // Nothing bounds amounts, so absurd ones overflow.
    refusal: /^reverted with: (?!no reason|nothing)/,
    // A token that keeps a part of what is paid in would be booked in full.
    manners: manners.filter((it) => it !== 'takesFee'),
  },
}[profile]

const hostile = await deployHostileToken(protocol)
await send(owner, 'setAllowedPaymentToken', [hostile.token, true])
for (const rich of [creator, lp, on.secondLp, hedger, on.secondHedger]) {
  await on.mint(rich, 10_000_000n * DAI, hostile.token)
  await on.approve(rich, maxUint256, hostile.token)
}
const tokens = [usdc, dai, hostile.token]
const random = createRandom(seed)
const ledger = createLedger()
const earnings = new Map<bigint, bigint>()
const { next, chance, anyEvent, tokenOf, priceOf } = createRandomActions({ protocol, ledger, tokens, random })
const eventIds = () => [...ledger.pools.keys()]

let manner: Manner = 'honest'
/** From now on the hostile token behaves so; when it calls back, it tries something that moves money. */
const changeManner = async (to: Manner): Promise<void> => {
  const name = random.pick(['claimPayout', 'claimPremiums', 'withdrawCapital', 'deposit'] as const)
  await hostile.behave(to, name, name === 'deposit' ? [anyEvent(), DAI] : [BigInt(random.int(1, 100))])
  manner = to
}

/** What taking the same once more is refused with. */
const onceOnly: Readonly<Record<string, string>> = {
  claimPayout: 'Already claimed',
  withdrawCapital: 'Already withdrawn',
  claimPremiums: 'No premiums',
  withdrawCreatorEarnings: 'No earnings',
  recoverExpiredPayouts: 'Already recovered',
}

/**
 * Sends an action, which the protocol may refuse with a reason, and adds its logs to the ledger. Verifies that what can
 * be claimed once cannot be claimed again.
 */
const act = async (action: Action): Promise<boolean> => {
  const [from, name, args] = action
  const sent = await send(from, name, args).catch((error: Error) => {
    expect(error.message).toMatch(rules.refusal)
  })
  if (sent === undefined) return false
  const token = name === 'createEvent' ? (args[0] as { readonly paymentToken: Address }).paymentToken : usdc
  ledger.add(sent.logs, token)
  const isPaid = sent.logs.some(([log]) => log === 'Transfer')
  if (manner === 'callsBack' && isPaid && touched(action).some((id) => tokenOf(id) === hostile.token))
    expect(await hostile.answer()).toMatch(/^(Reentrant call|Paused)$/)
  const refusal = onceOnly[name]
  if (refusal !== undefined) await refuses(refusal, from, name, args)
  if (name === 'createEvent' && profile === 'deployed')
    await send(from, 'setPoolSettings', [eventIds().at(-1) ?? 0n, chance(90), chance(90)])
  return true
}

const sum = (values: Iterable<bigint>): bigint => [...values].reduce((total, value) => total + value, 0n)

/** What an event still owes its hedgers and LPs by the contract's own views, in token units, rounded for the owed. */
const owed = async (pool: Pool, stats: Awaited<ReturnType<typeof statsOf>>): Promise<bigint> => {
  const deposits = await Promise.all(
    pool.depositIds.map(async (id) => {
      const [{ amount, withdrawn }, premiums] = await Promise.all([
        read('getHedgeLpDeposit', [id]),
        read('pendingPremiums', [id]),
      ])
      const payouts = stats.settledAt === 0n ? 0n : stats.totalMaxPayout
      return premiums + (withdrawn ? 0n : rules.capital(amount, payouts, stats.totalLiquidity))
    }),
  )
  const payouts = stats.settledAt === 0n ? 0n : stats.totalMaxPayout - pool.payouts - pool.recovered
  return sum(deposits) + payouts
}

const statsOf = (id: bigint) => read('getHedgeEventStats', [id])

/** Divisions cut off less than a unit a deposit, twice, and less than a unit for every 1e18 shares. */
const dustOf = (pool: Pool): bigint =>
  2n * BigInt(pool.depositIds.length) + (pool.deposited * rules.sharesPerUnit) / 10n ** 18n + 1n

const excessOf = (pool: Pool): bigint => rules.excess * BigInt(pool.depositIds.length)

const checkEvent = async (id: bigint): Promise<void> => {
  const pool = ledger.pool(id)
  const stats = await statsOf(id)
  earnings.set(id, stats.creatorEarnings)
  expect(stats.totalMaxPayout).toBeLessThanOrEqual(stats.totalLiquidity)
  expect([stats.totalLiquidity, stats.totalPremiums]).toEqual([pool.deposited, pool.premiums])
  expect(pool.payouts + pool.recovered + pool.capital).toBeLessThanOrEqual(pool.deposited + excessOf(pool))
  expect(pool.premiumsClaimed).toBeLessThanOrEqual(pool.premiums)
  const surplus = poolBalance(pool) - (await owed(pool, stats))
  expect(surplus).toBeGreaterThanOrEqual(-excessOf(pool))
  expect(surplus).toBeLessThanOrEqual(dustOf(pool))
}

/** Tokens held are what the pools hold, what creators have earned and what the platform has, to the unit. */
const checkHoldings = async (): Promise<void> => {
  for (const token of tokens) {
    const ids = eventIds().filter((id) => ledger.pool(id).token === token)
    const [held, platform] = await Promise.all([balance(diamond, token), read('getPlatformFeesByToken', [token])])
    expect(held).toBe(sum(ids.map((id) => poolBalance(ledger.pool(id)) + (earnings.get(id) ?? 0n))) + platform)
  }
}

/** The events an action touches, known or just created. */
const touched = ([, name, [id]]: Action): readonly bigint[] => {
  if (name === 'createEvent') return eventIds().slice(-1)
  const eventId =
    name === 'claimPayout'
      ? ledger.eventOf('position', id as bigint)
      : name === 'claimPremiums' || name === 'withdrawCapital'
        ? ledger.eventOf('deposit', id as bigint)
        : (id as bigint)
  return eventId !== undefined && ledger.pools.has(eventId) ? [eventId] : []
}

test(
  `random actions on the ${profile} profile (seed ${seed}) match the ledger, and every account gets its share`,
  async () => {
    let [step, done] = [0, 0]
    for (; step < steps || (done < steps / 3 && step < MOST_STEPS); step += 1) {
      if (chance(5)) await changeManner(random.pick(rules.manners))
      if (chance(4)) await at((await now()) + BigInt(random.int(1, 72)) * 3_600n)
      const action = await next()
      if (await act(action)) {
        done += 1
        for (const id of touched(action)) await checkEvent(id)
        await checkHoldings()
      }
    }
    console.log(
      `TEST_SEED=${seed} ${profile}: ${done} of ${step} actions went through, over ${ledger.pools.size} events`,
    )
    expect(done).toBeGreaterThanOrEqual(steps / 3)

    // At the end every event is settled, every account takes its share, and the platform sweeps what remains unclaimed.
    await changeManner('honest')
    if (await read('isPaused')) await send(owner, 'unpause', [])
    await mineAt((await now()) + 41n * DAY)
    for (const id of eventIds()) {
      if (!ledger.pool(id).settled) {
        const price = await priceOf(id)
        if (chance(50)) await act([oracleAdmin, 'settleEvent', [id, price]])
        else for (const oracle of [oracleA, oracleB]) expect(await act([oracle, 'submitRate', [id, price]])).toBe(true)
      }
      expect(ledger.pool(id).settled).toBe(true)
      for (const positionId of ledger.pool(id).positionIds) {
        const { hedger: whose, claimed, payoutAmount } = await read('getHedgePosition', [positionId])
        if (!claimed && payoutAmount > 0n && chance(80))
          expect(await act([whose, 'claimPayout', [positionId]])).toBe(true)
      }
      for (const depositId of ledger.pool(id).depositIds) {
        const { lp: whose, withdrawn } = await read('getHedgeLpDeposit', [depositId])
        if (!withdrawn) expect(await act([whose, 'withdrawCapital', [depositId]])).toBe(true)
        if ((await read('pendingPremiums', [depositId])) > 0n) await act([whose, 'claimPremiums', [depositId]])
      }
      await checkEvent(id)
    }
    await mineAt((await now()) + 90n * DAY)
    for (const id of eventIds()) {
      await act([owner, 'recoverExpiredPayouts', [id]])
      if ((earnings.get(id) ?? 0n) > 0n)
        await act([(await read('getHedgeEventCore', [id])).creator, 'withdrawCreatorEarnings', [id]])
      await checkEvent(id)
      expect(poolBalance(ledger.pool(id))).toBeLessThanOrEqual(dustOf(ledger.pool(id)))
    }
    for (const token of tokens) {
      const [fees, held] = await Promise.all([read('getPlatformFeesByToken', [token]), balance(diamond, token)])
      // Withdrawals that were rounded up are paid by the last to leave, which is the platform.
      const most = min(fees, held)
      if (most > 0n) await send(owner, 'withdrawPlatformFeesByToken', [token, most])
    }
    await checkHoldings()
  },
  byForm(400_000, 7_200_000),
)
