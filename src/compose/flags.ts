import { invalidField } from '../lib/errors.ts'

/** The options of a command by name. */
export type Flags = Readonly<Record<string, string | boolean | undefined>>

/** Most values of a list. */
const MOST_VALUES = 1_000

/** The text of an option; undefined when it is absent. */
export const textOf = (flags: Flags, name: string): string | undefined => {
  const value = flags[name]
  return typeof value === 'string' ? value : undefined
}

/** The values of a list, separated by commas; null when the option is absent. */
const listOf = (flags: Flags, name: string): string[] | null =>
  textOf(flags, name)
    ?.split(',')
    .map((item) => item.trim()) ?? null

/** A list of which every value passes. Throws `validation_error` naming the option and the first value that does not. */
export const checked = <T>(
  flags: Flags,
  name: string,
  expected: string,
  parse: (text: string) => T | undefined,
): T[] | null => {
  const texts = listOf(flags, name)
  if (texts === null) return null
  if (texts.length > MOST_VALUES) throw invalidField(name, `expected at most ${MOST_VALUES}, got ${texts.length}`)
  return texts.map((text) => {
    const value = parse(text)
    if (value === undefined) throw invalidField(name, `expected ${expected}, got ${JSON.stringify(text)}`)
    return value
  })
}

/** A whole number in digits. */
export const wholeNumber = (text: string): number | undefined => (/^\d{1,15}$/.test(text) ? Number(text) : undefined)
