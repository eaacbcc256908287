import { clip } from '../../lib/errors.ts'
import { parsePair } from '../pair.ts'
import { type Close, dayOf, type Series } from './series.ts'

/** The daily rates of the Federal Reserve's H.10 release by their FRED series; some are quoted in dollars. */
export const fredSeries: Readonly<Record<string, string>> = {
  DEXUSEU: 'EUR/USD',
  DEXUSUK: 'GBP/USD',
  DEXUSAL: 'AUD/USD',
  DEXUSNZ: 'NZD/USD',
  DEXJPUS: 'USD/JPY',
  DEXCAUS: 'USD/CAD',
  DEXSZUS: 'USD/CHF',
  DEXSDUS: 'USD/SEK',
  DEXNOUS: 'USD/NOK',
  DEXDNUS: 'USD/DKK',
  DEXSIUS: 'USD/SGD',
  DEXBZUS: 'USD/BRL',
  DEXMXUS: 'USD/MXN',
  DEXSFUS: 'USD/ZAR',
  DEXINUS: 'USD/INR',
  DEXCHUS: 'USD/CNY',
  DEXKOUS: 'USD/KRW',
  DEXTAUS: 'USD/TWD',
  DEXTHUS: 'USD/THB',
  DEXMAUS: 'USD/MYR',
  DEXSLUS: 'USD/LKR',
  DEXHKUS: 'USD/HKD',
}

/** Maximum size of a file in bytes: the longest published history is a tenth of this. */
export const MAX_BYTES = 32 * 2 ** 20

/**
 * Maximum size of a FRED file with one series in bytes: all days since 1971 take half of this. 22 of them take up to
 * 150 MB and two seconds.
 */
export const MAX_FRED_BYTES = 2 ** 19

/** Maximum lines of a file: daily rates of 40 pairs over 25 years, one a line, are 260,000 lines. */
const MAX_LINES = 300_000

/** Maximum columns of a file: there are fewer currencies. */
const MAX_COLUMNS = 200

/**
 * Maximum cells of a file. This many take up to 200 MB and one second; the history of the European Central Bank has
 * 300,000.
 */
const MAX_CELLS = 2_000_000

/** Maximum characters of a file that an error message repeats. */
const MAX_QUOTED = 80

const quoted = (text: string | undefined): string => JSON.stringify(text === undefined ? '' : clip(text, MAX_QUOTED))

type Sheet = {
  readonly header: readonly string[]
  readonly rows: readonly (readonly string[])[]
  readonly name: string
  /** The dates that were checked: each column has those of all rows. */
  readonly days: Set<string>
}

const sheetOf = (text: string, name: string): Sheet => {
  const refuse = (most: number, what: string): never => {
    throw new Error(`${name}: more than ${most} ${what}, the limit: remove older rates or split the file`)
  }
  // One line above the limit proves that there are too many, without splitting the rest.
  const lines = text.split(/\r?\n/, MAX_LINES + 1)
  if (lines.length > MAX_LINES) refuse(MAX_LINES, 'lines')
  let cells = 0
  const [header = [], ...rows] = lines
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const row = line.split(',', MAX_COLUMNS + 1)
      cells += row.length
      if (row.length > MAX_COLUMNS) refuse(MAX_COLUMNS, 'columns')
      if (cells > MAX_CELLS) refuse(MAX_CELLS, 'cells')
      // `trim` also removes a byte order mark.
      return row.map((cell) => cell.trim())
    })
  return { header, rows, name, days: new Set() }
}

const DATE = /^\d{4}-\d{2}-\d{2}$/
const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/
/** Cells that publishers write where there is no rate. */
const missing = new Set(['', '.', 'N/A', 'ND'])

/** False for a day that no month has, such as 2026-02-31. */
const isDay = (text: string): boolean => {
  const time = DATE.test(text) ? Date.parse(text) : Number.NaN
  return !Number.isNaN(time) && dayOf(time) === text
}

const dateIn = (cell: string | undefined, { name, days }: Sheet): string => {
  if (cell !== undefined && days.has(cell)) return cell
  if (cell === undefined || !isDay(cell)) throw new Error(`${name}: ${quoted(cell)} is not a date YYYY-MM-DD`)
  days.add(cell)
  return cell
}

/** The number in a cell; undefined for a cell without a rate. */
const numberIn = (cell: string | undefined, { name }: Sheet): number | undefined => {
  if (cell === undefined || missing.has(cell)) return undefined
  if (!NUMBER.test(cell)) throw new Error(`${name}: ${quoted(cell)} is not a number`)
  return Number(cell)
}

const seriesOf = (pairText: string, closes: readonly Close[], name: string): Series => {
  const pair = parsePair(pairText)
  if (pair === undefined) throw new Error(`${name}: ${quoted(pairText)} is not a pair BASE/QUOTE`)
  return { pair, closes }
}

const column = (sheet: Sheet, index: number): Close[] =>
  sheet.rows.flatMap((row) => {
    const close = numberIn(row[index], sheet)
    return close === undefined ? [] : [{ date: dateIn(row[0], sheet), close }]
  })

/** FRED: `observation_date,DEXUSEU,…`, one column or several. */
const fred = (sheet: Sheet): Series[] =>
  sheet.header.flatMap((id, index) => {
    const pair = fredSeries[id]
    return pair === undefined ? [] : [seriesOf(pair, column(sheet, index), sheet.name)]
  })

/**
 * ECB reference rates: `Date,USD,JPY,…`, units per euro. Pairs without the euro are converted to dollars with the same
 * day's fixing.
 */
const ecb = (sheet: Sheet): Series[] => {
  const euros = column(sheet, sheet.header.indexOf('USD'))
  const perEuro = new Map(euros.map(({ date, close }) => [date, close]))
  const others = sheet.header.flatMap((code, index) => {
    if (!/^[A-Z]{3}$/.test(code) || code === 'USD') return []
    const closes = column(sheet, index).flatMap(({ date, close }) => {
      const dollars = perEuro.get(date)
      return dollars === undefined ? [] : [{ date, close: close / dollars }]
    })
    return [seriesOf(`USD/${code}`, closes, sheet.name)]
  })
  return [seriesOf('EUR/USD', euros, sheet.name), ...others]
}

/** `date,close` of the pair that the file is named after: `USD-GHS.csv`. */
const plain = (sheet: Sheet): Series[] => {
  const [, base, quote] = /^([A-Z]{3})[-_]?([A-Z]{3})(?![A-Za-z])/.exec(sheet.name) ?? []
  return [seriesOf(`${base}/${quote}`, column(sheet, 1), sheet.name)]
}

/** `pair,date,close`, any number of pairs. */
const mixed = (sheet: Sheet): Series[] => {
  const rowsOf = new Map<string, (readonly string[])[]>()
  for (const [pair = '', ...row] of sheet.rows) {
    const rows = rowsOf.get(pair)
    if (rows === undefined) rowsOf.set(pair, [row])
    else rows.push(row)
  }
  return [...rowsOf].map(([pair, rows]) => seriesOf(pair, column({ ...sheet, rows }, 1), sheet.name))
}

const formats: readonly { readonly header: RegExp; readonly parse: (sheet: Sheet) => Series[] }[] = [
  { header: /^(observation_date|DATE),DEX/, parse: fred },
  { header: /^Date,(.*,)?USD,/, parse: ecb },
  { header: /^date,close$/, parse: plain },
  { header: /^pair,date,close$/, parse: mixed },
]

/**
 * The series in a CSV file of any known format; the first line identifies the format. Throws an Error that names the
 * file and the fault. A file with a fault is rejected as a whole.
 */
export const parseSeries = (text: string, name: string): Series[] => {
  const sheet = sheetOf(text, name)
  const format = formats.find(({ header }) => header.test(sheet.header.join(',')))
  if (format === undefined) throw new Error(`${name}: no known format begins with ${quoted(sheet.header.join(','))}`)
  return format.parse(sheet)
}

/** The rates of a pair in the column `id` of a FRED file; other columns are ignored. Throws as `parseSeries` does. */
export const parseFredSeries = (text: string, name: string, id: string, pair: string): Series => {
  const sheet = sheetOf(text, name)
  const index = sheet.header.indexOf(id)
  if (index < 1) throw new Error(`${name}: expected a column ${id}, got ${quoted(sheet.header.join(','))}`)
  return seriesOf(pair, column(sheet, index), name)
}

/**
 * The newest observation up to `today` (YYYY-MM-DD) of a FRED file with one series. Throws the errors of `parseSeries`,
 * and an Error when there is no observation.
 */
export const parseLastObservation = (
  text: string,
  name: string,
  today: string,
): { readonly date: string; readonly value: number } => {
  const sheet = sheetOf(text, name)
  const newest = column(sheet, 1).reduce<Close | undefined>(
    (a, b) => (b.date <= today && (a === undefined || b.date > a.date) ? b : a),
    undefined,
  )
  if (newest === undefined || sheet.header.length !== 2)
    throw new Error(`${name}: expected a single series with at least one observation up to today`)
  return { date: newest.date, value: newest.close }
}
