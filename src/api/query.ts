import { closestMatch } from 'leven'
import { z } from 'zod'
import { isIgnored } from './response-cache/key.ts'

/** Faults that one answer names. */
const MAX_FAULTS = 20

/** Characters of a name that are repeated in an answer. */
const MAX_NAME = 64

/** Letters that may be wrong, missing or too many in a name for another to be meant. */
const MAX_DISTANCE = 2

const shown = (name: string): string => (name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name)

const unknownParameter = (name: string, known: readonly string[]): string => {
  const nearest = name.length > MAX_NAME ? undefined : closestMatch(name, known, { maxDistance: MAX_DISTANCE + 1 })
  const hint = nearest === undefined ? '' : `; did you mean '${nearest}'?`
  return `unknown parameter '${shown(name)}'${hint}`
}

/** What is wrong with the names of a query; a value that is a list was given several times. */
const faultOf = (name: string, value: unknown, known: readonly string[]): string | null => {
  if (!known.includes(name)) return unknownParameter(name, known)
  return Array.isArray(value) ? `expected once, got ${value.length} times` : null
}

/**
 * A query by its schema, and nothing but it: an unknown parameter is refused with the name that may have been meant, one that is given more than
 * once too, and those that are ignored are left out.
 */
export const parseQuery = <S extends z.ZodObject>(schema: S, value: object): z.ZodSafeParseResult<z.output<S>> => {
  const query = Object.entries(value).filter(([name]) => !isIgnored(name))
  const known = Object.keys(schema.shape)
  const faults: z.core.$ZodIssue[] = []
  for (const [name, given] of query) {
    if (faults.length === MAX_FAULTS) break
    const message = faultOf(name, given, known)
    if (message !== null) faults.push({ code: 'custom', path: [shown(name)], message, input: undefined })
  }
  const parsed = schema.safeParse(Object.fromEntries(query))
  if (faults.length === 0) return parsed
  const named = new Set(faults.map(({ path }) => path[0]))
  const others = parsed.error?.issues.filter(({ path }) => !named.has(path[0])) ?? []
  return { success: false, error: new z.ZodError([...faults, ...others].slice(0, MAX_FAULTS)) as never }
}
