import { setTimeout as sleep } from 'node:timers/promises'
import type { Outcome } from '../faults/balancer.ts'
import { progress } from './engine.ts'
import type { Service } from './service.ts'

/** A row of the report: how long the step took, and then until each sign held for good. 0: it held all the time. */
export type Measured = {
  readonly name: string
  readonly sent: number
  readonly failed: number
  /** How many requests failed for each reason. */
  readonly failures: Readonly<Record<string, number>>
  /** Seconds. */
  readonly step: number
  /** Seconds from the end of the step. */
  readonly signs: Readonly<Record<string, number>>
}

/** Everything is well when all signs hold this long. */
const HOLDS_MS = 4_000
const POLL_MS = 250
const PATIENCE_MS = 600_000

const round = (ms: number): number => Math.round(ms / 100) / 10

/** The status and the message of an answer, or why there was none. */
const reasonOf = ({ status, text }: Outcome): string =>
  status === 0 ? text : `${status} ${/"message":"([^"]*)/.exec(text)?.[1] ?? text}`

/** Runs a step and waits until every sign of the service holds. Throws when one does not within ten minutes. */
export const measure = async (service: Service, name: string, step: () => Promise<unknown>): Promise<Measured> => {
  progress(name)
  service.takeRequests()
  const began = performance.now()
  await step()
  const ended = performance.now()
  const since = await service.since()
  const lastFalse = new Map<string, number>()
  const problems = new Map<string, string>()
  for (let heldFrom: number | null = null; heldFrom === null || performance.now() - heldFrom < HOLDS_MS; ) {
    const held = await Promise.all(
      Object.entries(service.signs).map(async ([sign, holds]) => {
        const ok = await holds(since).catch((fault: unknown) => {
          problems.set(sign, String(fault))
          return false
        })
        if (!ok) lastFalse.set(sign, performance.now())
        return ok
      }),
    )
    heldFrom = held.every(Boolean) ? (heldFrom ?? performance.now()) : null
    if (heldFrom === null && performance.now() - ended > PATIENCE_MS) {
      const missing = Object.keys(service.signs).filter((_, at) => !held[at])
      throw new Error(
        `${name}: no recovery of ${missing.map((it) => `${it} (${problems.get(it) ?? 'not yet'})`).join('; ')}`,
      )
    }
    await sleep(POLL_MS)
  }
  const signs = Object.fromEntries(
    service.signNames.map((sign) => [sign, lastFalse.has(sign) ? round((lastFalse.get(sign) ?? ended) - ended) : 0]),
  )
  const { sent, failed } = service.takeRequests()
  const failures: Record<string, number> = {}
  for (const outcome of failed) {
    const reason = reasonOf(outcome)
    failures[reason] = (failures[reason] ?? 0) + 1
  }
  const measured = { name, sent, failed: failed.length, failures, step: round(ended - began), signs }
  progress(`  ${JSON.stringify(measured)}`)
  return measured
}
