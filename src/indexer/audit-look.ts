import type { Chain } from '../chain/chain.ts'
import { isRevert, toServiceError } from '../chain/errors.ts'
import { viewCall } from '../chain/requests.ts'
import type { AuditedKind } from '../db/audit-rows.ts'
import { type Part, readPart } from '../db/audits.ts'
import type { Database } from '../db/pool.ts'
import { createRenderer } from '../db/rendering.ts'
import { isUnavailable, unavailable } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/log.ts'
import type { Call } from '../protocol/outputs.ts'
import { compareOrigins, type Origins } from './audit-origins.ts'
import { type Comparison, compareRows, wordsOf } from './compare.ts'

/** A node may have dropped the state of a block meanwhile, or be out of reach for a moment. */
const ATTEMPTS = 10

/** How long the audit waits before it looks again, in milliseconds. */
export const PAUSE_MS = 500

export type AuditDeps = {
  readonly chain: Chain
  readonly database: Database
  readonly log: Logger
  /** How much longer an audit waits for entities that are to be read again, in milliseconds. */
  readonly patience: { leftMs: number }
  /** How long it waits before it looks again, in milliseconds. */
  readonly pauseMs: number
}

/** Tries again for some seconds while no node or no database answers. Throws `service_unavailable` then. */
const patiently = async <T>({ pauseMs }: Pick<AuditDeps, 'pauseMs'>, work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (fault) {
      if (attempt >= ATTEMPTS || !isUnavailable(fault)) throw fault
    }
    await sleep(pauseMs)
  }
}

/** The chain without the answers that are kept: what a node said once may not be what it says again. */
export const uncached = (chain: Chain): Chain => ({
  ...chain,
  async readAt(block, asked) {
    const calls: readonly unknown[] = asked
    if (calls.length === 0) return [] as never
    const requests = calls.map((it) => viewCall(chain.deployment.diamond, it as Call, { blockHash: block.hash }))
    const outcomes = await chain.send(requests)
    for (const outcome of outcomes) if (!outcome.ok && !isRevert(outcome.error)) throw toServiceError(outcome.error)
    return outcomes as never
  },
})

/** A part of the index and what comparing it came to. */
type Look = Part & { readonly comparison: Comparison; readonly origins: Origins }

const lookOnce = async (
  { chain, database, log }: AuditDeps,
  kind: AuditedKind,
  choose: (last: bigint | null) => readonly bigint[],
): Promise<Look> => {
  const part = await readPart(database, chain.chainId, createRenderer(chain.deployment), kind, choose)
  if (part === null) throw unavailable(`chain ${chain.chainId} is not indexed yet`)
  if (!part.isComplete) throw unavailable(`the index of chain ${chain.chainId} is being built`)
  const comparison = await compareRows({ chain, log }, kind, part.ids, part)
  return { ...part, comparison, origins: await compareOrigins(chain, kind, part) }
}

const differencesOf = ({ comparison, origins }: Look): Map<bigint, readonly string[]> => {
  const found = new Map<bigint, readonly string[]>(comparison.differences.map((it) => [it.id, wordsOf(it)]))
  for (const [id, words] of origins.differences) found.set(id, [...(found.get(id) ?? []), ...words])
  return found
}

/** What is left of a comparison after a second look. */
export type Settled = {
  readonly first: Look
  readonly differences: readonly string[]
  /** Entities that still waited to be read again when patience was over. */
  readonly waiting: readonly bigint[]
}

/**
 * Compares the ids that `choose` picks, each at the newest block of the index. What differs is compared once more at the block that the
 * index has then: it may have been rolled back, or a node have answered for a block that it was about to make. What the refresh queue
 * holds is compared when the queue has caught up, as long as there is patience.
 */
export const settle = async (
  deps: AuditDeps,
  kind: AuditedKind,
  choose: (last: bigint | null) => readonly bigint[],
): Promise<Settled> => {
  const first = await patiently(deps, () => lookOnce(deps, kind, choose))
  const again = { ...deps, chain: uncached(deps.chain) }
  const differences: string[] = []
  let waiting = first.comparison.waiting
  let open = [...new Set([...differencesOf(first).keys(), ...waiting])]
  while (open.length > 0) {
    if (waiting.length === open.length) {
      if (deps.patience.leftMs <= 0) return { first, differences, waiting }
      deps.patience.leftMs -= deps.pauseMs
    }
    await sleep(deps.pauseMs)
    const ids = open
    const look = await patiently(deps, () => lookOnce(again, kind, () => ids))
    const certain = differencesOf(look)
    differences.push(...[...certain.values()].flat())
    waiting = look.comparison.waiting.filter((id) => !certain.has(id))
    open = [...waiting]
  }
  return { first, differences, waiting: [] }
}

/** Runs a comparison of lists, and once more where it found differences: for the same reasons. */
export const twice = async <T extends { readonly differences: readonly string[] }>(
  deps: Pick<AuditDeps, 'pauseMs'>,
  work: () => Promise<T>,
): Promise<T> => {
  const first = await patiently(deps, work)
  if (first.differences.length === 0) return first
  await sleep(deps.pauseMs)
  return patiently(deps, work)
}
