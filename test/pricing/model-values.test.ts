import { describe, expect, test } from 'vitest'
import { createModel, type PairModel } from '../../src/pricing/model.ts'
import { createSpotVolatilities, deriveInputs, type Inputs } from '../../src/pricing/quotes/inputs.ts'
import { createQuoter } from '../../src/pricing/quotes/quote.ts'
import { createValuer } from '../../src/pricing/quotes/values.ts'
import { ewmaVolatility, logReturns } from '../../src/pricing/variance.ts'

/* Which of two similar facts a value, a model and its inputs show, by a market whose facts all differ. */

const history = {
  ...{ source: 'desk', synthetic: false },
  closes: Array.from({ length: 200 }, (_, day) => ({ date: '', close: 11 + Math.sin(day * day) / (1 + day / 20) })),
  last: { date: '2026-11-19', close: 11.1 },
  spot: { date: '2026-11-20', close: 11.4, source: 'feed', synthetic: false },
} as never as PairModel['history']
const parameters = {
  garch: { alpha: 0.07, beta: 0.9, sigmaLongRun: 0.3 },
  ...{ garchFrom: 'sample', jumps: { lambda: 1, jumpMean: 0.1, jumpStd: 0.1 }, jumpsFrom: 'fit' },
} as PairModel['parameters']
const drift = { mu: 0.01, q: 0.02, qEffective: 0.03, localRates: null, missingRate: null, note: '' }
const tier = { floor: 0.05 } as PairModel['tier']
const volatilities = createSpotVolatilities()(history, parameters)
const inputs = deriveInputs({ ...volatilities, parameters, tier, drift, r: 0.04, volMarkup: 1, tradingDays: 63 })
const asOf = 1_800_000_000
const range = {
  ...{ pair: 'USD/GHS', strike: '12000000', payoutCap: '13500000', initialRate: '11400000', strikeAbove: true },
  expiryUnixSeconds: asOf + 1,
}

const valuesBy = async (changed: Partial<PairModel>, ranges = [range]) => {
  const asked: string[] = []
  const model = async (name: string) => {
    asked.push(name)
    const usd = { fallback: true } as PairModel['usd']
    return {
      ...{ history, parameters, tier, drift, usd, stale: true, spot: 11_400_000n },
      inputsFor: () => inputs,
      ...changed,
    } as PairModel
  }
  const answer = await createValuer({ model, now: () => asOf * 1_000 + 999 })({ ranges })
  return { ...answer, asked }
}

test('a value has the date of its spot and the second of its request, and its pair is asked for once', async () => {
  const answer = await valuesBy({}, [range, { ...range, strikeAbove: true, strike: '12100000' }])
  expect(answer).toMatchObject({ asOf, asked: ['USD/GHS'] })
  const shown = { spotDate: '2026-11-20', stale: true, synthetic: false, usdRateFallback: true }
  expect(answer.values).toMatchObject([shown, shown])
})

test.each([
  [{ ...history, synthetic: true }, true],
  [{ ...history, spot: { ...history.spot, synthetic: true } }, true],
  [history, false],
] as const)('a value is of invented rates when its history or its spot is', async (of, synthetic) => {
  expect((await valuesBy({ history: of })).values).toMatchObject([{ synthetic }])
})

test('a range without a finite value, or whose cap is not beyond its strike, cannot be valued', async () => {
  const infinite = { ...inputs, qEffective: -1e12 }
  const refused = [{ reason: 'unsupported_terms' }]
  expect((await valuesBy({ inputsFor: () => infinite })).values).toEqual(refused)
  for (const strikeAbove of [true, false])
    expect((await valuesBy({}, [{ ...range, payoutCap: range.strike, strikeAbove }])).values).toEqual(refused)
})

test('the spot of a pair is that of the feed, and its volatility is of the last 60 returns', async () => {
  const model = createModel({
    market: { history: () => history } as never,
    calibrations: { of: () => parameters } as never,
    usdRate: { read: async () => ({ rate: 0.04, fallback: false }) as never },
    ...{ localRates: {} as never, volMarkups: {}, maxStalenessDays: 4, now: () => asOf * 1_000 },
  })
  const pair = await model('USD/GHS')
  expect([pair?.spot, pair?.inputsFor(0.25)?.jump.from]).toEqual([11_400_000n, 'fit'])
  const closes = history.closes.slice(-61).map(({ close }) => close)
  expect(inputs.sigmaRealizedRaw).toBe(ewmaVolatility(logReturns(closes)))
})

test('the forecast begins without the jumps of the newest returns, where the jumps of the pair are priced by themselves', () => {
  const moves = Array.from({ length: 130 }, (_, day) => (day === 125 ? 0.08 : day % 2 ? 0.004 : -0.004))
  const closes = [1]
  for (const move of moves) closes.push((closes.at(-1) ?? 1) * Math.exp(move))
  const spotVolatilities = createSpotVolatilities()
  const moved = { closes: closes.map((close) => ({ date: '', close })) }
  const found = (jumpsFrom: 'fit' | 'tier') => spotVolatilities(moved, { jumpsFrom })
  const raw = ewmaVolatility(moves)
  expect(raw).toBeGreaterThan(0.2)
  expect(found('tier')).toEqual({ sigmaRealizedRaw: expect.closeTo(raw, 12), sigma0: expect.closeTo(raw, 12) })
  const others = moves.map((move) => (move === 0.08 ? 0.004 * Math.sqrt(Math.PI / 2) : move))
  expect(found('fit')).toEqual({
    sigmaRealizedRaw: expect.closeTo(raw, 12),
    sigma0: expect.closeTo(ewmaVolatility(others), 10),
  })
})

describe('a quote', () => {
  const request = {
    ...{ pair: 'USD/GHS', strike: 12, payoutCap: 13.5, notional: 10_000, strikeAbove: true },
    expiryUnixSeconds: asOf + 90 * 86_400,
  }
  /** A quote of the request with changes, and why it was not signed. */
  const quoted = async (changed: object, model: Partial<PairModel> = {}, isProduction = false) => {
    const priced = {
      ...{ history, parameters, tier, drift: { ...drift, note: 'a note' }, stale: false, spot: 11_400_000n },
      ...{ usd: { fallback: false }, tierName: 'frontier', inputsFor: () => inputs },
      ...model,
    } as never as PairModel
    let why: unknown
    const sign = async (_: unknown, { fault }: { readonly fault: unknown }) => {
      why = fault
      return { attestation: null, details: {} }
    }
    const quote = createQuoter({
      ...{ model: async () => priced, sign: sign as never, maxStalenessDays: 4, isProduction },
      now: () => asOf * 1_000 + 999,
    })
    return { ...(await quote({ ...request, ...changed } as never)), why }
  }

  test('has the dates of its history and its spot, and the second of its request', async () => {
    const { breakdown } = await quoted({})
    expect(breakdown).toMatchObject({
      asOf,
      history: { lastClose: '2026-11-19', closes: 200 },
      spotSource: { date: '2026-11-20', source: 'feed' },
    })
  })

  test('notes invented rates of its history or its spot, and no others', async () => {
    const notesOf = async (model: Partial<PairModel>) => (await quoted({}, model)).breakdown.pairClassification
    expect(await notesOf({})).toMatchObject({ notes: 'a note' })
    for (const invented of [
      { ...history, synthetic: true },
      { ...history, spot: { ...history.spot, synthetic: true } },
    ])
      expect(await notesOf({ history: invented })).toMatchObject({ notes: expect.stringContaining('synthetic rates') })
  })

  test('on a stale history is not signed, also outside production', async () => {
    expect((await quoted({}, { stale: true })).why).toContain('the history ends on 2026-11-19')
    expect((await quoted({})).why).toBe(null)
  })

  const withInputs = (changed: Partial<Inputs>): Partial<PairModel> => ({
    inputsFor: () => ({ ...inputs, ...changed }),
  })

  test.each([
    ['strike', { strike: 0.0012345, payoutCap: 0.0014 }, { spot: 1_200n }],
    ['payoutCap', { strike: 0.0013, payoutCap: 0.0014005 }, { spot: 1_200n }],
    ['payoutCap', { payoutCap: 12 }, {}],
    ['payoutCap', { strikeAbove: false, strike: 12, payoutCap: 12 }, {}],
    // Worth 1.6 times the notional.
    ['strike', { strike: 0.1, payoutCap: 60 }, withInputs({ qEffective: -0.5, sigma: 0.01 })],
    // A payout of 1.05e15 millionths.
    ['notional', { notional: 8e9 }, {}],
    ['notional', { notional: 1e-6 }, {}],
    ['expiryUnixSeconds', { expiryUnixSeconds: asOf }, {}],
    ['expiryUnixSeconds', {}, { inputsFor: () => undefined }],
    ['expiryUnixSeconds', {}, withInputs({ qEffective: -1e12 })],
  ] as const)('is refused by its field %s: %o', async (path, changed, model) => {
    const year = 'strike' in changed && changed.strike === 0.1 ? { expiryUnixSeconds: asOf + 365 * 86_400 } : {}
    await expect(quoted({ ...year, ...changed }, model as never)).rejects.toMatchObject({
      code: 'validation_error',
      details: [{ path }],
    })
  })
})
