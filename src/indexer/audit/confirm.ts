import type { Chain } from '../../chain/chain.ts'
import { createUncachedReader } from '../../chain/read.ts'
import type { AuditedKind } from '../../db/index/audit/rows.ts'
import { type Part, readPart } from '../../db/index/audit/runs.ts'
import type { Database } from '../../db/pool.ts'
import { isUnavailable, unavailable } from '../../lib/errors.ts'
import { sleep } from '../../lib/lifecycle.ts'
import type { Logger } from '../../lib/observe/log.ts'
import { type Comparison, compareRows, describe } from './compare.ts'
import { compareOrigins, type Origins } from './origins.ts'

/**
 * Attempts per comparison. A node may have dropped the state of the block in the meantime, or be out of reach for a
 * moment.
 */
const ATTEMPTS = 10

/** The pause before a comparison is repeated, in milliseconds. */
export const PAUSE_MS = 500

export type AuditDeps = {
  readonly chain: Chain
  readonly database: Database
  readonly log: Logger
  /** How much longer the audit waits for entities of the refresh queue, in milliseconds. */
  readonly waitBudget: { leftMs: number }
  /** The pause before a comparison is repeated, in milliseconds. */
  readonly pauseMs: number
  /** Entities compared at once. */
  readonly size: bigint
}

/** Retries while no node or no database answers. Throws `service_unavailable` after the last attempt. */
const withRetries = async <T>({ pauseMs }: Pick<AuditDeps, 'pauseMs'>, work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (fault) {
      if (attempt >= ATTEMPTS || !isUnavailable(fault)) throw fault
    }
    await sleep(pauseMs)
  }
}

/** A chain whose reads bypass the cache of answers: a wrong answer of a node may be cached. */
export const withoutCache = (chain: Chain): Chain => ({
  ...chain,
  ...createUncachedReader({ node: chain, diamond: chain.deployment.diamond }),
})

/** A part of the index and its comparison with the chain. */
type ComparedPart = Part & { readonly comparison: Comparison; readonly origins: Origins }

const compareOnce = async (
  { chain, database, log }: AuditDeps,
  kind: AuditedKind,
  choose: (last: bigint | null) => readonly bigint[],
): Promise<ComparedPart> => {
  const part = await readPart(database, chain.chainId, kind, choose)
  if (part === null) throw unavailable(`chain ${chain.chainId} is not indexed yet`)
  if (!part.isComplete) throw unavailable(`the index of chain ${chain.chainId} is being built`)
  const comparison = await compareRows({ chain, log }, kind, part.ids, part)
  return { ...part, comparison, origins: await compareOrigins(chain, kind, part) }
}

const differencesOf = ({ comparison, origins }: ComparedPart): Map<bigint, readonly string[]> => {
  const found = new Map<bigint, readonly string[]>(comparison.differences.map((it) => [it.id, describe(it)]))
  for (const [id, more] of origins.differences) found.set(id, [...(found.get(id) ?? []), ...more])
  return found
}

/** A comparison whose differences were confirmed by a second one. */
export type ConfirmedComparison = {
  readonly first: ComparedPart
  readonly differences: readonly string[]
  /** Entities that were still in the refresh queue when the wait budget of the audit was used up. */
  readonly waiting: readonly bigint[]
}

/**
 * Compares the ids that `choose` returns at the newest block of the index. Ids that differ are compared once more at
 * the block that the index has then: the index may have been rolled back, or a node may have answered for a block that
 * it was still importing. Entities of the refresh queue are compared when the queue has caught up, as long as the wait
 * budget lasts.
 */
export const compareUntilConfirmed = async (
  deps: AuditDeps,
  kind: AuditedKind,
  choose: (last: bigint | null) => readonly bigint[],
): Promise<ConfirmedComparison> => {
  const first = await withRetries(deps, () => compareOnce(deps, kind, choose))
  const again = { ...deps, chain: withoutCache(deps.chain) }
  const differences: string[] = []
  let waiting = first.comparison.waiting
  let open = [...new Set([...differencesOf(first).keys(), ...waiting])]
  while (open.length > 0) {
    if (waiting.length === open.length) {
      if (deps.waitBudget.leftMs <= 0) return { first, differences, waiting }
      deps.waitBudget.leftMs -= deps.pauseMs
    }
    await sleep(deps.pauseMs)
    const ids = open
    const second = await withRetries(deps, () => compareOnce(again, kind, () => ids))
    const confirmed = differencesOf(second)
    differences.push(...[...confirmed.values()].flat())
    waiting = second.comparison.waiting.filter((id) => !confirmed.has(id))
    open = [...waiting]
  }
  return { first, differences, waiting: [] }
}

/** Runs a comparison of lists, and repeats it if it found differences, for the same reasons. */
export const repeatIfDifferent = async <T extends { readonly differences: readonly string[] }>(
  deps: Pick<AuditDeps, 'pauseMs'>,
  work: () => Promise<T>,
): Promise<T> => {
  const first = await withRetries(deps, work)
  if (first.differences.length === 0) return first
  await sleep(deps.pauseMs)
  return withRetries(deps, work)
}
