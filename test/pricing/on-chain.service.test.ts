import fc from 'fast-check'
import { encodeFunctionData, isHex } from 'viem'
import { expect, test } from 'vitest'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { ServiceError } from '../../src/lib/errors.ts'
import type { Quote } from '../../src/pricing/messages.ts'
import { sixRound } from '../../src/pricing/quotes/premium.ts'
import { cedi, openQuoter } from '../support/quoter.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { DAY, type NewEvent, USDC, useProtocol } from '../support/use-protocol.ts'

const { client, send, read, refuses, mineAt, now, newEvent, owner, creator, lp, diamond } = await useProtocol()

let time = await now()
const key = `0x${'01'.repeat(32)}`
const { quote } = await openQuoter({ key, diamond, now: () => Number(time) * 1_000, maxStalenessDays: 100_000 })

/** The event of a quote, built from request and answer as an integrator does. */
const eventOf = (request: typeof cedi, { premiumRateFixed6, attestation, breakdown }: Quote): NewEvent => {
  if (attestation === null || !isHex(attestation.signature) || !isHex(attestation.quoteNonce))
    throw new Error(`unsigned: ${JSON.stringify(breakdown.attestation)}`)
  return newEvent({
    underlying: request.pair,
    strike: BigInt(String(breakdown.strikeFixed6)),
    payoutCap: BigInt(String(breakdown.payoutCapFixed6)),
    premiumRate: BigInt(premiumRateFixed6),
    expiryDate: BigInt(request.expiryUnixSeconds),
    initialRate: BigInt(String(breakdown.initialRateFixed6)),
    strikeAbove: request.strikeAbove,
    signature: attestation.signature,
    quoteTimestamp: BigInt(attestation.quoteTimestamp),
    quoteNonce: attestation.quoteNonce,
    initialLiquidity: 1n,
  })
}

/** A request for 30 days at the chain's time, and its quote for a creator. */
const quoted = async (request: Partial<typeof cedi> = {}) => {
  time = await now()
  const whole = { ...cedi, expiryUnixSeconds: Number(time + 30n * DAY), ...request }
  const answer = await quote({ ...whole, chainId: 8453, diamondAddress: diamond, creator })
  return { request: whole, answer, event: eventOf(whole, answer) }
}

const register = async () => {
  const { answer } = await quoted()
  await send(owner, 'setPricingEngineSigner', [`0x${answer.attestation?.signerAddress.slice(2) ?? ''}`])
}

test('a signed quote creates its event once, and only for its creator', async () => {
  await register()
  const { event } = await quoted()
  await refuses('Bad quote signature', lp, 'createEvent', [event])
  await refuses('Bad quote signature', creator, 'createEvent', [{ ...event, premiumRate: event.premiumRate - 1n }])
  await send(creator, 'createEvent', [event])
  expect(await read('getEventQuoteSigner', [1n])).toBe(await read('getPricingEngineSigner'))
  await refuses('Quote nonce used', creator, 'createEvent', [event])
})

test('a signed quote is rejected after the expiry that its answer returns', async () => {
  await register()
  const { answer, event } = await quoted()
  const expiresAt = BigInt(answer.attestation?.expiresAt ?? 0)
  await mineAt(expiresAt + 1n)
  await refuses('Quote expired', creator, 'createEvent', [event])
})

const RUNS = byForm(60, 1_000)
/** Quotes per block: its gas limit allows no more. */
const SIDE_BY_SIDE = 25

const spots = {
  'USD/GHS': 11.4,
  'GHS/USD': 1 / 11.4,
  'EUR/USD': 1.1,
  'USD/JPY': 150,
  'EUR/BRL': 5.94,
  'USD/NGN': 1_450,
}
const range = fc.record({
  pair: fc.constantFrom(...(Object.keys(spots) as (keyof typeof spots)[])),
  // Distances of logarithms; a negative distance is in the money.
  strike: fc.double({ min: -0.15, max: 0.1, noNaN: true }),
  width: fc.double({ min: 0.005, max: 0.4, noNaN: true }),
  days: fc.bigInt({ min: 2n, max: 360n }),
  notional: fc.double({ min: 0.01, max: 1e8, noNaN: true }),
  strikeAbove: fc.boolean(),
  inside: fc.double({ min: 0, max: 1, noNaN: true }),
})

type Case = typeof range extends fc.Arbitrary<infer T> ? T : never

/** The quote of a case; undefined when the engine rejects its leverage or the protocol would reject its premium. */
const pricedCase = async ({ strike, width, days, inside, ...one }: Case) => {
  const sign = one.strikeAbove ? 1 : -1
  const edge = spots[one.pair] * Math.exp(sign * strike)
  const expiryUnixSeconds = Number(time + days * DAY)
  const request = { ...one, strike: edge, payoutCap: edge * Math.exp(sign * width), expiryUnixSeconds }
  const found = await quoted(request).catch((error: unknown) => {
    if (!(error instanceof ServiceError) || !error.message.includes('leverage')) throw error
  })
  return found === undefined || found.event.premiumRate > 1_000_000n ? undefined : { ...found, inside }
}

type Priced = NonNullable<Awaited<ReturnType<typeof pricedCase>>>

/** Creates events in one block, because the node becomes slower with every block. */
const createAll = async (events: readonly NewEvent[]): Promise<void> => {
  await client.setAutomine(false)
  for (const event of events) {
    const data = encodeFunctionData({ abi: protocolAbi, functionName: 'createEvent', args: [event] })
    await client.sendTransaction({ account: creator, to: diamond, data, gas: 1_000_000n, chain: null })
  }
  await client.mine({ blocks: 1 })
  await client.setAutomine(true)
}

/** Compares the payments of a quote's event with the quote. `scale` is the token's units per millionth. */
const holdToQuote = async (
  eventId: bigint,
  { event, answer, request, inside }: Priced,
  scale: bigint,
): Promise<void> => {
  const whole = event.strikeAbove ? event.payoutCap - event.strike : event.strike - event.payoutCap
  const part = BigInt(Math.floor(inside * Number(whole)))
  const steps = [-whole / 4n, 0n, part, whole, whole + 1n]
  const millionths = sixRound(request.notional)
  const paid = await Promise.all(
    steps.map((step) => {
      const rate = event.strikeAbove ? event.strike + step : event.strike - step
      return read('quoteRangePayout', [eventId, rate, millionths * scale])
    }),
  )
  const moves = [0n, 0n, part, whole, whole]
  expect(paid).toEqual(moves.map((move) => (millionths * scale * move) / event.initialRate))
  const most = sixRound(answer.maxPayoutUsd)
  expect(paid.slice(3).map((amount) => amount / scale)).toEqual([most, most])
  expect((millionths * event.premiumRate) / USDC).toBe(sixRound(answer.premiumUsd))
}

test(`${RUNS} random quotes pay on the chain exactly what they state, to the unit`, { timeout: 120_000 }, async () => {
  await register()
  const cases = fc.sample(range, { numRuns: 2 * RUNS, seed })
  let paid = 0
  for (let from = 0; from < cases.length && paid < RUNS; from += SIDE_BY_SIDE) {
    const found = await Promise.all(cases.slice(from, from + SIDE_BY_SIDE).map(pricedCase))
    const priced = found.flatMap((one) => one ?? []).slice(0, RUNS - paid)
    await createAll(priced.map(({ event }) => event))
    expect(await read('getTotalHedgeEvents')).toBe(BigInt(paid + priced.length))
    // Every second notional is in a token with 18 decimals.
    await Promise.all(priced.map((one, i) => holdToQuote(BigInt(paid + i + 1), one, i % 2 === 0 ? 1n : 10n ** 12n)))
    paid += priced.length
  }
  expect(paid).toBe(RUNS)
})
