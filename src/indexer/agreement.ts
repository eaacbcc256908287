import type { Chain } from '../chain/chain.ts'
import { viewCall } from '../chain/rpc/requests.ts'
import type { Outcome } from '../chain/rpc/transport.ts'
import type { StoredBlock } from '../db/stored.ts'
import { sleep } from '../lib/lifecycle.ts'
import type { Entity, Identity } from '../protocol/entities.ts'
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
 * How often, and for how long, endpoints that do not have a block are asked about it again, in milliseconds: one that is
 * further behind counts as lagging, and is not asked.
 */
export const LATE = { pauseMs: 200, ms: 5_000 }

/** The endpoints that have an entity in the state of a block, that deny it, and that do not have the block. */
const ask = async (chain: Chain, block: Pick<StoredBlock, 'hash'>, entity: Entity) => {
  const record = viewCall(chain.deployment.diamond, recordCall(entity), { blockHash: block.hash })
  const answers = await chain.queryAllEndpoints({ record })
  const those = (is: (outcome: Outcome<Identity>) => boolean): number[] =>
    answers.flatMap(({ endpoint, outcomes }) => (is(outcomes.record) ? [endpoint] : []))
  return {
    having: those(exists),
    denying: those((outcome) => noneExists([outcome])),
    without: those((outcome) => !outcome.ok && outcome.error.fault.kind === 'missing'),
  }
}

/**
 * Why a row that was read from the state of a block is not to be written, as a sentence; null when more endpoints have
 * it than do not. Those without the block are waited for, and count as not having the row afterwards: an endpoint that
 * invents rows may have each block first. The only endpoint that answers is believed. Penalizes the minority. Throws
 * `service_unavailable` when no endpoint answers.
 */
export const disagreement = async (
  chain: Chain,
  block: Pick<StoredBlock, 'number' | 'hash'>,
  entity: Entity,
  { now, late = LATE }: { readonly now: () => number; readonly late?: typeof LATE | undefined },
): Promise<string | null> => {
  const name = `${entity.kind} ${entity.id}`
  const until = now() + late.ms
  let { having, denying, without } = await ask(chain, block, entity)
  const isCertain = (): boolean => having.length >= quorum(chain) && having.length > denying.length
  while (without.length > 0 && !isCertain() && now() < until) {
    await sleep(late.pauseMs)
    ;({ having, denying, without } = await ask(chain, block, entity))
  }
  const lacking = isCertain() ? denying : [...denying, ...without]
  const contradicted = having.length > lacking.length ? lacking : having.length < lacking.length ? having : []
  for (const endpoint of contradicted) chain.penalize(endpoint, `other nodes contradict it about ${name}`)
  if (having.length > lacking.length) return null
  return denying.length > 0
    ? `nodes disagree about ${name}`
    : `no second node has block ${block.number}, which shows ${name}`
}
