import { z } from 'zod'

/*
 * What the processes of an abuse session send each other.
 */

const Target = z.object({ route: z.string(), limit: z.number(), example: z.unknown() })

/** To the attacker, first: the honest node that stands behind each hostile one. */
export const Nodes = z.object({ honest: z.array(z.string()) })

/** From the attacker: a hostile node for each honest one, and an identity provider. */
export const Traps = z.object({ nodes: z.array(z.string()), userinfoUrl: z.string() })

/** To the attacker: what to attack, with `pace` times the usual number of attacks a second. */
export const Orders = z.object({
  url: z.string(),
  wallet: z.string(),
  diamond: z.string(),
  targets: z.array(Target),
  pace: z.number().positive(),
})
export type Orders = z.output<typeof Orders>

/** From the attacker, when asked for: attacks by lane and answer, answers of the hostile nodes by kind, and answers that must not be. */
export const Attacks = z.object({
  lanes: z.record(z.string(), z.record(z.string(), z.number())),
  nodes: z.record(z.string(), z.number()),
  longestError: z.number(),
  faults: z.array(z.string()),
})
export type Attacks = z.output<typeof Attacks>

/** The longest that `/livez` may take above the reference, in milliseconds. */
export const MAX_LIVEZ_MS = 250

/** To the probe: servers to ask, the reference first, and processes whose memory is read. */
export const Watched = z.object({
  servers: z.array(z.object({ name: z.string(), url: z.string() })),
  processes: z.array(z.object({ name: z.string(), pid: z.number() })),
})

const Times = z.object({
  probes: z.number(),
  /** Probes without a 200 within 30 s. */
  failed: z.number(),
  p99Ms: z.number(),
  worstMs: z.number(),
  /** Above what the reference took at the same time. */
  worstAboveMs: z.number(),
  /** The sum of what was more than the limit above the reference: short for a moment's delay, long for a process that blocks. */
  lateMs: z.number(),
})

/** From the probe, when asked for: times by server, and the most memory by process, in bytes. */
export const Measured = z.object({ times: z.record(z.string(), Times), memory: z.record(z.string(), z.number()) })
export type Measured = z.output<typeof Measured>
