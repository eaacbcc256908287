import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pairName } from '../pair.ts'
import { parseSeries } from './formats.ts'
import { dayOf, hasEnoughCloses, type Source, usableCloses } from './series.ts'

/** The closes that estimates would use, by pair. */
const usable = ({ series }: Pick<Source, 'series'>, today: string) =>
  new Map(series.map(({ pair, closes }) => [pairName(pair), usableCloses(closes, today)]))

/** The file of that path as it is; without series where there is none, or none that can be read. */
const seriesIn = async (path: string): Promise<Pick<Source, 'series'>> => {
  try {
    return { series: parseSeries(await readFile(path, 'utf8'), path) }
  } catch {
    return { series: [] }
  }
}

/**
 * Writes the closes of a source that estimates use to `<folder>/<name>.csv` as `pair,date,close`, which the operator's
 * folder of rates accepts, at once: an engine never reads half of a file. Throws, and leaves the file as it is, when a
 * pair that has rates in it would have none, or older ones, and when no pair has enough.
 */
export const writeRates = async (source: Source, folder: string, now: number): Promise<string> => {
  const path = join(folder, `${source.name}.csv`)
  const found = usable(source, dayOf(now))
  if (![...found.values()].some(hasEnoughCloses)) throw new Error('no pair has 30 closes in 90 days')
  const worse = [...usable(await seriesIn(path), dayOf(now))]
    .filter(([pair, closes]) => (closes.at(-1)?.date ?? '') > (found.get(pair)?.at(-1)?.date ?? ''))
    .map(([pair]) => pair)
  if (worse.length > 0)
    throw new Error(
      `${path} has newer rates of ${worse.join(', ')} and stays as it is: remove it to replace it all the same`,
    )
  const lines = [...found].flatMap(([pair, closes]) => closes.map(({ date, close }) => `${pair},${date},${close}`))
  await writeFile(`${path}.part`, `pair,date,close\n${lines.join('\n')}\n`)
  await rename(`${path}.part`, path)
  return path
}
