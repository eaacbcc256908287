import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { FIRST_YEAR } from '../../src/pricing/backtest/past.ts'
import { openEngine } from '../../src/pricing/engine.ts'
import { QuoteRequest } from '../../src/pricing/messages.ts'
import { engineOptions } from '../support/engine.ts'
import { byForm } from '../support/repetitions.ts'
import { embeddedOf } from './embedded.ts'
import { filesOf } from './files.ts'
import { DIRECTIONS, STRIKES, WIDTHS } from './grid.ts'
import { openStudy } from './observe.ts'
import { type Recomputed, recompute, recomputed } from './recompute.ts'
import type { PairResult, Results } from './results.ts'
import { runStudy } from './study.ts'

const read = (name: string) => readFileSync(`docs/study/${name}`, 'utf8')
const { about, pairs }: Pick<Results, 'about' | 'pairs'> = JSON.parse(read('pairs.json'))
const { tiers }: Pick<Results, 'tiers'> = JSON.parse(read('tiers.json'))

const keyOf = ({ rates, pair, horizon }: PairResult): string => `${rates} ${pair} ${horizon}`

/** Figures have five digits. */
const ROUNDED = 5e-5

/** Pairs whose likeliest variances are searched again take most of the time. */
const isRecomputed = (pair: string): boolean =>
  recomputed[pair]?.isFitted === false || byForm(false, pair in recomputed)

test(`${byForm('64', '112')} cells equal what plain formulas give from the closes`, () => {
  const found: Recomputed = { sums: new Map(), pits: new Map() }
  const cells = pairs.filter(({ pair }) => isRecomputed(pair))
  for (const pair of new Set(cells.map((cell) => cell.pair))) recompute(pair, found)
  expect([...found.pits.keys()].sort()).toEqual(cells.map(keyOf).sort())
  expect(found.sums.size).toBe(byForm(64, 112))

  const faults: string[] = []
  const compare = (cell: string, name: string, stored: number | null, own: number, tolerance: number): void => {
    const isNear = stored !== null && Math.abs(stored - own) <= tolerance * Math.abs(own)
    if (!isNear) faults.push(`${cell}: ${name} is ${stored}, recomputed ${own}`)
  }
  for (const cell of cells) {
    // Another search for the likeliest variance ends a little elsewhere, which can make a quote of a refusal.
    const fitted = recomputed[cell.pair]?.isFitted ? 3e-3 : 0
    const discount = Math.exp((-0.044 * cell.horizon) / 365)
    for (const direction of ['upward', 'downward'] as const) {
      const key = `${keyOf(cell)} ${direction}`
      const own = found.sums.get(key)
      if (own === undefined) throw new Error(`no cell ${key}`)
      const stored = cell[direction]
      compare(key, 'dates', stored.dates, own.dates, 0)
      for (const name of ['quotes', 'refused', 'payouts'] as const) compare(key, name, stored[name], own[name], fitted)
      compare(key, 'premiums', stored.premiums, own.premiums, fitted + 1e-7)
      compare(key, 'ratio', stored.ratio, (own.payouts * discount) / own.premiums, fitted + ROUNDED)
      compare(key, 'paid', stored.paid, own.paid / own.quotes, fitted + ROUNDED)
      compare(key, 'chance', stored.chance, own.chance / own.quotes, fitted + ROUNDED)
    }
    const pits = found.pits.get(keyOf(cell)) ?? []
    const distances = Array.from({ length: 19 }, (_, index) => (index + 1) / 20).map((level) =>
      Math.abs(pits.filter((pit) => pit <= level).length / pits.length - level),
    )
    compare(keyOf(cell), 'PIT', cell.pit.statistic, Math.max(...distances), 10 * fitted + ROUNDED)
  }
  expect(faults).toEqual([])
})

test('a run for one pair and horizon gives the stored figures', async () => {
  // The test of backtests compares the sums of EUR/USD.
  const scope = { pairs: [byForm('USD/HKD', 'EUR/USD')], horizons: [90], firstYear: FIRST_YEAR, lastYear: 2024 }
  const again = await runStudy(scope)
  const isInScope = ({ pair, horizon }: PairResult): boolean => scope.pairs.includes(pair) && horizon === 90
  expect(JSON.parse(JSON.stringify(again.pairs))).toEqual(pairs.filter(isInScope))
})

test('an engine on the same day quotes the premiums of the study, and refuses the ranges that the study leaves out', async () => {
  const date = '2024-08-30'
  const horizon = 90
  const names = ['USD/JPY', 'USD/LKR', 'EUR/GBP']
  const observations = await (await openStudy()).observe(date, names, [horizon])
  const engine = await openEngine({
    ...engineOptions,
    key: undefined,
    synthetic: false,
    now: () => Date.parse(date),
    log: pino({ level: 'silent' }),
  })
  const expiryUnixSeconds = Date.parse(date) / 1_000 + horizon * 86_400
  const quote = async (pair: string, strike: number, payoutCap: number): Promise<number | string> => {
    const terms = { pair, strike, payoutCap, strikeAbove: payoutCap > strike, notional: 1_000, expiryUnixSeconds }
    return engine.quote(QuoteRequest.parse(terms)).then(
      ({ premiumRateFixed6 }) => Number(premiumRateFixed6),
      ({ message }: Error) => message.split(':')[0] ?? '',
    )
  }
  for (const { pair, spot, ranges } of observations.filter(({ rates }) => rates === 'shipped')) {
    for (const direction of DIRECTIONS) {
      const sign = direction === 'upward' ? 1 : -1
      const quotes = STRIKES.flatMap((strike) =>
        WIDTHS.map((width) => quote(pair, spot * (1 + sign * strike), spot * (1 + sign * (strike + width)))),
      )
      const premiums = ranges[direction].map(({ quotes: count, premiums: sum }) =>
        count === 0 ? 'leverage above 100' : sum / 1_000,
      )
      expect([pair, direction, await Promise.all(quotes)]).toEqual([pair, direction, premiums])
    }
  }
  expect(observations).toHaveLength(6)
})

test('the page, the pictures, the files and the figures that quotes name follow from the stored figures', () => {
  for (const [name, text] of Object.entries(filesOf({ about, pairs, tiers })))
    expect([name, read(name)]).toEqual([name, text])
  expect(readFileSync('src/pricing/study.generated.ts', 'utf8')).toBe(embeddedOf({ about, tiers }))
})
