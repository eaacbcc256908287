import { dateAt } from './time.ts'

/** A past moment that a page is as of: as the API takes it, and in Unix seconds. */
export type Moment = { readonly at: string; readonly seconds: number }

const DAY = /^\d{4}-\d{2}-\d{2}$/
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/
const SECONDS = /^\d{10,11}$/

/**
 * The moment in the address of a page: a day, which is its first moment of UTC, an ISO 8601 time with its offset, or
 * Unix seconds. Null without one, `invalid` for anything else, such as 31 June.
 */
export const parseMoment = (text: string | null): Moment | null | 'invalid' => {
  if (text === null || text === '') return null
  if (SECONDS.test(text)) return { at: text, seconds: Number(text) }
  if (!DAY.test(text) && !TIME.test(text)) return 'invalid'
  const milliseconds = Date.parse(text)
  if (Number.isNaN(milliseconds)) return 'invalid'
  // Date.parse makes 1 July of 31 June.
  const day = text.slice(0, 10)
  if (new Date(Date.parse(`${day}T00:00:00Z`)).toISOString().slice(0, 10) !== day) return 'invalid'
  return { at: text, seconds: Math.floor(milliseconds / 1_000) }
}

/** The day of a time in Unix seconds, as a date field has it. */
export const dayOf = (seconds: number): string => dateAt(seconds).toISOString().slice(0, 10)
