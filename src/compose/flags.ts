import { z } from 'zod'
import { invalidField } from '../lib/errors.ts'

/** The options of a command by name. */
export type Flags = Readonly<Record<string, string | boolean | undefined>>

/** Most values of a list. */
const MOST_VALUES = 1_000

const CONTROL = /\p{Cc}/u

/** Throws `validation_error` for a text with control characters, which no option or operand may have. */
export const plainText = (name: string, text: string): string => {
  if (CONTROL.test(text))
    throw invalidField(name, `expected text without control characters, got ${JSON.stringify(text)}`)
  return text
}

/** The text of an option; undefined when it is absent. Throws `validation_error` for one with control characters. */
export const textOf = (flags: Flags, name: string): string | undefined => {
  const value = flags[name]
  return typeof value === 'string' ? plainText(name, value) : undefined
}

/** The values of a list, separated by commas; null when the option is absent. */
const listOf = (flags: Flags, name: string): string[] | null =>
  textOf(flags, name)
    ?.split(',')
    .map((item) => item.trim()) ?? null

/**
 * The different values of a list of which every value passes. Throws `validation_error` naming the option and the first
 * value that does not.
 */
export const checked = <T>(
  flags: Flags,
  name: string,
  expected: string,
  parse: (text: string) => T | undefined,
): T[] | null => {
  const texts = listOf(flags, name)
  if (texts === null) return null
  if (texts.length > MOST_VALUES) throw invalidField(name, `expected at most ${MOST_VALUES}, got ${texts.length}`)
  const values = texts.map((text) => {
    const value = parse(text)
    if (value === undefined) throw invalidField(name, `expected ${expected}, got ${JSON.stringify(text)}`)
    return value
  })
  return [...new Set(values)]
}

/** A whole number in digits. */
export const wholeNumber = (text: string): number | undefined => (/^\d{1,15}$/.test(text) ? Number(text) : undefined)

const timestamp = z.iso.datetime({ offset: true })

/** The earliest time that an option accepts. An earlier one is a typing error. */
const EARLIEST = Date.parse('2020-01-01T00:00:00Z')

/** The past time of an option; undefined when it is absent. */
export const pastTimeOf = (flags: Flags, name: string, now: Date): Date | undefined => {
  const given = textOf(flags, name)
  if (given === undefined) return undefined
  const time = timestamp.safeParse(given).success ? Date.parse(given) : Number.NaN
  if (!(time >= EARLIEST && time <= now.getTime()))
    throw invalidField(
      name,
      `expected a past ISO 8601 time with time zone, such as 2026-11-24T08:00:00Z, got ${JSON.stringify(given)}`,
    )
  return new Date(time)
}
