import { type Address, maxUint256, zeroAddress } from 'viem'
import type { Random } from '../../src/sandbox/story/random.ts'
import type { createLedger } from './ledger.ts'
import { DAY, type UsedProtocol, type WriteArgs, type WriteName } from './use-protocol.ts'

export type Action = readonly [from: Address, name: WriteName, args: WriteArgs<WriteName>]

/**
 * Random actions that users might take at a moment: mostly sensible, sometimes absurd or allowed only to another
 * account.
 *
 * @example
 * const { next } = createRandomActions({ protocol, ledger, tokens: [usdc], random: createRandom(7) })
 * const [from, name, args] = await next()
 */
export const createRandomActions = (of: {
  readonly protocol: UsedProtocol
  readonly ledger: ReturnType<typeof createLedger>
  readonly tokens: readonly Address[]
  /** Those of the tokens that have 6 decimals, in addition to USDC. The others have 18. */
  readonly sixDecimals?: readonly Address[]
  readonly random: Random
}) => {
  const { ledger, tokens, sixDecimals = [] } = of
  const { read, now, newEvent, usdc, ...on } = of.protocol
  const { owner, oracleAdmin, oracleA, oracleB, oracleC, creator, lp, secondLp, hedger, secondHedger, stranger } = on
  const { pick, int } = of.random

  const unitOf = (token: Address): bigint => ([usdc, ...sixDecimals].includes(token) ? 10n ** 6n : 10n ** 18n)
  const chance = (percent: number): boolean => int(1, 100) <= percent
  const anyone = () => pick([creator, lp, secondLp, hedger, secondHedger, stranger])
  /** Mostly the owner, if there is one. */
  const mostly = (whose: Address) => (whose !== zeroAddress && chance(90) ? whose : anyone())
  const eventIds = () => [...ledger.pools.keys()]
  /** Mostly an existing id. */
  const some = (ids: readonly bigint[]): bigint => (ids.length > 0 && chance(97) ? pick(ids) : BigInt(int(0, 2_000)))
  /** Mostly one of the newest, which are still open. */
  const anyEvent = () => some(chance(80) ? eventIds().slice(-8) : eventIds())
  const anyDeposit = () => some(ledger.pools.get(some(eventIds()))?.depositIds ?? [])
  const anyPosition = () => some(ledger.pools.get(some(eventIds()))?.positionIds ?? [])
  /** From one unit to absurdly large amounts, with random digits. */
  const amount = (token: Address): bigint => {
    const kind = int(1, 20)
    if (kind === 1) return pick([0n, 2n ** 128n, 2n ** 255n, maxUint256])
    if (kind <= 4) return BigInt(int(1, 1_000))
    return (BigInt(int(1, 2_000_000)) * unitOf(token)) / 1_000n + BigInt(int(0, 999))
  }
  const tokenOf = (eventId: bigint): Address => ledger.pools.get(eventId)?.token ?? usdc

  /** A price around where the payouts begin and end, sometimes exactly there. */
  const priceOf = async (id: bigint): Promise<bigint> => {
    const { strike, payoutCap, initialRate } = await read('getHedgeEventRange', [id])
    const near = pick([strike, payoutCap, initialRate])
    const price = chance(20) ? near : (near * BigInt(int(500, 1_500))) / 1_000n
    return price === 0n ? 1n : price
  }
  const settling = async (id: bigint): Promise<Action> => {
    const price = await priceOf(id)
    return [oracleAdmin, 'settleEvent', [id, chance(3) ? maxUint256 : price]]
  }

  /** Events past their expiry that are not settled. */
  const awaiting = async (): Promise<readonly bigint[]> => {
    const time = await now()
    return eventIds().filter((id) => !ledger.pool(id).settled && ledger.pool(id).expiryDate <= time)
  }

  const createEvent = async (): Promise<Action> => {
    const token = pick(tokens)
    const initialRate = BigInt(int(1_000_000, 20_000_000))
    const gap = (initialRate * BigInt(int(1, 200))) / 1_000n + 1n
    const strikeAbove = chance(50)
    const strike = strikeAbove ? initialRate + gap : initialRate - gap
    const width = (initialRate * BigInt(int(1, 150))) / 1_000n + 1n
    const payoutCap = chance(30) ? 0n : strikeAbove ? strike + width : strike - width
    const terms = { initialRate, strike, strikeAbove, payoutCap, premiumRate: BigInt(int(1, 200_000)) }
    const expiryDate = (await now()) + BigInt(int(1, 40)) * DAY
    const chosen = { ...terms, expiryDate, paymentToken: token, initialLiquidity: amount(token) }
    return [pick([creator, lp]), 'createEvent', [newEvent(chosen)]]
  }

  const actions: Record<string, { readonly weight: number; readonly make: () => Action | Promise<Action> }> = {
    create: { weight: 7, make: createEvent },
    deposit: {
      weight: 15,
      make() {
        const id = anyEvent()
        return [anyone(), 'deposit', [id, amount(tokenOf(id))]]
      },
    },
    buy: {
      weight: 40,
      async make() {
        const id = anyEvent()
        const { availableCapacity } = await read('getPoolUtilization', [id])
        const notional = chance(15) ? availableCapacity + BigInt(int(0, 1)) : amount(tokenOf(id))
        return [anyone(), 'buyProtection', [id, notional, maxUint256, maxUint256]]
      },
    },
    settings: { weight: 4, make: () => [pick([creator, lp]), 'setPoolSettings', [anyEvent(), chance(75), chance(75)]] },
    claimPremiums: {
      weight: 12,
      async make() {
        const id = anyDeposit()
        return [mostly((await read('getHedgeLpDeposit', [id])).lp), 'claimPremiums', [id]]
      },
    },
    claimPayout: {
      weight: 15,
      async make() {
        const id = anyPosition()
        return [mostly((await read('getHedgePosition', [id])).hedger), 'claimPayout', [id]]
      },
    },
    withdrawCapital: {
      weight: 10,
      async make() {
        const id = anyDeposit()
        return [mostly((await read('getHedgeLpDeposit', [id])).lp), 'withdrawCapital', [id]]
      },
    },
    withdrawCreatorEarnings: {
      weight: 4,
      make: () => [pick([creator, lp]), 'withdrawCreatorEarnings', [anyEvent()]],
    },
    platformFees: {
      weight: 3,
      make() {
        const token = pick(tokens)
        return [chance(80) ? owner : anyone(), 'withdrawPlatformFeesByToken', [token, amount(token) / 1_000n]]
      },
    },
    fees: {
      weight: 2,
      make: () => [
        owner,
        'initializeHedgeFees',
        [
          BigInt(int(0, 10_000_000)),
          BigInt(int(0, 100_000)),
          BigInt(int(0, 100_000)),
          BigInt(int(0, 100_000)),
          BigInt(int(0, 500_000)),
        ],
      ],
    },
    settle: { weight: 6, make: () => settling(some(eventIds())) },
    rate: {
      weight: 16,
      async make() {
        // Mostly for the same event at the same price, so that oracles agree.
        const [id = anyEvent()] = await awaiting()
        const { strike, payoutCap } = await read('getHedgeEventRange', [id])
        const near = (id % 2n === 0n ? payoutCap : strike) + BigInt(int(1, 9))
        const price = chance(85) ? near : chance(10) ? maxUint256 : await priceOf(id)
        return [chance(95) ? pick([oracleA, oracleB, oracleC]) : anyone(), 'submitRate', [id, price]]
      },
    },
    recover: { weight: 3, make: () => [owner, 'recoverExpiredPayouts', [anyEvent()]] },
    pause: { weight: 1, make: () => [owner, 'pause', []] },
    unpause: { weight: 12, make: () => [owner, 'unpause', []] },
  }
  const bag = Object.values(actions).flatMap(({ weight, make }) => Array.from({ length: weight }, () => make))

  /** Without an event most actions are rejected, so every second one creates it. */
  const next = () => (ledger.pools.size === 0 && chance(50) ? createEvent() : pick(bag)())

  return { next, chance, anyEvent, tokenOf, priceOf }
}
