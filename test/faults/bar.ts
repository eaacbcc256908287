import type { Chains, Store } from './rig.ts'

/** What a bar has at hand. */
export type Context = {
  readonly store: Store
  readonly chains: Chains
  readonly seeds: readonly number[]
  /** The full length where a shorter one is the default. */
  readonly long: boolean
}

/** Something that must never happen happened; the seed makes it happen again. */
export type Failure = { readonly seed: number; readonly what: string }

type Outcome = {
  /** The figures seen. */
  readonly measured: string
  /** Whether all of them, times too, are what the bar asks for. */
  readonly met: boolean
  /** Rows lost, doubled or wrong, and processes that ended: not a matter of the machine's speed. */
  readonly failures: readonly Failure[]
}

/** One claim about the index and how it is measured. */
export type Bar = {
  readonly claim: string
  readonly figure: string
  readonly run: (context: Context) => Promise<Outcome>
}

/** The value below which a share of the values lie, by nearest rank; NaN of none. */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * share) - 1)] ?? Number.NaN

/** Milliseconds as seconds for a line. */
export const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`

/** Splits a list into parts of at most `size`. */
export const chunks = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size))
