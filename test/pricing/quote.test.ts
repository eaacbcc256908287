import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ServiceError } from '../../src/lib/errors.ts'
import { Quote, QuoteRequest } from '../../src/pricing/messages.ts'
import { cedi, openQuoter, quotingTime } from '../support/quoter.ts'

const DAY = 86_400
const asOf = quotingTime / 1000
const { quote, market, calibrations } = await openQuoter()

/** The specification's breakdown, and the additional fields. */
const Breakdown = z.strictObject({
  pair: z.string(),
  spot: z.number(),
  strike: z.number(),
  payoutCap: z.number(),
  rangeWidth: z.number(),
  T_years: z.number(),
  T_days: z.number(),
  notional: z.number(),
  direction: z.enum(['upward', 'downward']),
  coveragePercent: z.number(),
  method: z.string(),
  pairClassification: z.strictObject({ tier: z.string(), useEmpiricalDrift: z.boolean(), notes: z.string() }),
  inputs: z.strictObject({
    r: z.number(),
    q: z.number().nullable(),
    mu: z.number(),
    qEffective: z.number(),
    sigma: z.number(),
    sigmaFrom: z.enum(['model', 'floor']),
    sigmaRealizedRaw: z.number(),
    volMarkup: z.number(),
    volFloor: z.number(),
    garch: z.strictObject({
      sigma0: z.number(),
      sigmaLongRun: z.number(),
      persistence: z.number(),
      sigmaIntegrated: z.number(),
      alpha: z.number(),
      beta: z.number(),
      from: z.string(),
    }),
    jump: z.strictObject({ lambda: z.number(), jumpMean: z.number(), jumpStd: z.number(), from: z.string() }),
  }),
  study: z.looseObject({ ratio: z.number() }).nullable(),
  studyReason: z.string().nullable(),
  asOf: z.int(),
  tradingDays: z.number(),
  fairValue: z.number(),
  fairRate: z.number(),
  leverage: z.number(),
  initialRateFixed6: z.string(),
  strikeFixed6: z.string(),
  payoutCapFixed6: z.string(),
  localRates: z.strictObject({ asOf: z.string(), stale: z.boolean() }).nullable(),
  usdRate: z.looseObject({ rate: z.number(), recordDate: z.string() }),
  spotSource: z.strictObject({ source: z.string(), date: z.string(), synthetic: z.boolean() }),
  history: z.strictObject({
    source: z.string(),
    synthetic: z.boolean(),
    firstClose: z.string(),
    lastClose: z.string(),
    closes: z.int(),
    stale: z.boolean(),
  }),
  calibration: z.strictObject({ version: z.int().nullable(), lastClose: z.string().nullable() }),
  attestation: z.strictObject({ reason: z.string() }),
})

const priced = async (request: object = {}) => {
  const answer = Quote.parse(JSON.parse(JSON.stringify(await quote(request))))
  return { ...answer, breakdown: Breakdown.parse(answer.breakdown) }
}
type Breakdown = z.output<typeof Breakdown>

/** The rejection that the client receives, as `path: message`. */
const refusal = async (request: object): Promise<string> => {
  const error = await quote(request).then(
    () => new Error('it was priced'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof ServiceError)) throw error
  expect(error.code).toBe('validation_error')
  return `${error.details?.[0]?.path}: ${error.message}`
}

describe('the worked example', () => {
  test('the worked example returns the worked numbers', async () => {
    const { breakdown, ...numbers } = await priced()
    expect(numbers).toEqual({
      premiumRate: 0.027322,
      premiumUsd: 273.22,
      maxPayoutUsd: 1_315.789473,
      premiumRateFixed6: '27322',
      attestation: null,
    })
    expect(breakdown.fairValue).toBeCloseTo(0.31147032704900574, 12)
    expect(breakdown.coveragePercent).toBeCloseTo(13.157894736842104, 12)
    expect(breakdown.leverage).toBeCloseTo(4.8159, 4)
    expect(breakdown.inputs.sigma).toBeCloseTo(0.15399950494384307, 13)
    expect(breakdown.inputs).toMatchObject({ r: 0.0425, q: null, volMarkup: 1, volFloor: 0.15 })
    expect(breakdown.inputs.mu).toBeCloseTo(0.18, 13)
    expect(breakdown.inputs.qEffective).toBeCloseTo(-0.1375, 13)
    expect(breakdown.tradingDays).toBeCloseTo(62.1369863, 7)
    expect([breakdown.T_days, breakdown.initialRateFixed6, breakdown.direction]).toEqual([90, '11400000', 'upward'])
  })
})

/** The normal distribution by Simpson's rule: slow, and independent of the engine. */
const normal = (x: number): number => {
  const end = Math.min(Math.max(x, -9), 9)
  const steps = 400
  const height = (i: number) => Math.exp(-(((end * i) / steps) ** 2) / 2)
  let sum = height(0) + height(steps)
  for (let i = 1; i < steps; i += 1) sum += height(i) * (i % 2 === 1 ? 4 : 2)
  return 0.5 + ((end / steps) * sum) / 3 / Math.sqrt(2 * Math.PI)
}

/**
 * The premium rate from the breakdown alone, by the textbook form of the series: weights with lambda', and a rate for
 * each n.
 */
const byHand = (b: Breakdown): number => {
  const { r, qEffective, volMarkup, volFloor, garch, jump } = b.inputs
  const p = garch.alpha + garch.beta
  const decayed = (1 - p ** b.tradingDays) / (b.tradingDays * (1 - p))
  const variance = garch.sigmaLongRun ** 2 + (garch.sigma0 ** 2 - garch.sigmaLongRun ** 2) * decayed
  const sigma = Math.max(volFloor, volMarkup * Math.sqrt(variance))
  const meanLog = jump.jumpMean + jump.jumpStd ** 2 / 2
  const kbar = Math.exp(meanLog) - 1
  const T = b.T_years
  const sign = b.direction === 'upward' ? 1 : -1
  const option = (strike: number): number => {
    let sum = 0
    let weight = Math.exp(-jump.lambda * (1 + kbar) * T)
    for (let n = 0; n < 50; n += 1) {
      const rate = r - jump.lambda * kbar + (n * meanLog) / T
      const v = Math.sqrt(sigma ** 2 * T + n * jump.jumpStd ** 2)
      const d1 = (Math.log(b.spot / strike) + (rate - qEffective) * T) / v + v / 2
      const forward = b.spot * Math.exp(-qEffective * T) * normal(sign * d1)
      sum += weight * sign * (forward - strike * Math.exp(-rate * T) * normal(sign * (d1 - v)))
      weight *= (jump.lambda * (1 + kbar) * T) / (n + 1)
    }
    return sum
  }
  return (option(b.strike) - option(b.payoutCap)) / b.spot
}

describe('quotes', () => {
  test('a quote can be computed from its breakdown alone', async () => {
    for (const request of [
      {},
      { pair: 'GHS/USD', strike: 0.085, payoutCap: 0.07, strikeAbove: false },
      { pair: 'USD/JPY', strike: 155, payoutCap: 170, expiryUnixSeconds: asOf + 182 * DAY },
      { pair: 'EUR/USD', strike: 1.08, payoutCap: 1, strikeAbove: false, expiryUnixSeconds: asOf + 365 * DAY },
      { pair: 'EUR/BRL', strike: 6, payoutCap: 7, expiryUnixSeconds: asOf + 45 * DAY + 1 },
      { pair: 'USD/AED', strike: 3.7, payoutCap: 4.2 },
    ]) {
      const { premiumRate, breakdown } = await priced(request)
      expect(Math.abs(byHand(breakdown) - premiumRate), JSON.stringify(request)).toBeLessThanOrEqual(0.5000001e-6)
      expect(breakdown.fairRate).toBeCloseTo(byHand(breakdown), 9)
    }
  })

  test('a quote is in whole millionths that agree with each other, at any notional', async () => {
    await fc.assert(
      fc.asyncProperty(fc.double({ min: 8e-6, max: 1e9, noNaN: true }), async (notional) => {
        const { premiumRate, premiumUsd, maxPayoutUsd, premiumRateFixed6 } = await priced({ notional })
        const units = BigInt(Math.floor(notional * 1e6 + 0.5))
        expect(BigInt(Math.round(premiumUsd * 1e6))).toBe((units * BigInt(premiumRateFixed6)) / 1_000_000n)
        expect(BigInt(Math.round(maxPayoutUsd * 1e6))).toBe((units * 1_500_000n) / 11_400_000n)
        expect(premiumRate).toBe(Number(premiumRateFixed6) / 1e6)
      }),
    )
  })

  test('a quote prices the strike and cap that the chain stores: six decimals', async () => {
    const [fine, coarse] = await Promise.all([priced({ strike: 12.0000004 }), priced({ strike: 12 })])
    expect(fine).toEqual(coarse)
  })

  test('a quote costs more for a longer time, a nearer strike and a further cap', async () => {
    const base = (await priced()).premiumRate
    for (const more of [
      { expiryUnixSeconds: cedi.expiryUnixSeconds + 30 * DAY },
      { strike: 11.9 },
      { payoutCap: 13.6 },
    ]) {
      expect((await priced(more)).premiumRate).toBeGreaterThan(base)
    }
  })

  test('a quote prices a strike that is already in the money', async () => {
    const { premiumRate, breakdown } = await priced({ strike: 11 })
    expect(premiumRate).toBeGreaterThan(0.4 / 11.4 / 2)
    expect(breakdown.direction).toBe('upward')
  })
})

describe('drift and rates', () => {
  test('the drift of a frontier pair is empirical, capped at 50 % a year', async () => {
    const naira = (await priced({ pair: 'USD/NGN', strike: 1_600, payoutCap: 1_900 })).breakdown
    expect(naira.inputs).toMatchObject({ mu: 0.5, q: null, qEffective: 0.0425 - 0.5 })
    expect(naira.pairClassification).toMatchObject({ tier: 'frontierEM', useEmpiricalDrift: true })
    expect(naira.pairClassification.notes).toContain('capped')
    const back = (await priced({ pair: 'GHS/USD', strike: 0.085, payoutCap: 0.07, strikeAbove: false })).breakdown
    expect(back.inputs.mu).toBeCloseTo(-0.18, 13)
    expect(back.inputs.jump.jumpMean).toBe(-0.1)
  })

  test.each([
    ['EUR/USD', { strike: 1.08, payoutCap: 1, strikeAbove: false }, 0.02, 0.0425 - 0.02, 0.02],
    // The sign trap: for the dollar as BASE the kernel's rate is 2 r - q, not q.
    ['USD/JPY', { strike: 155, payoutCap: 170 }, 0.005, 0.005 - 0.0425, 2 * 0.0425 - 0.005],
    ['EUR/JPY', { strike: 170, payoutCap: 185 }, 0.02, 0.005 - 0.02, 0.0425 - (0.005 - 0.02)],
    ['USD/BRL', { strike: 5.5, payoutCap: 6 }, 0.12, 0.12 - 0.0425, 2 * 0.0425 - 0.12],
  ])('the drift of %s follows interest parity', async (pair, range, q, mu, qEffective) => {
    const { inputs, pairClassification } = (await priced({ pair, ...range })).breakdown
    expect(inputs.q).toBe(q)
    expect(inputs.mu).toBeCloseTo(mu, 15)
    expect(inputs.qEffective).toBeCloseTo(qEffective, 15)
    expect(pairClassification.notes).toContain('2026-11-01')
  })

  test('a currency that needs a rate and has none is not quoted', async () => {
    expect(await refusal({ pair: 'USD/PHP', strike: 60, payoutCap: 66 })).toBe(
      'pair: unsupported pair USD/PHP: the engine has no interest rate of PHP; the operator adds it to ENGINE_LOCAL_RATES_FILE',
    )
  })

  test('the breakdown has the date of the interest rates, and states when they are old', async () => {
    const yen = { pair: 'USD/JPY', strike: 155, payoutCap: 170, expiryUnixSeconds: asOf + 200 * DAY }
    const at = async (now: number) => {
      const { localRates, pairClassification } = (await (await openQuoter({ now: () => now })).quote(yen)).breakdown
      return [localRates, pairClassification.notes.includes('old interest rates')]
    }
    const end = Date.parse('2026-11-01T00:00:00Z') + 93 * DAY * 1_000
    expect(await at(end - 1_000)).toEqual([{ asOf: '2026-11-01', stale: false }, false])
    expect(await at(end)).toEqual([{ asOf: '2026-11-01', stale: true }, true])
    expect((await priced()).breakdown.localRates).toBeNull()
  })
})

describe('volatility', () => {
  test('the volatility of a peg is at least its floor, and of a frontier pair at least 15 %', async () => {
    const peg = (await priced({ pair: 'USD/AED', strike: 3.7, payoutCap: 4.2 })).breakdown
    expect(peg.pairClassification.tier).toBe('pegged')
    expect(peg.inputs.sigma).toBe(0.3)
    expect(peg.inputs.sigmaRealizedRaw).toBeCloseTo(0.001, 12)
    expect(peg.pairClassification.notes).toMatch(
      /; volatility is the floor of the tier, 30 %, above the forecast of \d\.\d %$/,
    )
    calibrations.replace([])
    const short = (await priced({ expiryUnixSeconds: asOf + 2 * DAY, strike: 11.45, payoutCap: 11.9 })).breakdown
    expect(short.inputs.sigma).toBe(0.15)
    expect(short.inputs.garch.sigmaIntegrated).toBeLessThan(0.12)
    expect([short.inputs.garch.from, short.calibration.lastClose]).toEqual(['sample', '2026-11-20'])
  })

  test('the volatility is multiplied by the tier’s markup', async () => {
    const loaded = await openQuoter({ volMarkups: { developed: 1.25 } })
    const plain = await openQuoter()
    const request = { pair: 'USD/JPY', strike: 155, payoutCap: 170 }
    const [dear, fair] = [await loaded.quote(request), await plain.quote(request)].map(
      (q) => Breakdown.parse(q.breakdown).inputs,
    )
    expect(dear?.volMarkup).toBe(1.25)
    expect(dear?.sigma).toBeCloseTo(1.25 * (fair?.sigma ?? 0), 15)
    expect(dear?.sigmaRealizedRaw).toBe(fair?.sigmaRealizedRaw)
  })

  test('a markup that the floor makes void is named', async () => {
    const { quote } = await openQuoter({ volMarkups: { pegged: 1.5 } })
    const { inputs, pairClassification } = (await quote({ pair: 'USD/AED', strike: 3.7, payoutCap: 4.2 })).breakdown
    expect([inputs.volMarkup, inputs.sigma]).toEqual([1.5, 0.3])
    expect(pairClassification.notes).toContain(', so the markup of 1.5 has no effect')
  })
})

describe('the origin of rates', () => {
  test('the breakdown states the source, dates and staleness of its rates', async () => {
    const fresh = (await priced({ pair: 'USD/JPY', strike: 155, payoutCap: 170 })).breakdown
    expect(fresh.history).toMatchObject({
      source: 'desk',
      synthetic: false,
      lastClose: '2026-11-20',
      closes: 301,
      stale: false,
    })
    const old = (await priced({ pair: 'GBP/USD', strike: 1.25, payoutCap: 1.15, strikeAbove: false })).breakdown
    expect(old.history.stale).toBe(true)
    expect(old.pairClassification.notes).toContain('stale')
    const made = (await priced({ pair: 'USD/KES', strike: 135, payoutCap: 150 })).breakdown
    expect([made.history.synthetic, made.spotSource.synthetic]).toEqual([true, true])
    expect(made.pairClassification.notes).toContain('synthetic')
  })

  test('a history is fresh for seven days', async () => {
    const thursday = Date.UTC(2026, 10, 27, 23, 59)
    const at = async (now: number) => {
      const { quote } = await openQuoter({ now: () => now })
      return Breakdown.parse((await quote({})).breakdown).history.stale
    }
    expect(await at(thursday)).toBe(false)
    expect(await at(thursday + 60_000)).toBe(true)
  })
})

describe('rejected quotes', () => {
  test.each([
    ['a pair without history', { pair: 'USD/ZZZ' }, 'pair: unsupported pair USD/ZZZ'],
    ['29 closes', { pair: 'USD/PLN', strike: 3.8, payoutCap: 4 }, 'pair: unsupported pair USD/PLN'],
    ['a redenominated currency', { pair: 'USD/VES', strike: 210, payoutCap: 230 }, 'pair: unsupported pair USD/VES'],
    ['an expiry now', { expiryUnixSeconds: asOf }, 'expiryUnixSeconds: the expiry has passed'],
    [
      'an expiry beyond the jump series',
      { expiryUnixSeconds: asOf + 365 * 30 * DAY },
      'expiryUnixSeconds: horizon too long',
    ],
    ['a cap below an upward strike', { payoutCap: 11.9 }, 'payoutCap: an upward range'],
    ['a cap at the strike', { payoutCap: 12.0000001 }, 'payoutCap: an upward range'],
    ['a cap above a downward strike', { strikeAbove: false }, 'payoutCap: a downward range'],
    ['leverage above 100', { strike: 20, payoutCap: 30 }, 'payoutCap: leverage above 100'],
    ['a premium of zero', { strike: 900, payoutCap: 1_000 }, 'payoutCap: leverage above 100'],
    [
      'a strike and cap with more than six decimals',
      { pair: 'IDR/USD', strike: 0.00006, payoutCap: 0.00005, strikeAbove: false },
      'pair: the spot needs more',
    ],
    [
      'a premium above the greatest payout',
      { pair: 'EUR/USD', strike: 0.9, payoutCap: 0.900001 },
      'payoutCap: the premium, 0.000001 of the notional when rounded to millionths, exceeds the greatest payout',
    ],
    ['a payout that rounds to 0', { notional: 0.000007 }, 'notional: the greatest payout rounds to 0'],
    ['a payout of more than 15 digits', { notional: 1e9, strike: 10, payoutCap: 100 }, 'notional: the payout has more'],
  ])('a quote is rejected for %s', async (_, request, reason) => {
    expect(await refusal(request)).toContain(reason)
  })

  const address = `0x${'1'.repeat(40)}`
  test.each([
    ['pair', { pair: 'usd/ghs' }],
    ['pair', { pair: 'GH' }],
    ['strike', { strike: 0 }],
    ['strike', { strike: '12' }],
    ['payoutCap', { payoutCap: -1 }],
    ['payoutCap', { payoutCap: 1.1e9 }],
    ['expiryUnixSeconds', { expiryUnixSeconds: asOf + 0.5 }],
    ['notional', { notional: 0 }],
    ['notional', { notional: 1e-7 }],
    ['strikeAbove', { strikeAbove: 'true' }],
    ['chainId', { chainId: 1, diamondAddress: address, creator: address }],
    ['creator', { chainId: 8453, diamondAddress: address, creator: '0x1' }],
    ['creator', { chainId: 8453, diamondAddress: address }],
    ['chainId,creator', { diamondAddress: address }],
    ['', { extra: 1 }],
  ])('a quote is rejected for a bad %s: %o', (path, fault) => {
    const parsed = QuoteRequest.safeParse({ ...cedi, ...fault })
    expect(parsed.error?.issues.map((issue) => issue.path.join('.')).join()).toBe(path)
  })
})

test('every valid request is priced plausibly or rejected with its field, however extreme', async () => {
  const edge = fc.oneof(
    fc.double({ min: 1e-6, max: 1e9, noNaN: true }),
    fc
      .double({ min: -14, max: 9, noNaN: true })
      .map((log) => 10 ** log)
      .filter((rate) => rate >= 1e-6),
  )
  const requests = fc.record({
    pair: fc.constantFrom('USD/GHS', 'GHS/USD', 'EUR/USD', 'USD/NGN', 'USD/AED', 'EUR/BRL', 'USD/IDR'),
    strike: edge,
    payoutCap: edge,
    notional: edge,
    strikeAbove: fc.boolean(),
    expiryUnixSeconds: fc.oneof(
      fc.integer({ min: asOf + 1, max: asOf + 400 * DAY }),
      fc.constantFrom(asOf + 1, asOf + 100 * 365 * DAY, Number.MAX_SAFE_INTEGER),
    ),
  })
  const near = fc
    .tuple(requests, fc.double({ min: 0.7, max: 1.4, noNaN: true }), fc.integer({ min: 1, max: 1_000_000 }))
    .map(([request, at, width]) => {
      const spot = {
        'USD/GHS': 11.4,
        'GHS/USD': 1 / 11.4,
        'EUR/USD': 1.1,
        'USD/NGN': 1_450,
        'USD/AED': 3.6725,
        'EUR/BRL': 5.94,
        'USD/IDR': 16_000,
      }[request.pair]
      const strike = spot * at
      return { ...request, strike, payoutCap: Math.max(1e-6, strike + ((request.strikeAbove ? 1 : -1) * width) / 1e6) }
    })
  let answered = 0
  await fc.assert(
    fc.asyncProperty(fc.oneof(requests, near), async (request) => {
      const outcome = await quote(request).catch((error: unknown) => error)
      if (outcome instanceof ServiceError) {
        expect([outcome.code, outcome.details?.length]).toEqual(['validation_error', 1])
        return
      }
      if (outcome instanceof Error) throw outcome
      const { premiumUsd, maxPayoutUsd, premiumRateFixed6 } = await Quote.parseAsync(outcome)
      answered += 1
      expect(Number(premiumRateFixed6)).toBeGreaterThan(0)
      expect(maxPayoutUsd).toBeGreaterThan(0)
      expect(premiumUsd).toBeLessThanOrEqual(maxPayoutUsd)
    }),
    { numRuns: 2_000 },
  )
  expect(answered).toBeGreaterThan(50)
})

test('an expiry too far away to discount is rejected with its field, even for a pair without jumps', async () => {
  const calm = await openQuoter()
  const calibration = {
    garch: { alpha: 0.1, beta: 0.8, sigmaLongRun: 0.2 },
    garchFrom: 'fit' as const,
    jumps: { lambda: 0, jumpMean: 0, jumpStd: 0 },
    jumpsFrom: 'fit' as const,
  }
  calm.calibrations.replace([{ pair: 'USD/GHS', source: 'desk', lastClose: '2026-11-20', returns: 300, calibration }])
  const error = await calm.quote({ expiryUnixSeconds: Number.MAX_SAFE_INTEGER }).catch((fault: unknown) => fault)
  expect(error).toMatchObject({ code: 'validation_error', details: [{ path: 'expiryUnixSeconds' }] })
})

test('a pair and its inverse share one calibration', () => {
  const usd = { base: 'USD', quote: 'GHS' }
  const calibration = {
    garch: { alpha: 0.1, beta: 0.8, sigmaLongRun: 0.2 },
    garchFrom: 'fit' as const,
    jumps: { lambda: 1, jumpMean: 0.05, jumpStd: 0.02 },
    jumpsFrom: 'fit' as const,
  }
  calibrations.replace([{ pair: 'USD/GHS', source: 'desk', lastClose: '2026-11-20', returns: 300, calibration }])
  const turned = calibrations.of({ base: 'GHS', quote: 'USD' }, { tier: 'frontierEM', direction: -1 })
  expect(turned).toEqual({
    ...calibration,
    jumps: { ...calibration.jumps, jumpMean: -0.05 },
    lastClose: '2026-11-20',
    version: null,
  })
  expect(market.history(usd)?.closes).toHaveLength(301)
})
