import type { Request } from './requests.ts'
import type { Outcome } from './transport.ts'

/** What a batch holds under one key: a request, a list of requests, or undefined for a part that is not requested. */
type Part = Request<unknown> | readonly Request<unknown>[] | undefined

/** Requests under keys of the caller's choice, which travel to one endpoint together. */
export type Batch = Readonly<Record<string, Part>>

type OutcomeOf<P> = P extends readonly unknown[]
  ? { readonly [I in keyof P]: OutcomeOf<P[I]> }
  : P extends Request<infer T>
    ? Outcome<T>
    : undefined

/** The outcomes of a batch under its keys: one for a request, a list for a list, undefined for undefined. */
export type Outcomes<B extends Batch> = { readonly [K in keyof B]: OutcomeOf<B[K]> }

/** The outcomes of a batch from one endpoint; `endpoint` is its zero-based position in the configuration. */
export type EndpointAnswer<B extends Batch> = { readonly endpoint: number; readonly outcomes: Outcomes<B> }

/** The values under all keys in one list, in the order of the keys: the requests of a batch, or its outcomes. */
export const flatten = <T>(parts: Readonly<Record<string, T | readonly T[] | undefined>>): T[] =>
  Object.values(parts).flatMap((part) => part ?? [])

/**
 * The inverse of `flatten` for outcomes, which follow `flatten(batch)` one by one.
 *
 * @example unflatten({ head: getBlock('latest'), blocks: [getBlock(1n)] }, outcomes).blocks[0]
 */
export const unflatten = <B extends Batch>(batch: B, outcomes: readonly Outcome<unknown>[]): Outcomes<B> => {
  let next = 0
  const take = (): Outcome<unknown> => {
    const outcome = outcomes[next]
    if (outcome === undefined) throw new RangeError(`a batch has ${outcomes.length} outcomes, which is too few`)
    next += 1
    return outcome
  }
  const outcomesOf = (part: Part): unknown => {
    if (part === undefined) return undefined
    return Array.isArray(part) ? part.map(take) : take()
  }
  // The compiler cannot relate the keys of an object that a loop builds to those of the batch.
  return Object.fromEntries(Object.entries(batch).map(([key, part]) => [key, outcomesOf(part)])) as Outcomes<B>
}
