import type { z } from 'zod'
import { clip, detail, type ErrorDetail, invalid, MAX_DETAILS, type ServiceError } from '../errors.ts'

/** The longest list of faults in a message, in UTF-16 units; `details` lists them one by one. */
const MAX_LISTED = 600

/**
 * The paths of the invalid fields, one for each unknown key. An issue of a whole part has the name of the part
 * (`body`).
 */
const pathsOf = (issue: z.core.$ZodIssue, part: string, most: number): string[] => {
  if (issue.code !== 'unrecognized_keys')
    return most === 0 ? [] : [issue.path.length === 0 ? part : issue.path.join('.')]
  return issue.keys.slice(0, most).map((key) => [...issue.path, key].join('.'))
}

const types: Readonly<Record<string, string>> = {
  array: 'a list',
  object: 'a JSON object',
  string: 'text',
  int: 'an integer',
  number: 'a number',
  boolean: 'true or false, without quotes',
}

/** The message for a value whose schema has none of its own. */
const messageOf: z.core.$ZodErrorMap = (issue) => {
  if (issue.code === 'invalid_type') return `expected ${types[issue.expected] ?? issue.expected}`
  if (issue.origin !== 'string') return undefined
  if (issue.code === 'too_small') return `expected at least ${issue.minimum} character${issue.minimum === 1 ? '' : 's'}`
  return issue.code === 'too_big' ? `expected at most ${issue.maximum} characters` : undefined
}

/** Parses a part of a request, with messages for people. */
export const safeParse = <S extends z.ZodType>(schema: S, value: unknown) =>
  schema.safeParse(value, { error: messageOf })

/** Whether a request lacks the value at a path. */
const isMissing = (value: unknown, path: readonly PropertyKey[]): boolean => {
  const found = path.reduce<unknown>((part, key) => Object(part)[key], value)
  // A request without a body has null or undefined.
  return found === undefined || (found === null && path.length === 0)
}

/** The message of an issue about a value. What is wrong with several values together is no matter of one missing. */
const faultOf = ({ code, message, path }: z.core.$ZodIssue, value: unknown): string =>
  code !== 'custom' && isMissing(value, path) ? `is required: ${message}` : message

/** What to add to the fault of an unknown field: a suggestion of another name, or nothing. */
export type Hint = (key: string, path: readonly PropertyKey[]) => string

/**
 * The error for a path, query or body (`value`) that does not match its schema. It names the fields of the first 20 faults; the
 * message ends with the number of further ones.
 */
export const refusal = (
  issues: readonly z.core.$ZodIssue[],
  part: string,
  value: unknown,
  hint: Hint = () => '',
): ServiceError => {
  const details: ErrorDetail[] = []
  let faults = 0
  for (const issue of issues) {
    const isUnknown = issue.code === 'unrecognized_keys'
    for (const [at, path] of pathsOf(issue, part, MAX_DETAILS - details.length).entries()) {
      const message = isUnknown ? `unknown field${hint(issue.keys[at] ?? '', issue.path)}` : faultOf(issue, value)
      details.push(detail({ path, message }))
    }
    faults += isUnknown ? issue.keys.length : 1
  }
  const listed = clip(details.map(({ path, message }) => `${path}: ${message}`).join('; '), MAX_LISTED)
  const rest = faults - details.length
  return invalid(rest === 0 ? listed : `${listed}; and ${rest} more`, details)
}

/** Decodes a part of a request. Throws a `validation_error` if it does not match its schema. */
export const parseInput = <S extends z.ZodType>(schema: S, value: unknown, part: string): z.output<S> => {
  const parsed = safeParse(schema, value)
  if (parsed.success) return parsed.data
  throw refusal(parsed.error.issues, part, value)
}
