import { closestMatch } from 'leven'
import { z } from 'zod'
import { isIgnored } from './response-cache/key.ts'

/** Most faults in one error. */
const MAX_FAULTS = 20

/** Most characters of a parameter name that an error repeats. */
const MAX_NAME = 64

/** The largest edit distance to a known name that is suggested. */
const MAX_DISTANCE = 2

const shown = (name: string): string => (name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name)

/**
 * The fault of a parameter's name, or of its repetition: the value of a repeated parameter is a list. Null when there
 * is none.
 */
const faultOf = (name: string, value: unknown, known: readonly string[]): string | null => {
  if (known.includes(name)) return Array.isArray(value) ? `expected once, got ${value.length} times` : null
  const nearest = name.length > MAX_NAME ? undefined : closestMatch(name, known, { maxDistance: MAX_DISTANCE + 1 })
  const hint = nearest === undefined ? '' : `; did you mean '${nearest}'?`
  return `unknown parameter '${shown(name)}'${hint}`
}

/**
 * Parses a query by its schema. Ignored parameters are removed. Repeated and unknown parameters are faults; the latter
 * suggest a similar name.
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
