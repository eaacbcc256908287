import type { ProfileName } from '../../src/protocol/profiles.ts'
import type { Rule } from './proxy.ts'

/** What kind of protocol, behind what kind of node, the bars run against. */
export type Variant = {
  readonly profile: ProfileName
  /** What every node does all the time, beside the faults of a bar. */
  readonly always: readonly Rule[]
  /** Whether rows can tell the log that made them; else they tell the block at which they were first seen, and no log. */
  readonly logs: boolean
}

export const variants = {
  reference: { profile: 'reference', always: [], logs: true },
  /** A protocol that emits only the three creation logs. */
  'three-logs': { profile: 'reference', always: [{ fault: 'creationsOnly', method: 'eth_getLogs' }], logs: true },
  /** Behaves as deployments do: other names of logs, zeros for unknown ids, no `owner()`, no timelock. */
  deployed: { profile: 'deployed', always: [], logs: true },
  /** Nodes that refuse `eth_getLogs` altogether. */
  'no-logs': { profile: 'reference', always: [{ fault: 'noLogs' }], logs: false },
} as const satisfies Readonly<Record<string, Variant>>

export type VariantName = keyof typeof variants

export const isVariant = (name: string): name is VariantName => Object.hasOwn(variants, name)
