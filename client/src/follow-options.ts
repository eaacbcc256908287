import { optionError } from './errors.ts'

/** The options of a feed: those that are lists, and all others. */
export type Known<Options> = Readonly<Record<keyof Options, 'list' | 'value'>>

/** The options of every feed. */
export const feedOptions = { signal: 'value', onMode: 'value', onFailure: 'value' } as const

const suggestion = (name: string, known: readonly string[]): string => {
  const near = name === 'cursor' ? 'since' : known.find((it) => it.startsWith(name) || name.startsWith(it))
  return near === undefined ? `expected one of ${known.join(', ')}` : `did you mean '${near}'?`
}

/**
 * Throws for an option that does not exist, and for a value in place of a list. TypeScript refuses both. In JavaScript,
 * an ignored filter would let every item through.
 */
export const checkOptions = <Options extends object>(feed: string, options: Options, known: Known<Options>): void => {
  const kinds: Readonly<Record<string, string | undefined>> = known
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue
    if (kinds[name] === undefined)
      throw optionError(`${feed}: unknown option '${name}'; ${suggestion(name, Object.keys(kinds))}`)
    if (kinds[name] === 'list' && !Array.isArray(value))
      throw optionError(`${feed}: '${name}' must be a list, as in \`${name}: [${JSON.stringify(value)}]\``)
  }
}
