import type { z } from 'zod'
import { type ErrorDetail, invalid, type ServiceError } from './errors.ts'

/** One detail a fault; each unknown key is a fault of its own. What concerns a part as a whole is named after it (`body`). */
const details = (issues: readonly z.core.$ZodIssue[], part: string): ErrorDetail[] =>
  issues.flatMap((issue) => {
    const paths = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path]
    const message = issue.code === 'unrecognized_keys' ? 'unknown field' : issue.message
    return paths.map((path) => ({ path: path.length === 0 ? part : path.join('.'), message }))
  })

/** What a client is told whose path, query or body does not fit its schema: every fault by its field. */
export const refusal = (issues: readonly z.core.$ZodIssue[], part: string): ServiceError => {
  const faults = details(issues, part)
  return invalid(faults.map(({ path, message }) => `${path}: ${message}`).join('; '), faults)
}

/** What a part of a request decodes to. Throws the refusal (`validation_error`) when it does not fit its schema. */
export const parseInput = <S extends z.ZodType>(schema: S, value: unknown, part: string): z.output<S> => {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw refusal(parsed.error.issues, part)
}
