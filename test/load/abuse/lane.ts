import { randomBytes } from 'node:crypto'
import type { Attack } from './send.ts'

/** The attack at each turn, sent so many times a second and so many at once at most. */
export type Lane = {
  readonly perSecond: number
  readonly atOnce: number
  readonly attack: (turn: number) => Attack
}

/** Headers of a body that says to be JSON. */
export const json = { 'content-type': 'application/json' }

/** The item whose turn it is. */
export const pick = <T>(list: readonly T[], turn: number): T => {
  const item = list[turn % list.length]
  if (item === undefined) throw new RangeError('an empty list of attacks')
  return item
}

/** So many random bytes, after 0x. */
export const hex = (bytes: number): string => `0x${randomBytes(bytes).toString('hex')}`

/** As much as a URL may hold beside the other parts of a request's head, in bytes. */
const MAX_URL = 15_000

/** `part` again and again. */
export const long = (part: string, bytes = MAX_URL): string => part.repeat(Math.floor(bytes / part.length))
