import { backoffMs } from '../../lib/backoff.ts'
import type { Capability } from '../rpc/faults.ts'

/**
 * Capabilities that a request may need; `simulation` is `eth_simulateV1`, `overrides` is an `eth_call` on a changed
 * state, `trace` is `debug_traceTransaction`.
 */
export const requiredCapabilities = [
  'logs',
  'tags',
  'pinned',
  'simulation',
  'overrides',
  'trace',
] as const satisfies readonly (Capability | 'simulation' | 'overrides' | 'trace')[]

export type RequiredCapability = (typeof requiredCapabilities)[number]

/** Capabilities that an endpoint refused; `until` (milliseconds since the epoch) is when it is asked for one again. */
export type MissingCapabilities = Readonly<
  Partial<Record<RequiredCapability, { readonly times: number; readonly until: number }>>
>

/** The pause before the first retry and the longest one, in milliseconds. */
const RETRY_MS = { from: 5_000, to: 600_000 }

/** The missing capabilities after one more refusal. */
export const withMissing = (
  missing: MissingCapabilities,
  need: RequiredCapability,
  now: number,
): MissingCapabilities => {
  const times = (missing[need]?.times ?? 0) + 1
  return { ...missing, [need]: { times, until: now + backoffMs(times - 1, RETRY_MS.from, RETRY_MS.to) } }
}

/** The missing capabilities after requests with these needs were served. */
export const withoutMissing = (
  missing: MissingCapabilities,
  served: readonly RequiredCapability[],
): MissingCapabilities => {
  if (!served.some((need) => need in missing)) return missing
  const left = { ...missing }
  for (const need of served) delete left[need]
  return left
}

/** Whether the endpoint refused this capability and the time to retry has not come. */
export const isMissing = (missing: MissingCapabilities, need: RequiredCapability, now: number): boolean =>
  (missing[need]?.until ?? 0) > now
