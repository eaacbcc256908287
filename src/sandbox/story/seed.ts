import { parseUnits } from 'viem'
import type { Accounts, Wallet } from './accounts.ts'
import type { Actions, PaymentToken } from './actions.ts'
import { createRandom, type Random } from './random.ts'
import { type EventPlan, scenario } from './scenario.ts'

export type SeedOptions = {
  readonly actions: Actions
  readonly accounts: Accounts
  readonly seed: number
  readonly signal?: AbortSignal
}

/** One step and its time `at` in Unix seconds. Steps run in the order of their times. */
type Step = { readonly at: number; readonly run: () => Promise<unknown> }

type Holding = { readonly wallet: Wallet; readonly id: bigint }

const DAY = 86_400
const MILLION = 1_000_000n

const units = (whole: number | bigint, token: PaymentToken): bigint => BigInt(whole) * 10n ** BigInt(token.decimals)
const rate6 = (decimal: string): bigint => parseUnits(decimal, 6)

/**
 * The steps of one event. All random numbers are drawn here, in order, so that a seed always gives the same scenario.
 */
const eventSteps = (
  plan: EventPlan,
  token: PaymentToken,
  creator: Wallet,
  accounts: Accounts,
  random: Random,
  now: number,
  actions: Actions,
): Step[] => {
  const wallets = [...accounts.users, ...accounts.extras]
  const created = now - plan.createdDaysAgo * DAY
  const expiry = created + plan.days * DAY
  const sold = Math.min(expiry, now) - DAY / 4
  const deposits: Holding[] = []
  const positions: Holding[] = []
  const steps: Step[] = []
  let eventId = 0n

  const at = (time: number, run: Step['run']): void => void steps.push({ at: Math.floor(time), run })

  at(created, async () => {
    const made = await actions.createEvent(creator, {
      name: plan.name,
      underlying: plan.underlying,
      strike: rate6(plan.strike),
      payoutCap: rate6(plan.payoutCap),
      premiumRate: rate6(plan.premiumRate),
      expiry,
      allowExternalLp: plan.allowExternalLp,
      initialLiquidity: units(plan.seed, token),
      initialRate: rate6(plan.initialRate),
      strikeAbove: rate6(plan.strike) > rate6(plan.initialRate),
      paymentToken: token.address,
    })
    eventId = made.eventId
    deposits.push({ wallet: creator, id: made.depositId })
  })

  for (let i = 0; i < plan.deposits; i += 1) {
    const [wallet, amount] = [random.pick(wallets), units(random.int(2, 20) * 1_000, token)]
    at(created + random.int(1, 20) * 3_600, async () => {
      deposits.push({ wallet, id: await actions.deposit(wallet, eventId, amount) })
    })
  }

  for (let i = 0; i < plan.positions; i += 1) {
    const [wallet, share] = [random.pick(wallets), BigInt(random.int(4, 15))]
    at(random.int(created + DAY, sold), async () => {
      const capacity = await actions.capacity(eventId)
      // Whole tokens, a share of the pool's capacity, and never more than the capacity.
      const notional = ((capacity * share) / 100n / units(1, token)) * units(1, token)
      positions.push({ wallet, id: await actions.buy(wallet, eventId, notional) })
    })
  }

  const [first, second, third] = accounts.oracles
  if (!first || !second || !third) throw new Error('the sandbox has fewer than three oracles')
  const { outcome } = plan
  if (outcome.state === 'pool closed') {
    at(now - DAY / 8, () => actions.setPool(creator, eventId, false, plan.allowExternalLp))
  }
  if (outcome.state === 'one rate submitted') {
    at(expiry + 600, () => actions.submitRate(first, eventId, rate6(plan.strike)))
  }
  if (outcome.state !== 'settled') return steps

  const price = rate6(outcome.at)
  if (outcome.by === 'oracle admin') {
    at(expiry + 900, () => actions.settle(accounts.owner, eventId, price))
  } else {
    // Two rates that differ by a thousandth: within the tolerance, and enough signers.
    at(expiry + 120, () => actions.submitRate(first, eventId, price))
    at(expiry + 300, () => actions.submitRate(random.pick([second, third]), eventId, price + price / 1_000n))
  }
  // Some accounts claim and withdraw, others do not, so that both kinds of record exist.
  at(expiry + DAY, async () => {
    for (const { wallet, id } of positions.slice(0, -1)) {
      if (await actions.isClaimable(id)) await actions.claimPayout(wallet, id)
    }
    for (const { wallet, id } of deposits.slice(0, 2)) {
      if ((await actions.pendingPremiums(id)) > 0n) await actions.claimPremiums(wallet, id)
    }
  })
  at(expiry + 2 * DAY, async () => {
    for (const { wallet, id } of deposits.slice(0, -1)) await actions.withdrawCapital(wallet, id)
    await actions.withdrawCreatorEarnings(creator, eventId)
  })
  return steps
}

/** Mints tokens until an account holds `amount`. */
const topUp = async (actions: Actions, wallet: Wallet, token: PaymentToken, amount: bigint): Promise<void> => {
  const balance = await actions.balance(token.address, wallet.account.address)
  if (balance < amount) await actions.mint(wallet, token.address, amount - balance)
}

/**
 * Runs the scenario on a chain with a new deployment, with real transactions at their planned times, and ends with the
 * node's clock in the present. Afterwards accounts 0 to 9 hold at least a million of each payment token and 10 to 15 a
 * hundred million. Throws the node's reason when an action fails, and the signal's when it aborts.
 *
 * @example await seedScenario({ actions: createActions(chain), accounts: createAccounts(), seed: 8453 })
 */
export const seedScenario = async ({ actions, accounts, seed, signal }: SeedOptions): Promise<void> => {
  const random = createRandom(seed)
  const now = Math.floor(Date.now() / 1000)
  const { tokens } = actions.chain
  const million = (token: PaymentToken): bigint => units(MILLION, token)
  const named = [accounts.owner, ...accounts.oracles, ...accounts.users]

  for (const token of tokens) {
    for (const wallet of named) await topUp(actions, wallet, token, million(token))
    for (const wallet of accounts.extras) await topUp(actions, wallet, token, 100n * million(token))
    for (const wallet of [...accounts.users, ...accounts.extras]) await actions.approve(wallet, token.address)
  }

  const creators = [...accounts.users, ...accounts.extras]
  const steps = scenario.flatMap((plan, index) => {
    const [token, creator] = [tokens[index % tokens.length], creators[(index * 5) % creators.length]]
    if (!token || !creator) throw new Error(`chain ${actions.chain.chainId} has no payment token`)
    return eventSteps(plan, token, creator, accounts, random, now, actions)
  })
  for (const step of steps.toSorted((a, b) => a.at - b.at)) {
    signal?.throwIfAborted()
    await actions.warp(step.at)
    await step.run()
  }

  for (const token of tokens) for (const wallet of named) await topUp(actions, wallet, token, million(token))
  await actions.mineNow()
}
