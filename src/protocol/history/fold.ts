import { min, mulDivDown } from '../../lib/fixed.ts'
import { feeAmount } from '../formulas.ts'
import type { LedgerTypeName } from '../ledger.ts'
import { move, payoff, type Range, worstCasePayout } from '../payoff.ts'
import { OPEN } from '../profiles.ts'
import { ACTIVE } from '../records.ts'
import { statusNumber } from '../statuses.ts'
import type { LogArgs } from './log-args.ts'
import type { Rules } from './rules.ts'

/*
 * The state of an event as a function of its logs, by the formulas of the contracts (`contracts/libraries/LibPool.sol`).
 * Amounts are in units of the payment token, rates 1e6, times Unix seconds.
 */

/** The types of the logs that change the state of an event. */
export const eventLogTypes = [
  'deposit.created',
  'position.created',
  'pool.updated',
  'event.settled',
  'premiums.claimed',
  'capital.withdrawn',
  'payout.claimed',
  'earnings.withdrawn',
  'payouts.recovered',
] as const satisfies readonly LedgerTypeName[]

type EventLogType = (typeof eventLogTypes)[number]

/** What the state of an event depends on in addition to its logs. */
export type Terms = Range & {
  readonly expiryDate: bigint
  /** Its first value; null where it is not known: no log of the creation has it, and it was changed since. */
  readonly allowExternalLp: boolean | null
  /** The share of fees that the creator gets (1e6); null where it is not known. */
  readonly creatorLoyaltyRate: bigint | null
}

/** A log of an event, as a row of the ledger. */
export type EventLog = {
  readonly type: EventLogType
  readonly blockTimestamp: bigint
  readonly depositId: bigint | null
  readonly positionId: bigint | null
  readonly amount: bigint | null
  readonly fee: bigint | null
  readonly args: LogArgs
}

type Deposit = {
  readonly amount: bigint
  readonly shares: bigint
  readonly entryPerShare: bigint
  claimed: bigint
  withdrawn: boolean
}

type Position = { readonly notional: bigint; claimed: boolean }

/** The scale of premiums per share. */
const SCALE = 10n ** 18n

/** 1e8: a pool whose liquidity is all reserved. */
const FULL = 10n ** 8n

/** What `getHedgePosition` returns as the status of a position of a settled event. */
const positionStatus = {
  claimed: statusNumber('position', 'claimed'),
  claimable: statusNumber('position', 'claimable'),
  expired: statusNumber('position', 'expired'),
}

/** A log that the fold does not lead to: the deployment has other rules, or a log before it is missing. */
export class Contradiction extends Error {
  constructor(type: LedgerTypeName, what: string) {
    super(`a log ${type} does not follow from the logs before it: ${what}`)
  }
}

/**
 * The state of an event after the logs that were applied to it, in their order, from its creation on. Throws
 * `Contradiction` for a log that does not follow from those before it.
 */
export const createFold = (terms: Terms, rules: Rules) => {
  const range: Range = terms
  const deposits = new Map<bigint, Deposit>()
  const positions = new Map<bigint, Position>()
  let poolOpen = rules.opensPool
  let { allowExternalLp } = terms
  let isSettled = false
  let settledAt = 0n
  let settlementPrice = 0n
  let triggered = false
  let creatorEarnings = 0n
  let totalLiquidity = 0n
  let totalShares = 0n
  let totalExposure = 0n
  let totalPremiums = 0n
  let totalMaxPayout = 0n
  let premiumPerShare = 0n
  let remainder = 0n
  let payoutsClaimed = 0n
  let isRecovered = false

  const pool = () => ({ isSettled, poolOpen, totalLiquidity, totalShares, totalMaxPayout })

  const payoutOf = ({ notional, claimed }: Position): bigint => {
    if (!isSettled) return rules.unsettledPayout(range, notional)
    return isRecovered && !claimed ? 0n : payoff(range, settlementPrice, notional)
  }
  const earnedOf = ({ shares, entryPerShare }: Deposit): bigint =>
    mulDivDown(shares, premiumPerShare - entryPerShare, SCALE)

  const bookFee = (fee: bigint): void => {
    creatorEarnings += feeAmount(fee, terms.creatorLoyaltyRate ?? 0n)
  }

  const reserveAt = (price: bigint): bigint => {
    if (rules.reservesEachPayout)
      return [...positions.values()].reduce((sum, { notional }) => sum + payoff(range, price, notional), 0n)
    return min(mulDivDown(totalExposure, move(range, price), range.initialRate), totalMaxPayout)
  }

  /** Requires an amount of a log to be what the state before it leads to. */
  const agree = ({ type, amount }: EventLog, expected: bigint | undefined): bigint => {
    if (amount === null || amount !== expected) throw new Contradiction(type, `${amount} instead of ${expected}`)
    return amount
  }
  const known = ({ type }: EventLog, value: bigint | null): bigint => {
    if (value === null) throw new Contradiction(type, 'it is incomplete')
    return value
  }
  const memberOf = <M>(members: ReadonlyMap<bigint, M>, id: bigint | null, { type }: EventLog): M => {
    const member = members.get(id ?? -1n)
    if (member === undefined) throw new Contradiction(type, `${id} is not known`)
    return member
  }
  const integerOf = ({ type, args }: EventLog, name: keyof LogArgs): bigint => {
    const value = args[name]
    if (typeof value !== 'bigint') throw new Contradiction(type, `it has no ${name}`)
    return value
  }

  const steps: Readonly<Record<EventLogType, (log: EventLog) => void>> = {
    'deposit.created'(log) {
      const [amount, shares] = [known(log, log.amount), integerOf(log, 'shares')]
      const entry = { amount, shares, entryPerShare: premiumPerShare, claimed: 0n, withdrawn: false }
      deposits.set(known(log, log.depositId), entry)
      totalLiquidity += amount
      totalShares += shares
    },
    'position.created'(log) {
      const [premium, notional] = [known(log, log.amount), integerOf(log, 'notional')]
      if (totalShares === 0n) throw new Contradiction(log.type, 'the pool has no deposit')
      positions.set(known(log, log.positionId), { notional, claimed: false })
      totalExposure += notional
      totalMaxPayout += worstCasePayout(range, notional)
      const scaled = premium * SCALE + remainder
      premiumPerShare += scaled / totalShares
      remainder = scaled % totalShares
      totalPremiums += premium
      bookFee(known(log, log.fee))
    },
    'pool.updated'({ args }) {
      poolOpen = args.poolOpen === true
      allowExternalLp = args.allowExternalLp === true
    },
    'event.settled'(log) {
      settlementPrice = integerOf(log, 'settlementPrice')
      totalMaxPayout = reserveAt(settlementPrice)
      triggered = log.args.triggered === true
      settledAt = log.blockTimestamp
      isSettled = true
    },
    'premiums.claimed'(log) {
      const deposit = memberOf(deposits, log.depositId, log)
      deposit.claimed += agree(log, earnedOf(deposit) - deposit.claimed)
      bookFee(known(log, log.fee))
    },
    'capital.withdrawn'(log) {
      const deposit = memberOf(deposits, log.depositId, log)
      agree(log, deposit.withdrawn || !isSettled ? undefined : rules.capital(pool(), deposit))
      deposit.withdrawn = true
    },
    'payout.claimed'(log) {
      const position = memberOf(positions, log.positionId, log)
      payoutsClaimed += agree(log, position.claimed ? undefined : payoutOf(position))
      position.claimed = true
      bookFee(known(log, log.fee))
    },
    'earnings.withdrawn'(log) {
      if (terms.creatorLoyaltyRate !== null) agree(log, creatorEarnings)
      creatorEarnings = 0n
    },
    'payouts.recovered'(log) {
      const amount = agree(log, isRecovered ? undefined : totalMaxPayout - payoutsClaimed)
      isRecovered = true
      if (rules.recoveryLowersReserve) totalMaxPayout -= amount
    },
  }

  return {
    /** Applies the next log. */
    apply(log: EventLog): void {
      steps[log.type](log)
    },
    /** The state of the event at a block of a time. Null is a value that is not known. */
    event(time: bigint) {
      return {
        status: isSettled ? 1 : OPEN,
        ...{ poolOpen, allowExternalLp, settlementPrice, triggered, settledAt },
        creatorEarnings: terms.creatorLoyaltyRate === null ? null : creatorEarnings,
        ...{ totalLiquidity, totalExposure, totalPremiums, totalMaxPayout },
        lpCount: BigInt(deposits.size),
        hedgerCount: BigInt(positions.size),
        availableCapacity: rules.capacity(pool(), { range, expiryDate: terms.expiryDate, time }),
        utilizationPercent: totalLiquidity === 0n ? 0n : mulDivDown(totalMaxPayout, FULL, totalLiquidity),
      }
    },
    /** The state of a deposit; null before its creation. */
    deposit(id: bigint) {
      const deposit = deposits.get(id)
      if (deposit === undefined) return null
      const { claimed, withdrawn } = deposit
      const earned = earnedOf(deposit)
      const premiumsEarned = rules.premiumsEarned(earned, claimed)
      return { premiumsEarned, premiumsClaimed: claimed, pending: earned - claimed, withdrawn }
    },
    /** The state of a position; null before its creation. */
    position(id: bigint) {
      const position = positions.get(id)
      if (position === undefined) return null
      const { claimed } = position
      const payoutAmount = payoutOf(position)
      const settled = payoutAmount > 0n ? positionStatus.claimable : positionStatus.expired
      const unclaimed = isSettled ? settled : ACTIVE
      return { payoutAmount, status: claimed ? positionStatus.claimed : unclaimed, claimed }
    },
    /** The sum of the payouts that were claimed, before fees. */
    payouts: () => payoutsClaimed,
    /**
     * The capital of a deposit: what of it is not withdrawn, and what a withdrawal pays once the reserve is paid out: after
     * the settlement what it pays, before it the least that it will pay. Null before its creation.
     */
    capital(id: bigint) {
      const deposit = deposits.get(id)
      if (deposit === undefined) return null
      if (deposit.withdrawn) return { deposited: 0n, remaining: 0n }
      return { deposited: deposit.amount, remaining: rules.capital(pool(), deposit) }
    },
  }
}

export type Fold = ReturnType<typeof createFold>
