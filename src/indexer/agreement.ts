import type { Chain } from '../chain/chain.ts'
import { viewCall } from '../chain/rpc/requests.ts'
import type { StoredBlock } from '../db/stored.ts'
import type { Entity } from '../protocol/entities.ts'
import { exists, noneExists, recordCall } from './reading/existence.ts'

/** How many endpoints have to agree before one is believed: two, or the only one that is configured (decision 10). */
export const quorum = (chain: Pick<Chain, 'status'>): number => Math.min(2, chain.status().endpoints.length)

/**
 * How long a single endpoint has to repeat its answer while other configured endpoints do not answer, in milliseconds.
 */
export const SINGLE_ANSWER_MS = 10_000

/** Since when something has been so, in milliseconds, and of which block or row. */
export type Since = { readonly of: string; readonly since: number }

/** The time that was noted before, or now: also when it was of another block or row, or the clock was set back. */
export const sinceThen = (before: Since | null, of: string, now: number): Since =>
  before?.of === of && before.since <= now ? before : { of, since: now }

/** The answer of all endpoints; undefined when they disagree or fewer than the quorum answered. */
export const unanimous = <T>(
  chain: Pick<Chain, 'status'>,
  answers: readonly T[],
  isSame: (first: T, other: T) => boolean,
): T | undefined => {
  const [first, ...others] = answers
  if (first === undefined || answers.length < quorum(chain)) return undefined
  return others.every((other) => isSame(first, other)) ? first : undefined
}

/**
 * Whether a block's state has an entity, by most of the endpoints that have the block: one that invents records would add
 * rows without end. Penalizes the others; false, without a penalty, when the endpoints are divided equally. Throws
 * `service_unavailable` when no endpoint answers.
 */
export const isAgreed = async (chain: Chain, block: Pick<StoredBlock, 'hash'>, entity: Entity): Promise<boolean> => {
  const record = viewCall(chain.deployment.diamond, recordCall(entity), { blockHash: block.hash })
  const answers = await chain.queryAllEndpoints({ record })
  const having = answers.filter(({ outcomes }) => exists(outcomes.record))
  const lacking = answers.filter(({ outcomes }) => noneExists([outcomes.record]))
  const contradicted = having.length > lacking.length ? lacking : having.length < lacking.length ? having : []
  for (const { endpoint } of contradicted)
    chain.penalize(endpoint, `other nodes contradict it about ${entity.kind} ${entity.id}`)
  return having.length > lacking.length
}
