import { pageOf } from './page.ts'
import { draw } from './pictures.ts'
import type { Results } from './results.ts'

/** JSON with an entry a line, so that a change of a figure is a change of a line. */
const linesOf = (fields: Readonly<Record<string, unknown>>): string => {
  const written = Object.entries(fields).map(([name, value]) => {
    const text = Array.isArray(value)
      ? `[\n${value.map((entry) => JSON.stringify(entry)).join(',\n')}\n]`
      : JSON.stringify(value)
    return `${JSON.stringify(name)}: ${text}`
  })
  return `{\n${written.join(',\n')}\n}\n`
}

/** The files of the study by name. */
export const filesOf = (results: Results): Readonly<Record<string, string>> => {
  const { about, tiers, pairs } = results
  return {
    'README.md': pageOf(results),
    'tiers.json': linesOf({ about, tiers }),
    'pairs.json': linesOf({ about, pairs }),
    ...draw(results),
  }
}
