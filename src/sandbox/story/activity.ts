import { parseUnits } from 'viem'
import { errorText } from '../../lib/errors.ts'
import { sleep } from '../../lib/lifecycle.ts'
import type { Accounts, Wallet } from './accounts.ts'
import type { Actions, EventNow } from './actions.ts'
import { createRandom, type Random } from './random.ts'

export type ActivityOptions = {
  readonly chains: readonly Actions[]
  readonly accounts: Accounts
  readonly seed: number
  /** Approximate milliseconds between two actions on one chain. */
  readonly intervalMs: number
  readonly signal: AbortSignal
  readonly log: (line: string) => void
}

/** Name prefix of the events that the activity may settle. It does not touch seeded events and events of the user. */
const PREFIX = 'Live '

/** Number of newest events that the activity considers, so that a sandbox does not become slower over days. */
const WINDOW = 30

const pairs = [
  ['USD/GHS', '11.40'],
  ['USD/KES', '129.50'],
  ['USD/BRL', '5.42'],
  ['EUR/USD', '1.0850'],
] as const

const whole = (actions: Actions, amount: number): bigint =>
  BigInt(amount) * 10n ** BigInt(actions.chain.tokens[0]?.decimals ?? 0)

const create = async (actions: Actions, accounts: Accounts, random: Random, now: number): Promise<string> => {
  const [underlying, spot] = random.pick(pairs)
  const initialRate = parseUnits(spot, 6)
  const up = random.int(0, 1) === 1
  const move = (percent: bigint): bigint => initialRate + ((up ? initialRate : -initialRate) * percent) / 100n
  const wallet = random.pick(accounts.extras)
  const minutes = random.int(3, 8)
  const { eventId } = await actions.createEvent(wallet, {
    name: `${PREFIX}${underlying}, ${minutes} minutes`,
    underlying,
    strike: move(2n),
    payoutCap: move(12n),
    premiumRate: BigInt(random.int(10, 40)) * 1_000n,
    expiry: now + minutes * 60,
    allowExternalLp: true,
    initialLiquidity: whole(actions, random.int(5, 40) * 1_000),
    initialRate,
    strikeAbove: up,
    paymentToken: random.pick(actions.chain.tokens).address,
  })
  return `account ${wallet.index} created event ${eventId} on ${underlying}, ${minutes} minutes to run`
}

const settle = async (actions: Actions, accounts: Accounts, random: Random, event: EventNow): Promise<string> => {
  const percent = BigInt(random.int(-6, 14))
  const price = event.initialRate + ((event.strikeAbove ? 1n : -1n) * event.initialRate * percent) / 100n
  for (const oracle of accounts.oracles.slice(0, 2)) await actions.submitRate(oracle, event.id, price)
  return `two oracles settled event ${event.id} at ${Number(price) / 1e6}`
}

const deposit = async (actions: Actions, wallet: Wallet, random: Random, event: EventNow): Promise<string> => {
  const amount = random.int(1, 10) * 1_000
  const id = await actions.deposit(wallet, event.id, whole(actions, amount))
  return `account ${wallet.index} deposited ${amount} into event ${event.id} (deposit ${id})`
}

const buy = async (actions: Actions, wallet: Wallet, random: Random, event: EventNow): Promise<string | undefined> => {
  const one = whole(actions, 1)
  const notional = (((await actions.capacity(event.id)) * BigInt(random.int(2, 10))) / 100n / one) * one
  if (notional === 0n) return undefined
  const id = await actions.buy(wallet, event.id, notional)
  return `account ${wallet.index} protected ${notional / one} under event ${event.id} (position ${id})`
}

/**
 * Collects the first payout, premium or deposit that is due among the wallet's newest holdings; undefined when none is
 * due.
 */
const collect = async (actions: Actions, wallet: Wallet): Promise<string | undefined> => {
  for (const id of (await actions.positionsOf(wallet)).slice(-10)) {
    if (!(await actions.isClaimable(id))) continue
    await actions.claimPayout(wallet, id)
    return `account ${wallet.index} claimed the payout of position ${id}`
  }
  for (const id of (await actions.depositsOf(wallet)).slice(-10)) {
    if ((await actions.pendingPremiums(id)) > 0n) {
      await actions.claimPremiums(wallet, id)
      return `account ${wallet.index} claimed the premiums of deposit ${id}`
    }
    if (await actions.isWithdrawable(id)) {
      await actions.withdrawCapital(wallet, id)
      return `account ${wallet.index} withdrew deposit ${id}`
    }
  }
  return undefined
}

/**
 * Performs one useful action on this chain. Due actions come first: settle expired events, then keep two events
 * running.
 */
const act = async (actions: Actions, accounts: Accounts, random: Random): Promise<string | undefined> => {
  const [now, events] = [await actions.now(), await actions.newestEvents(WINDOW)]
  const live = events.filter((event) => event.name.startsWith(PREFIX) && !event.settled)
  const due = live.find((event) => event.expiry <= now)
  if (due) return settle(actions, accounts, random, due)
  const running = live.filter((event) => event.expiry > now + 15)
  if (running.length < 2) return create(actions, accounts, random, now)

  const wallet = random.pick(accounts.extras)
  const open = events.filter(
    (event) => !event.settled && event.poolOpen && event.allowExternalLp && event.expiry > now + 15,
  )
  const choice = random.int(1, 10)
  if (choice <= 5) return buy(actions, wallet, random, random.pick(open))
  if (choice <= 8) return deposit(actions, wallet, random, random.pick(open))
  return collect(actions, wallet)
}

/**
 * Performs one action on each chain every few seconds until the signal aborts. A failed action (a node that is down, a
 * revert, a nonce conflict) is logged, and the next action follows. Resolves after the last action has ended.
 *
 * @example await runActivity({ chains: [actions], accounts, seed: 1, intervalMs: 4_000, signal, log: console.log })
 */
export const runActivity = async ({
  chains,
  accounts,
  seed,
  intervalMs,
  signal,
  log,
}: ActivityOptions): Promise<void> => {
  const run = async (actions: Actions): Promise<void> => {
    const { chainId } = actions.chain
    const random = createRandom(seed + chainId)
    while (!signal.aborted) {
      await sleep((intervalMs * random.int(5, 15)) / 10, signal)
      if (signal.aborted) return
      try {
        const done = await act(actions, accounts, random)
        if (done !== undefined) log(`chain ${chainId}: ${done}`)
      } catch (error) {
        if (!signal.aborted) log(`chain ${chainId}: an action failed: ${errorText(error).split('\n')[0]}`)
      }
    }
  }
  await Promise.all(chains.map(run))
}
