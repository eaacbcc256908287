import { pino } from 'pino'
import { describe, expect, it, vi } from 'vitest'
import {
  CALIBRATION_MODEL,
  createCalibrator,
  createSetReader,
  fittingPairs,
} from '../../src/pricing/calibration-sets.ts'
import { type CalibratedPair, calibrateMarket, createCalibrations } from '../../src/pricing/calibrations.ts'
import type { History, Market } from '../../src/pricing/market/market.ts'
import { type Pair, pairName, parsePair } from '../../src/pricing/pair.ts'
import { classify, tiers } from '../../src/pricing/tiers.ts'

const pairOf = (name: string): Pair => parsePair(name) ?? { base: '', quote: '' }
const classOf = (name: string) => classify(pairOf(name)) ?? { tier: 'developed' as const, direction: 0 as const }

/** A history of 130 closes up to a day, with a spot that is a day newer. */
const historyOf = (pair: Pair, { source = 'desk', until = '2026-11-20', scale = 1 } = {}): History => {
  const closes = Array.from({ length: 130 }, (_, i) => ({
    date: new Date(Date.parse(until) - (129 - i) * 86_400_000).toISOString().slice(0, 10),
    close: scale * (10 + (i % 3) / 100),
  }))
  const last = closes[129] ?? { date: until, close: 10 }
  const spot = { date: '2026-11-21', close: last.close, source: 'newer', synthetic: false }
  return { pair, source, synthetic: false, closes, last, spot }
}

/** A market of these histories. */
const marketOf = (histories: readonly History[]): Market => ({
  history: (pair) => histories.find((each) => pairName(each.pair) === pairName(pair)),
  pairs: () => histories.map(({ pair }) => pair),
  refresh: async () => true,
})

const ghs = historyOf(pairOf('USD/GHS'))
const ngn = historyOf(pairOf('USD/NGN'))
const aed = historyOf(pairOf('USD/AED'))

const listen = () => {
  const lines: string[] = []
  return { lines, log: pino({ level: 'info' }, { write: (line) => void lines.push(line) }) }
}

describe('the calibration of a market', () => {
  it('covers every pair that is neither pegged nor known, with the day of its own last close', async () => {
    const all = await calibrateMarket(marketOf([ghs, ngn, aed]))
    expect(all.map(({ pair, lastClose, returns }) => [pair, lastClose, returns])).toEqual([
      ['USD/GHS', '2026-11-20', 129],
      ['USD/NGN', '2026-11-20', 129],
    ])
    const rest = await calibrateMarket(marketOf([ghs, ngn]), all.slice(0, 1))
    expect(rest).toEqual(all.slice(1))
  })

  it('uses the jumps of the tier in the direction of the pair', async () => {
    const [direct, inverted] = await calibrateMarket(marketOf([ghs, historyOf(pairOf('GHS/USD'))]))
    const { jumpMean } = tiers.frontierEM.jumps
    expect([direct?.calibration.jumps.jumpMean, inverted?.calibration.jumps.jumpMean]).toEqual([jumpMean, -jumpMean])
  })

  it('ends at an abort', async () => {
    const stop = new AbortController()
    stop.abort(new Error('stopping'))
    await expect(calibrateMarket(marketOf([ghs]), [], stop.signal)).rejects.toThrow('stopping')
  })
})

const calibrated = (pair: string, lastClose = '2026-11-20', jumpMean = 0.1, source = 'desk'): CalibratedPair => ({
  ...{ pair, source, lastClose, returns: 129 },
  calibration: {
    ...{ garch: { alpha: 0.1, beta: 0.8, sigmaLongRun: 0.2 }, garchFrom: 'fit', jumpsFrom: 'fit' },
    jumps: { lambda: 1, jumpMean, jumpStd: 0.1 },
  },
})

describe('the calibrations in use', () => {
  it('are those of this process before stored ones, and only stored ones have a version', () => {
    const calibrations = createCalibrations()
    const stored = { version: 7, pairs: [calibrated('USD/GHS', '2026-11-18'), calibrated('USD/NGN', '2026-11-18')] }
    calibrations.replace([calibrated('USD/GHS')], stored)
    const of = (name: string) => calibrations.of(pairOf(name), classOf(name))
    expect(of('USD/GHS')).toMatchObject({ lastClose: '2026-11-20', version: null })
    expect(of('USD/NGN')).toMatchObject({ lastClose: '2026-11-18', version: 7 })
    expect(of('USD/KES')).toMatchObject({ garchFrom: 'tier', jumpsFrom: 'tier', lastClose: null, version: null })
    expect(of('KES/USD').jumps.jumpMean).toBe(-tiers.frontierEM.jumps.jumpMean)
    calibrations.replace([])
    expect(of('USD/NGN')).toMatchObject({ garchFrom: 'tier', version: null })
  })

  it('price the inverse of a pair with the jumps turned round, and a mean of 0 keeps its sign', () => {
    const calibrations = createCalibrations()
    calibrations.replace([calibrated('USD/GHS'), calibrated('EUR/USD', '2026-11-20', 0)])
    expect(calibrations.of(pairOf('GHS/USD'), classOf('GHS/USD')).jumps.jumpMean).toBe(-0.1)
    expect(calibrations.of(pairOf('USD/EUR'), classOf('USD/EUR')).jumps.jumpMean).toBe(0)
  })
})

describe('the pairs of a stored set that fit a market', () => {
  it.each([
    ['2026-11-13', 'desk', 1],
    ['2026-11-12', 'desk', 0],
    ['2026-11-27', 'desk', 1],
    ['2026-11-28', 'desk', 0],
    ['2026-11-20', 'another', 0],
  ])('a pair of the closes to %s of the source %s', (lastClose, source, count) => {
    const set = { version: 1, pairs: [calibrated('USD/GHS', lastClose, 0.1, source)] }
    expect(fittingPairs(set, marketOf([ghs]))).toHaveLength(count)
  })
})

describe('the reader of stored sets', () => {
  it('parses a set once, takes each newer one, and warns of each row of failures once', async () => {
    const { lines, log } = listen()
    const find = vi.fn(async (): Promise<{ version: number; pairs: unknown } | null> => null)
    const read = createSetReader({ find, log })
    expect(await read()).toBeNull()
    find.mockResolvedValue({ version: 1, pairs: [calibrated('USD/GHS')] })
    const first = await read()
    expect(first).toEqual({ version: 1, pairs: [calibrated('USD/GHS')] })
    expect(await read()).toBe(first)
    find.mockResolvedValueOnce({ version: 2, pairs: 'malformed' })
    expect(await read()).toBe(first)
    find.mockRejectedValueOnce(new Error('no database'))
    expect(await read()).toBe(first)
    expect(lines).toHaveLength(1)
    find.mockResolvedValue({ version: 2, pairs: [] })
    expect(await read()).toEqual({ version: 2, pairs: [] })
    find.mockRejectedValueOnce(new Error('no database'))
    await read()
    expect(lines).toHaveLength(2)
    expect(find).toHaveBeenCalledWith(CALIBRATION_MODEL)
  })
})

describe('the scheduled calibration', () => {
  const run = async (market: Market, stored: readonly CalibratedPair[] | null, version: number | null = 5) => {
    const { lines, log } = listen()
    const append = vi.fn(async (_model: number, _pairs: readonly CalibratedPair[]) => version)
    const find = async () => (stored === null ? null : { version: 4, pairs: stored })
    await createCalibrator({ market, find, append, log })()
    return { lines, appended: append.mock.calls.map(([, pairs]) => pairs) }
  }

  it('keeps the pairs whose closes are those of the newest set, and calibrates the others', async () => {
    const before = await calibrateMarket(marketOf([ghs, ngn]))
    const corrected = historyOf(pairOf('USD/NGN'), { scale: 2 })
    const { appended, lines } = await run(marketOf([ghs, corrected]), before)
    const renewed = await calibrateMarket(marketOf([corrected]))
    expect(appended).toEqual([[before[0], ...renewed]])
    expect(renewed).not.toEqual(before.slice(1))
    expect(lines).toHaveLength(1)
  })

  it('calibrates a pair again whose source is another one', async () => {
    const before = await calibrateMarket(marketOf([ghs]))
    const { appended } = await run(marketOf([historyOf(pairOf('USD/GHS'), { source: 'another' })]), before)
    expect(appended).toMatchObject([[{ pair: 'USD/GHS', source: 'another' }]])
  })

  it('keeps the parameters of a pair with the same closes, and stores nothing when no pair has new closes', async () => {
    const [fresh] = await calibrateMarket(marketOf([ghs]))
    if (fresh === undefined) throw new Error('not calibrated')
    const { jumps, ...others } = fresh.calibration
    const kept = { ...fresh, calibration: { ...others, jumps: { ...jumps, lambda: 3 } } }
    expect((await run(marketOf([ghs]), [kept])).appended).toEqual([])
    expect((await run(marketOf([ghs, ngn]), [kept])).appended).toMatchObject([[kept, { pair: 'USD/NGN' }]])
  })

  it('logs nothing when the newest set has the same content', async () => {
    expect((await run(marketOf([ghs]), null, null)).lines).toEqual([])
  })

  it('stores nothing after an abort between two pairs', async () => {
    const stop = new AbortController()
    const append = vi.fn(async () => 1)
    const market: Market = {
      ...marketOf([ghs, ngn]),
      history(pair) {
        stop.abort(new Error('stopping'))
        return marketOf([ghs, ngn]).history(pair)
      },
    }
    const { log } = listen()
    const calibrate = createCalibrator({ market, find: async () => null, append, log })
    await expect(calibrate(stop.signal)).rejects.toThrow('stopping')
    expect(append).not.toHaveBeenCalled()
  })
})

describe('a cross', () => {
  const [cross, other] = ['EUR/MXN', 'MXN/EUR'].map((name) => historyOf(pairOf(name), { scale: 2 }))

  it('of an emerging currency is calibrated on its history, and a history only once', () => {
    const calibrations = createCalibrations()
    const found = calibrations.of(pairOf('EUR/MXN'), classOf('EUR/MXN'), cross)
    expect(found).toMatchObject({ garchFrom: 'sample', lastClose: '2026-11-20', version: null })
    expect(calibrations.of(pairOf('EUR/MXN'), classOf('EUR/MXN'), cross)).toBe(found)
    const newer = historyOf(pairOf('EUR/MXN'), { scale: 2, until: '2026-11-21' })
    expect(calibrations.of(pairOf('EUR/MXN'), classOf('EUR/MXN'), newer).lastClose).toBe('2026-11-21')
    expect(calibrations.of(pairOf('MXN/EUR'), classOf('MXN/EUR'), other).garch).toEqual(found.garch)
  })

  it.each([
    ['EUR/DKK', 'pegged'],
    ['EUR/JPY', 'developed'],
  ] as const)('%s has the parameters of its tier, %s', (name, tier) => {
    const { garch } = tiers[tier]
    const found = createCalibrations().of(pairOf(name), classOf(name), historyOf(pairOf(name)))
    expect(found).toMatchObject({ garchFrom: 'tier', garch, lastClose: null })
  })
})
