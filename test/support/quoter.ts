import { pino } from 'pino'
import type { Address } from 'viem'
import { createCalibrations } from '../../src/pricing/calibrations.ts'
import { createChainTimes } from '../../src/pricing/chain-times.ts'
import type { LocalRates } from '../../src/pricing/market/local-rates.ts'
import { createMarket } from '../../src/pricing/market/market.ts'
import type { Close, Source } from '../../src/pricing/market/series.ts'
import { QuoteRequest } from '../../src/pricing/messages.ts'
import { createModel, type ModelOptions } from '../../src/pricing/model.ts'
import { parsePair } from '../../src/pricing/pair.ts'
import { openAttester } from '../../src/pricing/quotes/attest.ts'
import { createQuoter, type QuoterOptions } from '../../src/pricing/quotes/quote.ts'
import { createSign } from '../../src/pricing/quotes/signing.ts'
import { createValuer } from '../../src/pricing/quotes/values.ts'
import { signingTarget } from './engine.ts'

const DAY_MS = 86_400_000

/** A Saturday, noon: the newest close is of the day before. */
export const quotingTime = Date.UTC(2026, 10, 21, 12)

/** The last weekdays before `quotingTime`, oldest first. */
const weekdays = (count: number): string[] => {
  const days: string[] = []
  for (let time = quotingTime - DAY_MS; days.length < count; time -= DAY_MS) {
    const date = new Date(time)
    if (date.getUTCDay() % 6 !== 0) days.unshift(date.toISOString().slice(0, 10))
  }
  return days
}

/**
 * Closes that end at `last`, with exactly this spot volatility, and this log drift a year from the first to the last:
 * moves of one size up and down, after a first one that makes up the rest.
 */
const closesWith = (last: number, volatility: number, drift: number, count = 301): Close[] => {
  const dates = weekdays(count)
  const years = (Date.parse(dates.at(-1) ?? '') - Date.parse(dates[0] ?? '')) / DAY_MS / 365
  const move = Math.exp(volatility / Math.sqrt(252))
  return dates.map((date, i) => {
    if (i === 0) return { date, close: last * Math.exp(-drift * years) }
    return { date, close: (count - 1 - i) % 2 === 0 ? last : last * move }
  })
}

/** The invented rates of the tests, from two sources: one current and one two years old. */
const sources: readonly Source[] = [
  {
    name: 'desk',
    synthetic: false,
    series: [
      ['USD/GHS', closesWith(11.4, 0.11, 0.18)] as const,
      ['USD/NGN', closesWith(1_450, 0.2, 0.8)] as const,
      ['EUR/USD', closesWith(1.1, 0.08, 0)] as const,
      ['USD/JPY', closesWith(150, 0.1, 0)] as const,
      ['USD/BRL', closesWith(5.4, 0.14, 0)] as const,
      ['USD/AED', closesWith(3.6725, 0.001, 0)] as const,
      ['USD/IDR', closesWith(16_000, 0.07, 0)] as const,
      ['USD/PHP', closesWith(58, 0.07, 0)] as const,
      ['USD/PLN', closesWith(3.7, 0.1, 0, 29)] as const,
      ['USD/VES', closesWith(200, 0.1, 0)] as const,
    ].map(([name, closes]) => ({ pair: parsePair(name) ?? { base: '', quote: '' }, closes })),
  },
  {
    name: 'old desk',
    synthetic: false,
    series: [
      {
        pair: { base: 'GBP', quote: 'USD' },
        closes: closesWith(1.27, 0.08, 0).map(({ date, close }) => ({
          date: date.replace(/^\d+/, (y) => `${Number(y) - 2}`),
          close,
        })),
      },
    ],
  },
  {
    name: 'made up',
    synthetic: true,
    series: [{ pair: { base: 'USD', quote: 'KES' }, closes: closesWith(129, 0.12, 0.1) }],
  },
]

const localRates: LocalRates = {
  asOf: '2026-11-01',
  source: 'test',
  rates: { USD: 0.04, EUR: 0.02, JPY: 0.005, GBP: 0.04, BRL: 0.12, AED: 0.041, IDR: 0.06 },
}

/** The quoter on the rates above, USD at 4.25 % and GHS calibrated as in the worked example. */
export const openQuoter = async (
  options: Partial<QuoterOptions & Pick<ModelOptions, 'volMarkups'>> & {
    readonly key?: string
    readonly diamond?: Address
  } = {},
) => {
  const {
    key,
    diamond = signingTarget,
    now = () => quotingTime,
    volMarkups = {},
    maxStalenessDays = 7,
    ...others
  } = options
  const log = pino({ level: 'silent' })
  const market = createMarket({
    feeds: [{ name: 'test', read: async () => sources }],
    now: () => quotingTime,
    log,
  })
  await market.refresh()
  const calibrations = createCalibrations()
  calibrations.replace([
    {
      pair: 'USD/GHS',
      source: 'desk',
      lastClose: '2026-11-20',
      returns: 300,
      calibration: {
        garch: { alpha: 0.12, beta: 0.83, sigmaLongRun: 0.17 },
        garchFrom: 'fit',
        jumps: { lambda: 0.75, jumpMean: 0.1, jumpStd: 0.1 },
        jumpsFrom: 'fit',
      },
    },
  ])
  const usd = { rate: 0.0425, recordDate: '2026-11-19', fetchedAt: quotingTime, fallback: false }
  const headTime = async (): Promise<bigint> => BigInt(Math.floor(now() / 1_000))
  const chainTimes = createChainTimes({ deployments: [{ chainId: 8453, diamond, headTime }], now, log })
  const model = createModel({
    ...{ market, calibrations, localRates, volMarkups, maxStalenessDays, now },
    usdRate: { read: async () => usd },
  })
  const quote = createQuoter({
    model,
    maxStalenessDays,
    isProduction: false,
    sign: createSign({ attester: openAttester({ key, isProduction: false }), chainTimes }),
    now,
    ...others,
  })
  return {
    market,
    calibrations,
    values: createValuer({ model, now }),
    async quote(request: object) {
      await chainTimes.readNewestBlocks()
      return quote(QuoteRequest.parse({ ...cedi, ...request }))
    },
  }
}

/** The worked example: USD/GHS 11.40, 12.00 to 13.50, 90 days. */
export const cedi = {
  pair: 'USD/GHS',
  strike: 12,
  payoutCap: 13.5,
  expiryUnixSeconds: quotingTime / 1000 + 90 * 86_400,
  notional: 10_000,
  strikeAbove: true,
}
