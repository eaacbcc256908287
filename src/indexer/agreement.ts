import type { Chain } from '../chain/chain.ts'
import { isStopped } from '../chain/endpoints/ranking.ts'
import { type Block, getBlock, viewCall } from '../chain/rpc/requests.ts'
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

/** Since when something has been so, when it was seen last, in milliseconds, and of which block or row. */
export type Since = { readonly of: string; readonly since: number; readonly at: number }

/**
 * The time that was noted before, or now: also when it was of another block or row, was not seen again within so many
 * milliseconds, or the clock was set back.
 */
export const sinceThen = (before: Since | null, of: string, now: number, withinMs = SINGLE_ANSWER_MS): Since => {
  const isSeenAgain = before?.of === of && before.at <= now && now - before.at < withinMs
  return { of, since: isSeenAgain ? before.since : now, at: now }
}

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
 * How often, and for how long, endpoints that are below a block are asked again, in milliseconds. By then those that do
 * not lag have it.
 */
const LATE = { pauseMs: 200, ms: 4_000 }

/** Seconds of chain time that an endpoint may be behind a block to be waited for: less than the wait. */
const LATE_SECONDS = 3n

type At = Pick<StoredBlock, 'number' | 'hash' | 'timestamp'>

const requestsOf = (chain: Chain, block: At, entity: Entity) => {
  const of = (at: Parameters<typeof viewCall>[2]) => viewCall(chain.deployment.diamond, recordCall(entity), at)
  return { record: of({ blockHash: block.hash }), newest: of('latest'), head: getBlock('latest') }
}

/** What an endpoint answers about an entity in the state of a block; `late` when it does not have the block yet. */
type Answer = 'has' | 'denies' | 'late'

type Outcomes = {
  readonly record: Outcome<Identity>
  readonly newest: Outcome<Identity>
  readonly head: Outcome<Block | null>
}

/** The answer of an endpoint; null when it refuses to answer, or lags. */
const answerOf = ({ timestamp }: At, { record, newest, head }: Outcomes): Answer | null => {
  if (exists(record)) return 'has'
  if (noneExists([record])) return 'denies'
  if (record.ok || record.error.fault.kind !== 'missing') return null
  if (exists(newest)) return 'has'
  const isLagging =
    head.ok && head.value !== null && isStopped(head.value.timestamp, timestamp, Date.now(), LATE_SECONDS)
  return isLagging ? null : 'late'
}

/** Why a row is not to be written, as a sentence, and whether an endpoint denies it. */
type Disagreement = { readonly text: string; readonly isDenied: boolean }

/**
 * Why an entity that was read from the state of a block is not to be believed; null when more endpoints have it than do
 * not. Those below the block count by their newest state. Where that lacks the entity, they are waited for, unless they
 * lag, and then count as not having it: an endpoint that invents records may have each block first. The only endpoint
 * that answers is believed. Penalizes the minority. Throws `service_unavailable` when no endpoint answers.
 */
export const disagreement = async (
  chain: Chain,
  block: At,
  entity: Entity,
  { now, late = LATE }: { readonly now: () => number; readonly late?: typeof LATE },
): Promise<Disagreement | null> => {
  const name = `${entity.kind} ${entity.id}`
  const requests = requestsOf(chain, block, entity)
  // An endpoint that stops answering keeps its last answer.
  const answers = new Map<number, Answer>()
  const those = (...wanted: readonly Answer[]): number[] =>
    [...answers].flatMap(([endpoint, answer]) => (wanted.includes(answer) ? [endpoint] : []))
  const isWaiting = (): boolean => {
    const having = those('has').length
    const isCertain = having >= quorum(chain) && having > those('denies').length
    return having > 0 && those('late').length > 0 && !isCertain
  }
  for (const until = now() + late.ms; ; await sleep(late.pauseMs)) {
    const all = await chain.queryAllEndpoints(requests)
    for (const { endpoint, outcomes } of all) {
      const answer = answerOf(block, outcomes)
      if (answer !== null) answers.set(endpoint, answer)
    }
    if (!isWaiting() || now() >= until) break
  }
  const having = those('has')
  const lacking = isWaiting() ? those('denies', 'late') : those('denies')
  const isBelieved = having.length > lacking.length
  const contradicted = isBelieved ? lacking : having.length < lacking.length ? having : []
  for (const endpoint of contradicted) chain.penalize(endpoint, `other nodes contradict it about ${name}`)
  if (isBelieved) return null
  if (those('denies').length > 0) return { text: `nodes disagree about ${name}`, isDenied: true }
  const few = having.length === 0 ? 'no node' : 'no second node'
  return { text: `${few} has block ${block.number}, which showed ${name}`, isDenied: false }
}
