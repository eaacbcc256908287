import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pairName } from '../pair.ts'
import { daysBetween, type Source } from './series.ts'

/** Days of closes in a file: more than the three years that estimates use. */
const FILE_DAYS = 1_130

/** The closes of a source as CSV, `pair,date,close`, which the operator's folder of rates accepts. */
const ratesText = ({ series }: Source): string => {
  const newest =
    series
      .flatMap(({ closes }) => closes.map(({ date }) => date))
      .sort()
      .at(-1) ?? ''
  const lines = series.flatMap(({ pair, closes }) =>
    closes
      .filter(({ date }) => daysBetween(date, newest) <= FILE_DAYS)
      .map(({ date, close }) => `${pairName(pair)},${date},${close}`),
  )
  return `pair,date,close\n${lines.join('\n')}\n`
}

/** Writes the closes of a source to `<folder>/<name>.csv`, at once: an engine never reads half of a file. */
export const writeRates = async (source: Source, folder: string): Promise<string> => {
  const path = join(folder, `${source.name}.csv`)
  await writeFile(`${path}.part`, ratesText(source))
  await rename(`${path}.part`, path)
  return path
}
