import { randomBytes } from 'node:crypto'
import type { Attack } from './send.ts'

/** A series of attacks with a rate per second and a limit of concurrent ones. */
export type AttackSeries = {
  readonly perSecond: number
  readonly atOnce: number
  readonly attack: (turn: number) => Attack
}

/** Headers that declare the body as JSON. */
export const json = { 'content-type': 'application/json' }

/** The item whose turn it is. */
export const pick = <T>(list: readonly T[], turn: number): T => {
  const item = list[turn % list.length]
  if (item === undefined) throw new RangeError('an empty list of attacks')
  return item
}

/** A number of random bytes as hex with 0x. */
export const hex = (bytes: number): string => `0x${randomBytes(bytes).toString('hex')}`

/** Longest URL that fits into a request's head with its other parts, in bytes. */
const MAX_URL = 15_000

/** Repeats `part`. */
export const long = (part: string, bytes = MAX_URL): string => part.repeat(Math.floor(bytes / part.length))
