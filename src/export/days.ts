/* Days in UTC, written as YYYY-MM-DD. Times are Unix seconds. */

const SECONDS = 86_400

/** The day of a time. */
export const dayOf = (seconds: bigint): string => new Date(Number(seconds) * 1_000).toISOString().slice(0, 10)

/** The first second of a day. */
export const startOf = (day: string): bigint => BigInt(Date.parse(day) / 1_000)

/** The first second after a day. */
export const endOf = (day: string): bigint => startOf(day) + BigInt(SECONDS)

/** The days from one to another, both included. */
export function* daysBetween(first: string, last: string): Generator<string> {
  for (let day = first; day <= last; day = dayOf(endOf(day))) yield day
}
