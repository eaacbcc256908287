import { optionError } from './errors.ts'

/** The longest delay of a timer, in milliseconds: 24 days. A longer one would end at once. */
export const MAX_TIMER_MS = 2_147_483_647

/** Most attempts of a request. */
const MAX_ATTEMPTS = 1_000

const refuse = (name: string, expected: string, value: unknown): never => {
  throw optionError(`${name}: expected ${expected}, not ${String(value)}`)
}

/** Throws unless an option is a time in milliseconds that a timer can wait, or is left out. */
export const checkMs = (name: string, value: number | undefined): void => {
  if (value === undefined || (Number.isFinite(value) && value >= 1 && value <= MAX_TIMER_MS)) return
  refuse(name, `milliseconds from 1 to ${MAX_TIMER_MS}`, value)
}

/** Throws unless an option is a number of attempts, or is left out. */
export const checkAttempts = (value: number | undefined): void => {
  if (value === undefined || (Number.isInteger(value) && value >= 1 && value <= MAX_ATTEMPTS)) return
  refuse('attempts', `an integer from 1 to ${MAX_ATTEMPTS}`, value)
}
