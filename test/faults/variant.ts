import type { ProfileName } from '../../src/protocol/profiles.ts'
import type { Rule } from './proxy.ts'

/** The kind of protocol and of node that the targets run against. */
export type Variant = {
  readonly profile: ProfileName
  /** The faults of every node all the time, in addition to those of a target. */
  readonly always: readonly Rule[]
  /**
   * Whether rows name the log that created them. Otherwise they name the block at which they were first seen, and no
   * log.
   */
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
