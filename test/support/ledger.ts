import type { Address } from 'viem'

type Log = readonly [name: string, args: unknown]
type Logged = Readonly<Record<string, bigint>>

/** What went into and out of an event's pool so far, in token units; fees are not part of it. */
type Pool = {
  readonly token: Address
  readonly expiryDate: bigint
  settled: boolean
  readonly depositIds: bigint[]
  readonly positionIds: bigint[]
  deposited: bigint
  premiums: bigint
  payouts: bigint
  recovered: bigint
  capital: bigint
  premiumsClaimed: bigint
}

/**
 * What went into and out of each pool of the protocol, from its logs alone and independent of its storage.
 *
 * @example
 * const ledger = createLedger()
 * ledger.add(logs, usdc)
 * poolBalance(ledger.pool(1n))
 */
export const createLedger = () => {
  const pools = new Map<bigint, Pool>()
  const eventOf = { deposit: new Map<bigint, bigint>(), position: new Map<bigint, bigint>() }
  const pool = (eventId: bigint | undefined): Pool => {
    const found = eventId === undefined ? undefined : pools.get(eventId)
    if (found === undefined) throw new Error(`no log has created event ${eventId}`)
    return found
  }
  const of = (kind: keyof typeof eventOf, id: bigint | undefined): Pool => pool(eventOf[kind].get(id ?? 0n))

  type Entry = (log: Logged, token: Address) => void

  const eventCreated: Entry = ({ eventId = 0n, expiryDate = 0n }, token) => {
    const nothing = { deposited: 0n, premiums: 0n, payouts: 0n, recovered: 0n, capital: 0n, premiumsClaimed: 0n }
    pools.set(eventId, { token, expiryDate, settled: false, depositIds: [], positionIds: [], ...nothing })
  }
  const depositCreated: Entry = ({ eventId = 0n, depositId = 0n, amount = 0n }) => {
    eventOf.deposit.set(depositId, eventId)
    pool(eventId).depositIds.push(depositId)
    pool(eventId).deposited += amount
  }
  const positionCreated: Entry = ({ eventId = 0n, positionId = 0n, premiumPaid = 0n }) => {
    eventOf.position.set(positionId, eventId)
    pool(eventId).positionIds.push(positionId)
    pool(eventId).premiums += premiumPaid
  }
  const settled: Entry = ({ eventId }) => {
    pool(eventId).settled = true
  }

  const entries: Record<string, Entry> = {
    EventCreated: eventCreated,
    HedgeEventCreated: eventCreated,
    DepositCreated: depositCreated,
    LiquidityDeposited: depositCreated,
    PositionCreated: positionCreated,
    ProtectionPurchased: positionCreated,
    EventSettled: settled,
    OracleEventSettled: settled,
    PayoutClaimed({ positionId, grossPayout = 0n }) {
      of('position', positionId).payouts += grossPayout
    },
    PremiumsClaimed({ depositId, grossAmount = 0n }) {
      of('deposit', depositId).premiumsClaimed += grossAmount
    },
    CapitalWithdrawn({ depositId, amount = 0n }) {
      of('deposit', depositId).capital += amount
    },
    ExpiredPayoutsRecovered({ eventId, amount = 0n }) {
      pool(eventId).recovered += amount
    },
  }

  return {
    pools: pools as ReadonlyMap<bigint, Pool>,
    pool,
    /** The event a deposit or position belongs to. */
    eventOf: (kind: keyof typeof eventOf, id: bigint) => eventOf[kind].get(id),
    /** Keeps what the ledger has; the function that it returns undoes what came later. */
    keep() {
      const kept = structuredClone({ pools, ...eventOf })
      return () => {
        for (const [name, map] of Object.entries({ pools, ...eventOf })) {
          map.clear()
          for (const [id, value] of kept[name as keyof typeof kept]) (map as Map<bigint, unknown>).set(id, value)
        }
      }
    },
    /** Adds a transaction's logs. An event that it creates pays in `token`. */
    add(logs: readonly Log[], token: Address): void {
      for (const [name, args] of logs) entries[name]?.(args as Logged, token)
    },
  }
}

export type { Pool }

/** Token units of a pool that are still with the protocol. */
export const poolBalance = (pool: Pool): bigint =>
  pool.deposited + pool.premiums - pool.payouts - pool.recovered - pool.capital - pool.premiumsClaimed
