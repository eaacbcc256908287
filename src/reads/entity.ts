import type { z } from 'zod'
import { toServiceError } from '../chain/errors.ts'
import { unavailable } from '../lib/errors.ts'
import type { Deployment } from '../protocol/chains.ts'
import type { Resource } from './changes.ts'
import { type Answer, chainOf, firstOf, type Input, type Read, type Sources } from './read.ts'
import type { OfChain, OnChain, Outputs, Subject, Views } from './subjects.ts'
import { readViews } from './views.ts'

const keysOf = <V extends object>(views: V): (keyof V)[] => Object.keys(views) as (keyof V)[]

/**
 * Runs some of a subject's views (all when not said) at the pinned head, its existence in the same batch, and makes a record of them and of
 * the block's time in Unix seconds. What the proxy has no function for is missing too. Throws as `Chain.readAt` does, and `upstream_error` when a view reverts for a subject that exists.
 */
export const fromChain = async <K extends OfChain, V extends Views<K, V>, N extends keyof V, D>(
  sources: Sources,
  { views, existence }: OnChain<K, V>,
  key: K,
  names: readonly N[] | undefined,
  record: (outputs: Pick<Outputs<V>, N>, time: bigint) => D,
): Promise<Answer<D>> => {
  const needed: readonly (keyof V)[] = names ?? keysOf(views)
  const asked = existence === undefined ? needed : [...new Set([existence.view, ...needed])]
  const chain = chainOf(sources, key.chainId)
  return chain.pinned(async (block) => {
    const freshness = { source: 'chain', block, stale: false } as const
    const calls = asked.map((name) => views[name](key))
    const outcomes = await readViews(chain, block, calls)
    const absent = calls[outcomes.indexOf(null)]
    if (absent !== undefined) {
      return { freshness, missing: `the protocol on chain ${key.chainId} has no function ${absent.name}` }
    }
    const answered = asked.flatMap((name, at) => {
      const outcome = outcomes[at]
      return outcome?.ok === true ? [[name, outcome.value] as const] : []
    })
    // Each name holds what its own view decoded to, which the pairs cannot show to the compiler; a view that reverted is left out.
    const outputs = Object.fromEntries(answered) as Outputs<V>
    // Existence first: other views of something that does not exist may revert as they like.
    if (existence !== undefined && !(existence.view in outputs && existence.holds(outputs))) {
      return { freshness, missing: existence.missing(key) }
    }
    for (const outcome of outcomes) if (outcome?.ok === false) throw toServiceError(outcome.error)
    return { freshness, data: record(outputs, block.timestamp) }
  })
}

/**
 * Takes a subject's outputs from the index, where that holds it, as of the block at which they were observed. That block may be older than what
 * `minBlock` asks for although nothing of the subject waits to be observed; still it cannot be given as the indexed block: a deployment
 * may emit no more than the three creation logs, deposits and positions are noted only when their event is observed, and capacities
 * change with time alone. Throws `service_unavailable` when the database or the chain's index is out of reach.
 */
const fromDatabase = async <K extends OfChain, V extends Views<K, V>, D>(
  { queries }: Sources,
  { stored, existence }: Subject<K, V>,
  key: K,
  record: (outputs: Outputs<V>, time: bigint) => D,
): Promise<Answer<D>> => {
  const known = await stored(queries, key)
  if (known !== null) {
    return {
      data: record(known, known.observedAt.timestamp),
      freshness: { source: 'database', block: known.observedAt, stale: false },
    }
  }
  // What the index does not hold does not exist at the block it has reached; without a block it says nothing.
  const indexed = await queries.indexed(key.chainId)
  if (existence === undefined || indexed === null) throw unavailable(`chain ${key.chainId} is not indexed yet`)
  return { missing: existence.missing(key), freshness: { source: 'database', block: indexed, stale: false } }
}

/**
 * A read of one subject: from the chain at one pinned block, else from the index if that holds it, marked stale. The record is made by the same
 * function of either source's outputs.
 */
export const entity = <
  P extends z.ZodObject,
  Q extends z.ZodObject,
  D extends z.ZodType,
  V extends Views<Input<z.output<P>, z.output<Q>>, V>,
  N extends keyof V,
>(row: {
  readonly path: `/${string}`
  readonly tag: string
  readonly summary: string
  readonly params: P
  readonly query: Q
  readonly data: D
  readonly of: OnChain<Input<z.output<P>, z.output<Q>>, V> | Subject<Input<z.output<P>, z.output<Q>>, V>
  readonly views: readonly N[]
  resource?(input: Input<z.output<P>, z.output<Q>>): Resource
  settledAt?(data: z.output<D>): number
  record(
    outputs: Pick<Outputs<V>, N>,
    deployment: Deployment,
    input: Input<z.output<P>, z.output<Q>>,
    time: bigint,
  ): z.output<D>
}): Read => {
  const { path, tag, summary, params, query, data, resource, settledAt } = row
  const read: Read<P, Q, D> = {
    path,
    tag,
    summary,
    description:
      'stored' in row.of
        ? 'From the chain at one pinned block; from the index, marked by `X-Stale: 1`, when no node is in reach.'
        : 'From the chain at one pinned block.',
    params,
    query,
    data,
    paged: false,
    ...(resource && { resource }),
    ...(settledAt && { settledAt }),
    missing: row.of.existence?.missing ?? (({ chainId }) => `the protocol on chain ${chainId} has no such function`),
    answer(sources, input) {
      const { deployment } = chainOf(sources, input.chainId)
      const record = (outputs: Pick<Outputs<V>, N>, time: bigint) => row.record(outputs, deployment, input, time)
      const { of } = row
      const online = () => fromChain(sources, of, input, row.views, record)
      return 'stored' in of ? firstOf(online, () => fromDatabase(sources, of, input, record)) : online()
    },
  }
  return read
}
