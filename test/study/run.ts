import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { FIRST_YEAR } from '../../src/pricing/backtest/past.ts'
import { embeddedOf } from './embedded.ts'
import { filesOf } from './files.ts'
import { HORIZONS, PAIRS } from './grid.ts'
import { runStudy } from './study.ts'

/*
 * What the engine would have asked for protection in the past, and what it would have paid:
 *
 *   npm run study
 *   npm run study -- --pairs USD/JPY,EUR/JPY --horizons 30,90 --from 2005 --to 2010 --out FOLDER
 *
 * Writes the page, the pictures and the figures to docs/study, and the figures that quotes name to src/pricing. A part of
 * the study needs another folder.
 */

const { values } = parseArgs({
  options: {
    pairs: { type: 'string' },
    horizons: { type: 'string' },
    from: { type: 'string' },
    to: { type: 'string' },
    out: { type: 'string' },
  },
})

const listOf = <T>(name: string, text: string | undefined, known: readonly T[]): readonly T[] => {
  if (text === undefined) return known
  return text.split(',').map((each) => {
    const found = known.find((one) => String(one) === each)
    if (found === undefined) throw new Error(`--${name}: ${each} is not one of ${known.join(', ')}`)
    return found
  })
}

const yearOf = (name: string, text: string | undefined, otherwise: number): number => {
  const year = Number(text ?? otherwise)
  if (!Number.isInteger(year)) throw new Error(`--${name}: ${text} is not a year`)
  return year
}

const { out } = values
const isPart = [values.pairs, values.horizons, values.from, values.to].some((value) => value !== undefined)
if (isPart && out === undefined) throw new Error('a part of the study needs --out FOLDER: docs/study has all of it')

const scope = {
  pairs: listOf(
    'pairs',
    values.pairs,
    PAIRS.map(({ name }) => name),
  ),
  horizons: listOf('horizons', values.horizons, HORIZONS),
  firstYear: yearOf('from', values.from, FIRST_YEAR),
  lastYear: yearOf('to', values.to, 9_999),
}

const start = performance.now()
const results = await runStudy(scope, (done, of, date) => {
  if (done % 12 !== 0 && done !== of) return
  const left = ((performance.now() - start) / done) * (of - done)
  console.error(`${date}: ${done} of ${of} dates, about ${Math.ceil(left / 60_000)} min left`)
})

const folder = out ?? 'docs/study'
await mkdir(folder, { recursive: true })
for (const [name, text] of Object.entries(filesOf(results))) await writeFile(join(folder, name), text)
if (out === undefined) await writeFile('src/pricing/study.generated.ts', embeddedOf(results))
console.error(`written to ${folder}`)
