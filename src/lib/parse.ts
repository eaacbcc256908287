import type { z } from 'zod'
import { clip, detail, type ErrorDetail, invalid, MAX_DETAILS, type ServiceError } from './errors.ts'

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

/** What to add to the fault of an unknown field: a suggestion of another name, or nothing. */
export type Hint = (key: string, path: readonly PropertyKey[]) => string

/**
 * The error for a path, query or body that does not match its schema. It names the fields of the first 20 faults; the
 * message ends with the number of further ones.
 */
export const refusal = (issues: readonly z.core.$ZodIssue[], part: string, hint: Hint = () => ''): ServiceError => {
  const details: ErrorDetail[] = []
  let faults = 0
  for (const issue of issues) {
    const isUnknown = issue.code === 'unrecognized_keys'
    for (const [at, path] of pathsOf(issue, part, MAX_DETAILS - details.length).entries()) {
      const message = isUnknown ? `unknown field${hint(issue.keys[at] ?? '', issue.path)}` : issue.message
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
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw refusal(parsed.error.issues, part)
}
