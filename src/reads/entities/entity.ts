import { type Address, sliceHex, zeroAddress } from 'viem'
import { z } from 'zod'
import type { Chain } from '../../chain/chain.ts'
import { isNoBytes, type NodeError, toServiceError } from '../../chain/rpc/errors.ts'
import type { Block } from '../../chain/rpc/requests.ts'
import type { Outcome } from '../../chain/rpc/transport.ts'
import type { StoredBlock } from '../../db/stored.ts'
import { unavailable, upstream } from '../../lib/errors.ts'
import { type Call, call } from '../../protocol/abi/outputs.ts'
import { type Deployment, PathChainId } from '../../protocol/chains.ts'
import type { Moment } from '../../protocol/fields/request-fields.ts'
import { profiles } from '../../protocol/profiles.ts'
import { revertOf } from '../../protocol/reverts/decode.ts'
import { consistency } from '../freshness/consistency.ts'
import { type At, atField, requireAlone } from '../history/at.ts'
import { blockAt } from '../history/block-at.ts'
import { withNodes } from '../history/past.ts'
import { type Answer, chainOf, type Input, paramsOf, type Read, type ReadSources, withFallback } from '../read.ts'
import type { OfChain, Outputs, ViewSet, Views } from './view-sets.ts'

/** Whether a view reverted because no code has its function: by the proxy's loupe or, without one, by the revert. */
const lacksFunction = (error: NodeError, facet: Outcome<Address>): boolean => {
  if (isNoBytes(error)) return true
  return facet.ok ? facet.value === zeroAddress : revertOf(error).code === 'function_not_mounted'
}

/**
 * Calls views at a block. A view that fails because the proxy lacks its function is read from its storage slot; its
 * outcome is null when it has no slot. Throws as `Chain.readAt` does.
 */
const readViews = async (
  chain: Chain,
  block: Pick<Block, 'hash'>,
  views: readonly Call[],
): Promise<readonly (Outcome<unknown> | null)[]> => {
  const outcomes = await chain.readAt(block, views)
  const found = outcomes.map(async (outcome, at): Promise<Outcome<unknown> | null> => {
    const view = views[at]
    if (outcome.ok || view === undefined) return outcome
    const [facet] = await chain.readAt(block, [call('facetAddress', [sliceHex(view.data, 0, 4)])])
    if (!lacksFunction(outcome.error, facet)) return outcome
    return view.slot === undefined ? null : (await chain.readAt(block, [view.slot]))[0]
  })
  return Promise.all(found)
}

/**
 * Calls the named views of a view set (all by default) and the view that shows existence, in one batch at the pinned
 * head, or at the block `at`. `time` is that of the block in Unix seconds. The answer is also `missing` when the proxy
 * lacks one of the views and deployments of its kind may lack it. Throws as `Chain.readAt` does, and `upstream_error`
 * with the function's name when the proxy lacks another view, and when a view reverts for a key that exists.
 */
export const fromChain = async <K extends OfChain, V extends Views<K, V>, N extends keyof V, D>(
  sources: Pick<ReadSources, 'chains'>,
  { views, existence, refusal }: ViewSet<K, V>,
  key: K,
  names: readonly N[] | undefined,
  record: (outputs: Pick<Outputs<V>, N>, time: bigint) => D,
  at?: Block,
): Promise<Answer<D>> => {
  const needed: readonly (keyof V)[] = names ?? (Object.keys(views) as (keyof V)[])
  const requested = existence === undefined ? needed : [...new Set([existence.view, ...needed])]
  const chain = chainOf(sources.chains, key.chainId)
  const read = async (block: Block): Promise<Answer<D>> => {
    const freshness = { source: 'chain', block, stale: false } as const
    const calls = requested.map((name) => views[name](key))
    const outcomes = await readViews(chain, block, calls)
    /** What is wrong with a view that the proxy lacks; undefined when it has the view. */
    const lacking = (name: keyof V): string | undefined => {
      const at = requested.indexOf(name)
      const view = calls[at]
      if (view === undefined || outcomes[at] !== null) return undefined
      const message = `the protocol on chain ${key.chainId} has no function ${view.name}`
      if (!profiles[chain.deployment.profile].mayLack.some((it) => it === view.name))
        throw upstream(`${message}, which every deployment of its kind must have`)
      return message
    }
    const answered = requested.flatMap((name, at) => {
      const outcome = outcomes[at]
      return outcome?.ok === true ? [[name, outcome.value] as const] : []
    })
    // The type of the pairs cannot express that each name has the output of its view. Views that reverted are left out.
    const outputs = Object.fromEntries(answered) as Outputs<V>
    // Existence is checked first, because other views may revert for a key that does not exist.
    if (existence !== undefined) {
      const missing = lacking(existence.view)
      if (missing !== undefined) return { freshness, missing }
      if (!(existence.view in outputs && existence.holds(outputs)))
        return { freshness, missing: existence.missing(key) }
    }
    for (const [at, name] of requested.entries()) {
      const missing = lacking(name)
      if (missing !== undefined) return { freshness, missing }
      const outcome = outcomes[at]
      if (outcome?.ok === false) throw refusal?.(outcome.error) ?? toServiceError(outcome.error)
    }
    return { freshness, data: record(outputs, block.timestamp) }
  }
  return at === undefined ? chain.pinned(read) : read(at)
}

/**
 * Reads a view set from the index, as of the block at which its views were last read. That block may be older than
 * `minBlock` even when no refresh is queued. The newest indexed block cannot be reported instead: a deployment may emit
 * only the three creation logs, deposits and positions are queued only when their event is refreshed, and capacities
 * change with time alone. Throws `service_unavailable` when the database is out of reach or the chain is not indexed
 * yet.
 */
const fromDatabase = async <K extends OfChain, V extends Views<K, V>, D>(
  { queries }: Pick<ReadSources, 'queries'>,
  { existence }: ViewSet<K, V>,
  stored: NonNullable<ViewSet<K, V>['stored']>,
  key: K,
  record: (outputs: Outputs<V>, time: bigint) => D,
): Promise<Answer<D>> => {
  const outputs = await stored(queries, key)
  const asOf = (block: StoredBlock) => ({ source: 'database', block, stale: false }) as const
  if (outputs !== null)
    return { data: record(outputs, outputs.observedAt.timestamp), freshness: asOf(outputs.observedAt) }
  // A key that is not in the index does not exist as of the newest indexed block, if there is one.
  const indexed = await queries.indexed(key.chainId)
  if (existence === undefined || indexed === null) throw unavailable(`chain ${key.chainId} is not indexed yet`)
  return { missing: existence.missing(key), freshness: asOf(indexed) }
}

/**
 * Reads a view set as of a moment of the past: from the ledger, or from a node with the state of that block where the
 * ledger does not lead to it. Throws as `blockAt` does, and `service_unavailable` with the reason when neither has it.
 */
const fromPast = async <K extends OfChain, V extends Views<K, V>, N extends keyof V, D>(
  sources: ReadSources,
  it: ViewSet<K, V>,
  past: NonNullable<ViewSet<K, V>['past']>,
  asked: { readonly key: K; readonly at: Moment; readonly names: readonly N[] },
  record: (outputs: Pick<Outputs<V>, N>, time: bigint) => D,
): Promise<Answer<D>> => {
  const { key, at, names } = asked
  const block = await blockAt(sources, key.chainId, at)
  const freshness = { source: 'database', block, stale: false } as const
  const fromLedger = async (): Promise<Answer<D>> => {
    const outputs = await past(sources, key, block, names)
    if (outputs !== null) return { data: record(outputs, block.timestamp), freshness }
    return { missing: missingAt(it, key, block), freshness }
  }
  const answer = await withNodes(fromLedger, () => fromChain(sources, it, key, names, record, block))
  return { ...answer, isPast: true }
}

const missingAt = <K extends OfChain, V extends Views<K, V>>(
  { existence }: ViewSet<K, V>,
  key: K,
  { number }: Block,
): string => `${existence?.missing(key) ?? 'it does not exist'} at block ${number}`

type InputOf<Path extends string, Q extends z.ZodRawShape> = Input<Path, z.output<z.ZodObject<Q>>>

/**
 * Makes the read of one view set: from the chain at one pinned block, with the index as fallback where it has the
 * outputs. Parameters are those of the path, `query` and `consistency`.
 */
export const entity = <
  const Path extends `/${string}`,
  D extends z.ZodType,
  V extends Views<InputOf<Path, Q>, V>,
  N extends keyof V,
  Q extends z.ZodRawShape = Record<never, never>,
>(
  path: Path,
  summary: string,
  row: {
    readonly query?: Q
    readonly data: D
    readonly of: ViewSet<InputOf<Path, Q>, V>
    readonly views: readonly N[]
    settledAt?(data: z.output<D>): number
    /** A property and not a method, so that a view that it needs and that `views` lacks is a compile error. */
    readonly record: (
      outputs: Pick<Outputs<V>, NoInfer<N>>,
      deployment: Deployment,
      input: InputOf<Path, Q>,
      time: bigint,
    ) => z.output<D>
  },
): Omit<Read, 'tag'> => {
  const { data, of, settledAt } = row
  const { stored, past, existence, resource } = of
  const ofDefault = !path.includes(':chainId') && {
    chainId: PathChainId.optional().meta({ description: 'The chain; the default chain of the service when omitted' }),
  }
  const read: Omit<Read<InputOf<Path, Q>, D>, 'tag'> = {
    path,
    summary,
    description: [
      'Reads the chain at one pinned block.',
      ...(stored ? ['When no node is in reach, the index answers and the response has `X-Stale: 1`.'] : []),
      ...(past ? ['With `at`, the ledger answers as of a past block.'] : []),
    ].join(' '),
    params: paramsOf(path),
    query: z.object({ ...ofDefault, ...row.query, ...(past && atField), ...consistency }),
    data,
    paged: false,
    ...(resource && { resource }),
    ...(settledAt && { settledAt }),
    missing: existence?.missing ?? (({ chainId }) => `the protocol on chain ${chainId} has no such function`),
    answer(sources, input) {
      const { deployment } = chainOf(sources.chains, input.chainId)
      const record = (outputs: Pick<Outputs<V>, N>, time: bigint) => row.record(outputs, deployment, input, time)
      const { at } = input as At
      if (past !== undefined && at !== undefined) {
        requireAlone(input, ['minBlock', 'afterTx'])
        return fromPast(sources, of, past, { key: input, at, names: row.views }, record)
      }
      const online = () => fromChain(sources, of, input, row.views, record)
      return stored === undefined
        ? online()
        : withFallback(online, () => fromDatabase(sources, of, stored, input, record))
    },
  }
  return read
}
