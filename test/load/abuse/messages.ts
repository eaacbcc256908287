import { z } from 'zod'

/*
 * The messages between the processes of an abuse session.
 */

const Target = z.object({ route: z.string(), limit: z.number(), example: z.unknown() })

/** The first message to the attacker: the honest node behind each hostile one. */
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

/**
 * From the attacker on request: attacks by series and answer, answers of the hostile nodes by kind, and forbidden
 * answers.
 */
export const Attacks = z.object({
  series: z.record(z.string(), z.record(z.string(), z.number())),
  nodes: z.record(z.string(), z.number()),
  longestError: z.number(),
  faults: z.array(z.string()),
})
export type Attacks = z.output<typeof Attacks>

/** The longest that `/livez` may take above the reference, in milliseconds. */
export const MAX_LIVEZ_MS = 250

/** To the probe: servers to probe with their processes, the reference first, and processes whose memory is measured. */
export const Watched = z.object({
  servers: z.array(z.object({ name: z.string(), url: z.string(), pid: z.number() })),
  processes: z.array(z.object({ name: z.string(), pid: z.number() })),
})

const Times = z.object({
  probes: z.number(),
  /** Probes without a 200 within 30 s. */
  failed: z.number(),
  p99Ms: z.number(),
  worstMs: z.number(),
  /**
   * The time above that of the reference at the same moment, without the time in which the server was ready but had no
   * processor.
   */
  worstAboveMs: z.number(),
  /**
   * The sum of the times beyond the limit above the reference: small for a short delay, large for a process that
   * blocks.
   */
  lateMs: z.number(),
})

/** From the probe, when asked for: times by server, and the most memory by process, in bytes. */
export const Measured = z.object({ times: z.record(z.string(), Times), memory: z.record(z.string(), z.number()) })
export type Measured = z.output<typeof Measured>

/** To an unfair caller: which one it is, and what the chain has. */
export const UnfairOrders = z.object({
  name: z.string(),
  url: z.string(),
  chainId: z.number(),
  diamond: z.string(),
  wallets: z.array(z.string()),
  reverted: z.array(z.string()),
  /** The turn that it begins with, so that a later phase does not repeat the requests of an earlier one. */
  firstTurn: z.number(),
})
export type UnfairOrders = z.output<typeof UnfairOrders>

/** From an unfair caller on request: its answers by status, and the turn that comes next. */
export const UnfairReport = z.object({ answers: z.record(z.string(), z.number()), turns: z.number() })

/** To the honest caller: what it may ask for. */
export const HonestOrders = z.object({
  url: z.string(),
  chainId: z.number(),
  wallets: z.array(z.string()),
  events: z.array(z.number()),
})
export type HonestOrders = z.output<typeof HonestOrders>

/** To the honest caller: a phase that lasts so many milliseconds. */
export const Phase = z.object({ ms: z.number() })

const HonestSample = z.object({
  kind: z.string(),
  ms: z.number(),
  isStale: z.boolean(),
  /** What is wrong with the answer. */
  fault: z.string().nullable(),
})
export type HonestSample = z.output<typeof HonestSample>

/** From the honest caller after each phase, with the endpoints that were paused or penalized during it. */
export const HonestReport = z.object({ samples: z.array(HonestSample), paused: z.array(z.string()) })
export type HonestReport = z.output<typeof HonestReport>
