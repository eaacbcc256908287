import { backoffMs } from '../lib/backoff.ts'
import type { Capability } from './faults.ts'

/** Capabilities that a request may need; `topics` is a filter with as many topics as the protocol has logs. */
export const needs = ['logs', 'tags', 'pinned', 'topics'] as const satisfies readonly (Capability | 'topics')[]

export type Need = (typeof needs)[number]

/** What a node turned out not to do; each is tried again after a time that doubles. */
export type Lacks = Readonly<Partial<Record<Need, { readonly times: number; readonly until: number }>>>

const LACK = { from: 5_000, to: 600_000 }

/** The lacks after one more refusal. */
export const lacking = (lacks: Lacks, need: Need, now: number): Lacks => {
  const times = (lacks[need]?.times ?? 0) + 1
  return { ...lacks, [need]: { times, until: now + backoffMs(times - 1, LACK.from, LACK.to) } }
}

/** The lacks after these needs were served. */
export const without = (lacks: Lacks, served: readonly Need[]): Lacks => {
  if (!served.some((need) => need in lacks)) return lacks
  const left = { ...lacks }
  for (const need of served) delete left[need]
  return left
}

/** Whether the node was found lately not to do this. */
export const isLacking = (lacks: Lacks, need: Need, now: number): boolean => (lacks[need]?.until ?? 0) > now
