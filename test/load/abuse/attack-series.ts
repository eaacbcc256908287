import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Attack } from './send.ts'

/** A series of attacks with a rate per second and a limit of concurrent ones. */
export type AttackSeries = {
  readonly perSecond: number
  readonly atOnce: number
  readonly attack: (turn: number) => Attack
}

/** The niceness of the attackers, so that the product gets the processor time that it needs. */
export const NICENESS = 10

/** Runs one series from a turn on: sends attacks at their rate while fewer than the limit are pending. */
export const runSeries = async (
  { perSecond, atOnce }: Pick<AttackSeries, 'perSecond' | 'atOnce'>,
  attack: (turn: number) => Promise<void>,
  firstTurn = 0,
): Promise<void> => {
  const running = new Set<Promise<void>>()
  for (let turn = firstTurn; ; turn += 1) {
    if (running.size >= atOnce) await Promise.race(running)
    const one = attack(turn)
    running.add(one)
    one.finally(() => running.delete(one))
    await sleep(1_000 / perSecond)
  }
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
