import { breakEven, capacityOf, costOf, greatestPayout, netPayout, payoutAt, type Schemas } from 'fx-protection-client'
import { maxUint256 } from 'viem'
import { describe, expect, test } from 'vitest'
import { profileNames, profiles } from '../../src/protocol/profiles.ts'
import { createRandom } from '../../src/sandbox/story/random.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { DAI, DAY, fees, type NewEvent, USDC, useProtocol } from '../support/use-protocol.ts'

/* The functions of the client about an event's terms give the numbers of the contract, to the unit. */

const EVENTS = byForm(8, 300)
const protocols = new Map(
  await Promise.all(profileNames.map(async (profile) => [profile, await useProtocol(profile)] as const)),
)

describe.each(profileNames)('with a protocol of the %s profile', (profile) => {
  const protocol = protocols.get(profile)
  if (protocol === undefined) throw new Error(`no protocol ${profile}`)
  const { creator, hedger, lp, usdc, dai, send, read, buy, create, refuses, now, at, settle } = protocol
  const { int, pick } = createRandom(seed)
  /** True once in so many times. */
  const chance = (times: number): boolean => int(1, times) === 1
  const big = (from: number, to: number): bigint => BigInt(int(from, to))

  /** Terms that the protocol accepts: upward or downward, with a cap or a single strike. */
  const randomTerms = (): Partial<NewEvent> => {
    const strikeAbove = chance(2)
    const initialRate = big(1_000, 2_000_000_000)
    const gap = big(1, Math.max(1, Math.floor(Number(initialRate) / 4)))
    const strike = strikeAbove ? initialRate + gap : initialRate - gap
    const reach = big(1, Math.max(1, Math.floor(Number(strike) / 2)))
    const payoutCap = chance(3) ? 0n : strikeAbove ? strike + reach : strike - reach
    const [paymentToken, unit] = pick([[usdc, USDC] as const, [dai, DAI] as const])
    return {
      ...{ strikeAbove, initialRate, strike, payoutCap, paymentToken },
      premiumRate: big(1, 300_000),
      initialLiquidity: big(20, 20_000) * unit + big(0, 999_999),
      expiryDate: protocol.start + big(1, 300) * DAY,
    }
  }

  /** An event that is open, as the API has it. */
  const openEvent = async (terms: Partial<NewEvent>) => {
    const id = await create(terms)
    if (profile === 'deployed') await send(creator, 'setPoolSettings', [id, true, true])
    return { id, event: await eventOf(id) }
  }

  const eventOf = async (eventId: bigint) => {
    const [{ id, expiryDate, ...core }, { payoutCap }, paymentToken] = await Promise.all([
      read('getHedgeEventCore', [eventId]),
      read('getHedgeEventRange', [eventId]),
      read('getEventPaymentToken', [eventId]),
    ])
    return {
      ...core,
      id: Number(id),
      payoutCap,
      paymentToken,
      expiryDate: Number(expiryDate),
    } satisfies Partial<Schemas['Event']>
  }

  /** The capacity as the API has it, at a time. */
  const utilizationOf = async (eventId: bigint, time: bigint) => {
    const [core, utilization, range] = await Promise.all([
      read('getHedgeEventCore', [eventId]),
      read('getPoolUtilization', [eventId]),
      read('getHedgeEventRange', [eventId]),
    ])
    return { availableCapacity: profiles[profile].capacity({ core, utilization, range, time }) }
  }

  test(`payouts at any rate are those of the contract for ${EVENTS} random events (seed ${seed})`, async () => {
    for (let nth = 0; nth < EVENTS; nth += 1) {
      const { id, event } = await openEvent(randomTerms())
      const { strike, payoutCap, initialRate } = event
      const notional = big(1, 1_000_000_000) * (chance(2) ? 1n : 10n ** 12n) + big(0, 999)
      const around = [strike, payoutCap, initialRate].flatMap((rate) => [rate - 1n, rate, rate + 1n])
      const rates = [...around, 0n, 1n, big(1, 4_000_000_000), 2n ** 96n].filter((rate) => rate >= 0n)
      const paid = await Promise.all(rates.map((rate) => read('quoteRangePayout', [id, rate, notional])))
      expect(rates.map((rate) => [rate, payoutAt(event, notional, rate)])).toEqual(
        rates.map((rate, at) => [rate, paid[at]]),
      )
      const furthest = payoutCap === 0n ? strike : payoutCap
      expect(greatestPayout(event, notional)).toBe(await read('quoteRangePayout', [id, furthest, notional]))
    }
  })

  test(`cost, reserve and break-even of random purchases are those of the contract (seed ${seed})`, async () => {
    let found = 0
    for (let nth = 0; nth < EVENTS; nth += 1) {
      const { id, event } = await openEvent(randomTerms())
      const { availableCapacity } = await utilizationOf(id, await now())
      const notional = availableCapacity / big(1, 5)
      const cost = costOf(event, notional, fees)
      if (notional < 10_000_000n || cost.premium === 0n || greatestPayout(event, notional) === 0n) continue
      const { moved } = await buy(hedger, id, notional)
      expect(await moved(event.paymentToken)).toMatchObject({ hedger: -cost.total })
      const [positionId = 0n] = await read('getEventPositionIds', [id])
      const position = await read('getHedgePosition', [positionId])
      expect([position.premiumPaid, position.platformFeePaid]).toEqual([cost.premium, cost.platformFee])
      expect((await read('getHedgeEventStats', [id])).totalMaxPayout).toBe(greatestPayout(event, notional))

      const netAt = async (rate: bigint): Promise<bigint> =>
        netPayout(await read('quoteRangePayout', [id, rate, notional]), fees)
      const even = breakEven(event, { notional, cost: cost.total }, fees)
      const beyond = event.payoutCap === 0n ? event.strike : event.payoutCap
      if (even === null) expect(await netAt(beyond)).toBeLessThan(cost.total)
      else {
        found += 1
        expect(await netAt(even)).toBeGreaterThanOrEqual(cost.total)
        expect(await netAt(event.strikeAbove ? even - 1n : even + 1n)).toBeLessThan(cost.total)
      }
    }
    expect(found).toBeGreaterThan(0)
  })

  test('what a claim pays is the payout at the settlement rate less the fee', async () => {
    const { id, event } = await openEvent({})
    const notional = 1_234_567_891n
    await buy(hedger, id, notional)
    await settle(id, 12_345_678n)
    const [positionId = 0n] = await read('getEventPositionIds', [id])
    const { moved } = await send(hedger, 'claimPayout', [positionId])
    expect(await moved(usdc)).toMatchObject({ hedger: netPayout(payoutAt(event, notional, 12_345_678n), fees) })
  })

  test(`an event sells exactly its capacity, for random events (seed ${seed})`, async () => {
    const tooMuch = { reference: 'Exceeds capacity', deployed: 'Insufficient pool liquidity for payout' }[profile]
    let sold = 0
    for (let nth = 0; nth < EVENTS; nth += 1) {
      const { id, event } = await openEvent(randomTerms())
      await send(lp, 'deposit', [id, big(10_000_000, 900_000_000)])
      const time = await now()
      const capacity = capacityOf(event, await utilizationOf(id, time), Number(time))
      await refuses(tooMuch, hedger, 'buyProtection', [id, capacity + 1n, maxUint256, maxUint256])
      if (capacity < 10_000_000n || costOf(event, capacity, fees).premium === 0n) continue
      if (costOf(event, capacity, fees).total > 10n ** 13n && event.paymentToken === usdc) continue
      await buy(hedger, id, capacity)
      sold += 1
    }
    expect(sold).toBeGreaterThan(0)
  })

  test('a pool that is closed, expired or settled has no capacity, whatever an older record has', async () => {
    const { id, event } = await openEvent({})
    const utilization = await utilizationOf(id, await now())
    const time = event.expiryDate
    expect(capacityOf(event, utilization, time - 1)).toBeGreaterThan(0n)
    expect(capacityOf(event, utilization, time)).toBe(0n)
    await send(creator, 'setPoolSettings', [id, false, true])
    expect(capacityOf(await eventOf(id), utilization, time - 1)).toBe(0n)
    await send(creator, 'setPoolSettings', [id, true, true])
    await at(BigInt(time))
    await settle(id, 13_000_000n)
    expect(capacityOf(await eventOf(id), utilization, time - 1)).toBe(0n)
  })
})
