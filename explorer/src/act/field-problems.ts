import { ApiError } from 'fx-protection-client'
import { chainText } from '../text/terms.ts'
import type { Problems } from './actions.ts'
import { isField } from './fields.ts'
import { sentenceText } from './sentence.ts'

/** Fields of the engine that have another name in the forms. */
const names: Readonly<Record<string, string>> = { pair: 'underlying', expiryUnixSeconds: 'expiry' }

/** `quote.expiryUnixSeconds` is the field `expiry`. */
const fieldAt = (path: string): string => {
  const last = path.split('.').at(-1) ?? ''
  return names[last] ?? last
}

/** What a validation error of the API is about, by field; none when it names something else too. */
export const fieldProblems = (error: unknown, shown: readonly string[]): Problems => {
  if (!(error instanceof ApiError) || error.status !== 400) return {}
  const found = error.details.map(
    ({ path, message }) => [fieldAt(path), sentenceText(chainText(message, 200))] as const,
  )
  return found.every(([name]) => isField(name) && shown.includes(name)) ? Object.fromEntries(found) : {}
}
