import type { Chains, Store } from './rig.ts'

/** What a target runs with. */
export type Context = {
  readonly store: Store
  readonly chains: Chains
  readonly seeds: readonly number[]
  /** Runs the full length where a shorter one is the default. */
  readonly long: boolean
}

/** A result that must never happen. The same seed makes it happen again. */
export type Failure = { readonly seed: number; readonly what: string }

type Outcome = {
  /** The measured figures, as text. */
  readonly measured: string
  /** Whether every figure, including times, reaches the target. */
  readonly met: boolean
  /** Lost, duplicated or wrong rows and processes that exited. They do not depend on the machine's speed. */
  readonly failures: readonly Failure[]
}

/** One claim about the index and how it is measured: docs/performance.md. */
export type Target = {
  readonly claim: string
  readonly figure: string
  readonly run: (context: Context) => Promise<Outcome>
}

/** The most seeds that share one chain: a node mines more slowly the longer and fuller its chain is. */
export const SEEDS_PER_CHAIN = 20

/** The value below which a share of the values lie, by nearest rank; NaN without values. */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * share) - 1)] ?? Number.NaN

/** Milliseconds as text in seconds. */
export const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`

/** Splits a list into parts of at most `size`. */
export const chunks = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size))
