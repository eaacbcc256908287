import { type Address, maxUint256, zeroAddress } from 'viem'
import { expect, test } from 'vitest'
import { createRandom } from '../../src/sandbox/random.ts'
import { createBooks, type Pool, potOf } from '../support/books.ts'
import { DAY, useProtocol, type WriteArgs, type WriteName } from '../support/use-protocol.ts'

/** `SEED=7 STEPS=20000 npx vitest run test/contracts/invariants` repeats a run, or makes it longer. */
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 32)
const steps = Number(process.env.STEPS ?? 2_000)

const { send, read, refuses, balance, at, mineAt, now, newEvent, ...on } = await useProtocol()
const { owner, oracleAdmin, creator, lp, secondLp, hedger, secondHedger, stranger, diamond, usdc, dai } = on
const random = createRandom(seed)
const { pick, int } = random
const books = createBooks()
const earnings = new Map<bigint, bigint>()

type Action = readonly [from: Address, name: WriteName, args: WriteArgs<WriteName>]

const unitOf = (token: Address): bigint => (token === usdc ? 10n ** 6n : 10n ** 18n)
const chance = (percent: number): boolean => int(1, 100) <= percent
const anyone = () => pick([creator, lp, secondLp, hedger, secondHedger, stranger])
/** Mostly whose it is, when it is somebody's. */
const mostly = (whose: Address) => (whose !== zeroAddress && chance(90) ? whose : anyone())
const eventIds = () => [...books.pools.keys()]
/** Mostly an id that is there. */
const some = (ids: readonly bigint[]): bigint => (ids.length > 0 && chance(97) ? pick(ids) : BigInt(int(0, 2_000)))
/** Mostly one of the newest, which are still open. */
const anyEvent = () => some(chance(80) ? eventIds().slice(-8) : eventIds())
const anyDeposit = () => some(books.pools.get(some(eventIds()))?.depositIds ?? [])
const anyPosition = () => some(books.pools.get(some(eventIds()))?.positionIds ?? [])
/** From a single unit over the usual to the absurd, with every digit in use. */
const amount = (token: Address): bigint => {
  const kind = int(1, 20)
  if (kind === 1) return pick([0n, 2n ** 128n, 2n ** 255n, maxUint256])
  if (kind <= 4) return BigInt(int(1, 1_000))
  return (BigInt(int(1, 2_000_000)) * unitOf(token)) / 1_000n + BigInt(int(0, 999))
}
const tokenOf = (eventId: bigint): Address => books.pools.get(eventId)?.token ?? usdc

/** At a price around where the payouts begin and end, sometimes exactly there, sometimes out of this world. */
const settling = async (id: bigint): Promise<Action> => {
  const { strike, payoutCap, initialRate } = await read('getHedgeEventRange', [id])
  const near = pick([strike, payoutCap, initialRate])
  const price = chance(20) ? near : (near * BigInt(int(500, 1_500))) / 1_000n
  return [oracleAdmin, 'settleEvent', [id, chance(3) ? maxUint256 : price === 0n ? 1n : price]]
}

const actions: Record<string, { readonly weight: number; readonly make: () => Action | Promise<Action> }> = {
  create: {
    weight: 4,
    async make() {
      const token = pick([usdc, dai])
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
    },
  },
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
      const token = pick([usdc, dai])
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
  settle: { weight: 8, make: () => settling(some(eventIds())) },
  recover: { weight: 3, make: () => [owner, 'recoverExpiredPayouts', [anyEvent()]] },
  pause: { weight: 1, make: () => [owner, 'pause', []] },
  unpause: { weight: 12, make: () => [owner, 'unpause', []] },
}
const bag = Object.values(actions).flatMap(({ weight, make }) => Array.from({ length: weight }, () => make))

/** What taking the same once more is refused with. */
const onceOnly: Readonly<Record<string, string>> = {
  claimPayout: 'Already claimed',
  withdrawCapital: 'Already withdrawn',
  claimPremiums: 'No premiums',
  withdrawCreatorEarnings: 'No earnings',
  recoverExpiredPayouts: 'Already recovered',
}

/** Does it or is refused with a reason; what went through goes into the books and cannot be had twice. */
const act = async ([from, name, args]: Action): Promise<boolean> => {
  const sent = await send(from, name, args).catch((error: Error) => {
    expect(error.message).toMatch(/^reverted with: (?!panic|no reason|nothing)/)
  })
  if (sent === undefined) return false
  const token = name === 'createEvent' ? (args[0] as { readonly paymentToken: Address }).paymentToken : usdc
  books.note(sent.logs, token)
  const refusal = onceOnly[name]
  if (refusal !== undefined) await refuses(refusal, from, name, args)
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
      const left = stats.totalLiquidity - (stats.settledAt === 0n ? 0n : stats.totalMaxPayout)
      return premiums + (withdrawn ? 0n : (amount * left) / stats.totalLiquidity)
    }),
  )
  const payouts = stats.settledAt === 0n ? 0n : stats.totalMaxPayout - pool.payouts - pool.recovered
  return sum(deposits) + payouts
}

const statsOf = (id: bigint) => read('getHedgeEventStats', [id])

/** Divisions cut off less than a unit a deposit, twice, and less than a unit for every 1e18 shares. */
const dustOf = (pool: Pool): bigint => 2n * BigInt(pool.depositIds.length) + pool.deposited / 10n ** 18n + 1n

const checkEvent = async (id: bigint): Promise<void> => {
  const pool = books.pool(id)
  const stats = await statsOf(id)
  earnings.set(id, stats.creatorEarnings)
  expect(stats.totalMaxPayout).toBeLessThanOrEqual(stats.totalLiquidity)
  expect([stats.totalLiquidity, stats.totalPremiums]).toEqual([pool.deposited, pool.premiums])
  expect(pool.payouts + pool.recovered + pool.capital).toBeLessThanOrEqual(pool.deposited)
  expect(pool.premiumsClaimed).toBeLessThanOrEqual(pool.premiums)
  const surplus = potOf(pool) - (await owed(pool, stats))
  expect(surplus).toBeGreaterThanOrEqual(0n)
  expect(surplus).toBeLessThanOrEqual(dustOf(pool))
}

/** Tokens held are what the pools hold, what creators have earned and what the platform has, to the unit. */
const checkHoldings = async (): Promise<void> => {
  for (const token of [usdc, dai]) {
    const ids = eventIds().filter((id) => books.pool(id).token === token)
    const [held, platform] = await Promise.all([balance(diamond, token), read('getPlatformFeesByToken', [token])])
    expect(held).toBe(sum(ids.map((id) => potOf(books.pool(id)) + (earnings.get(id) ?? 0n))) + platform)
  }
}

/** The events an action touches, known or just created. */
const touched = ([, name, [id]]: Action): readonly bigint[] => {
  if (name === 'createEvent') return eventIds().slice(-1)
  const eventId =
    name === 'claimPayout'
      ? books.eventOf('position', id as bigint)
      : name === 'claimPremiums' || name === 'withdrawCapital'
        ? books.eventOf('deposit', id as bigint)
        : (id as bigint)
  return eventId !== undefined && books.pools.has(eventId) ? [eventId] : []
}

test(`${steps} random actions (SEED=${seed}) leave the books right after each, and everybody gets what is theirs`, async () => {
  let done = 0
  for (let step = 0; step < steps; step += 1) {
    if (chance(4)) await at((await now()) + BigInt(int(1, 72)) * 3_600n)
    const action = await pick(bag)()
    if (await act(action)) {
      done += 1
      for (const id of touched(action)) await checkEvent(id)
    }
    await checkHoldings()
  }
  console.log(`SEED=${seed}: ${done} of ${steps} actions went through, over ${books.pools.size} events`)
  expect(done).toBeGreaterThan(steps / 4)

  // The end: every event is settled, everybody takes what is theirs, and the platform what nobody took.
  if (await read('isPaused')) await send(owner, 'unpause', [])
  await mineAt((await now()) + 41n * DAY)
  for (const id of eventIds()) {
    if ((await statsOf(id)).settledAt === 0n) await act(await settling(id))
    for (const positionId of books.pool(id).positionIds) {
      const { hedger: whose, claimed, payoutAmount } = await read('getHedgePosition', [positionId])
      if (!claimed && payoutAmount > 0n && chance(80))
        expect(await act([whose, 'claimPayout', [positionId]])).toBe(true)
    }
    for (const depositId of books.pool(id).depositIds) {
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
    expect(potOf(books.pool(id))).toBeLessThanOrEqual(dustOf(books.pool(id)))
  }
  for (const token of [usdc, dai]) {
    await send(owner, 'withdrawPlatformFeesByToken', [token, await read('getPlatformFeesByToken', [token])])
  }
  await checkHoldings()
}, 400_000)
