import { unavailable } from '../../lib/errors.ts'
import { createSingleFlight } from '../../lib/single-flight.ts'
import type { Node } from '../pool/failover.ts'
import type { Batch, EndpointAnswer, Outcomes } from '../rpc/batch.ts'
import { Preconfirmed, toServiceError } from '../rpc/errors.ts'
import { type Block, getBlock } from '../rpc/requests.ts'
import type { Outcome } from '../rpc/transport.ts'
import { agreeOnHead, type QueryAll } from './agreed.ts'
import { createPace } from './pace.ts'

/** A batch's answer together with the newest block of the endpoint that gave it. */
type Polled<B extends Batch> = EndpointAnswer<B> & { readonly head: Block }

/** A head that another process has checked and stored, and its age in milliseconds. */
export type StoredHead = { readonly block: Block; readonly ageMs: number }

/**
 * The newest block of a chain. What a node calls its newest block is a claim. It is taken for one when the chain can
 * have made so many blocks since the last one (`createPace`). Otherwise, and every few minutes, two endpoints have to
 * agree on a block, or the only one that answers has to return it by its number, and the block before it.
 */
export type Head = {
  /**
   * The block that reads are pinned to: a checked one that is at most `maxAgeMs` old, by the polls of this process or
   * as stored by another one, else from the nodes; concurrent readers share a request. A lower block replaces it only
   * after it was reported for ten seconds, or after `drop`. When the block is below `atLeast`, the nodes are asked, and
   * their block is returned even if it is still below. Throws `service_unavailable` when no node answers.
   */
  latest(atLeast?: bigint): Promise<Block>
  /** The newest block of the nodes, read after this call or with another reader's request that is under way. */
  fresh(): Promise<Block>
  /**
   * Sends a batch and asks the endpoint for its newest block with it, which may be below that of others. Throws
   * `service_unavailable` when no endpoint answers, or when the one that did claims a head that it should not have.
   */
  poll<const B extends Batch>(batch: B, options?: PollOptions<B>): Promise<Polled<B>>
  /**
   * Discards the block because no node has it, so the next reader requests a new one. An endpoint whose blocks are
   * discarded twice in a row is penalized.
   */
  drop(block: Block): void
}

type PollOptions<B extends Batch> = { readonly isAnswer?: (outcomes: Outcomes<B>) => boolean }

/** Readers share a head that one of them has asked for for so long at most, in milliseconds. */
const SHARED_MS = 200

/** A lower head may come from a lagging node; only a chain that went back reports it for this long. */
const LOWER_PERSISTS_MS = 10_000

/**
 * The least age of the reference block, whose hash shows that a node is on the same chain as before; its age is at most
 * twice that.
 */
const REFERENCE_MS = 2_000

/**
 * A fork that no node contradicts for this long is the chain. A shorter one may be a single node's while others do not
 * answer.
 */
const FORK_PERSISTS_MS = 2_000

/** Two newest blocks of one endpoint within this time that no node has are not a reorg: the endpoint is penalized. */
const SUSPECTED_AGAIN_MS = 10_000

/** The endpoints are asked to agree after the first, then after twice the time before, up to the last, in milliseconds. */
const AGREE_MS = { first: 10_000, last: 300_000 }

type KnownHead = {
  readonly block: Block
  readonly endpoint: number
  /** When a head was last requested, and until when readers share it. */
  readonly requestedAt: number
  readonly sharedUntil: number
  /** When this block was reported. */
  readonly reportedAt: number
}
type ReferenceBlock = { readonly block: Block; readonly since: number }

export const createHead = (deps: {
  readonly node: Pick<Node, 'sendBy'>
  readonly queryAll: QueryAll
  readonly penalize: (endpoint: number, why: string) => void
  /** There is only one endpoint, so no answer can be checked against another one. */
  readonly isAlone: boolean
  readonly maxAgeMs: number
  /** The head that another process has stored; null when there is none. */
  readonly stored?: () => Promise<StoredHead | null>
  /** In milliseconds since the epoch. */
  readonly now: () => number
}): Head => {
  const { node, penalize, isAlone, maxAgeMs, stored, now } = deps
  let known: KnownHead | undefined
  let reference: ReferenceBlock | undefined
  let nextReference: ReferenceBlock | undefined
  let forkedSince: number | undefined
  let dropped: string | undefined
  let suspected: { readonly endpoint: number; readonly since: number; readonly at: number } | undefined
  const pace = createPace()
  let agreeAt = 0
  let agreeMs: number = AGREE_MS.first
  const once = createSingleFlight<Block>()
  const denial = isAlone ? 'it does not return' : 'no other node has'

  /** The time, in milliseconds. A head that was reported at a later one is unknown: the clock was set back. */
  const timeNow = (): number => {
    const at = now()
    if (known !== undefined && at < known.requestedAt) known = undefined
    return at
  }

  /** Reference blocks are a few seconds old: few reorgs reach them, and every node has them. */
  const keepReference = (block: Block, at: number): void => {
    if (isAlone || (nextReference !== undefined && at - nextReference.since < REFERENCE_MS)) return
    reference = nextReference
    nextReference = { block, since: at }
  }

  /** An endpoint's newest block is one that no node has. Penalizes it when its blocks have been so for `ms`, twice. */
  const suspect = (endpoint: number, ms: number): void => {
    const at = now()
    const before = suspected?.endpoint === endpoint && at - suspected.at < SUSPECTED_AGAIN_MS ? suspected : null
    if (before !== null && at - before.since >= ms) penalize(endpoint, 'no node has its newest blocks')
    suspected = { endpoint, since: before?.since ?? at, at }
  }

  /** After a start, the head that was stored last shows how high the chain can be, although endpoints disagree. */
  const recall = async (): Promise<void> => {
    const before = (await stored?.()) ?? null
    if (before !== null) pace.see(before.block, now() - before.ageMs, { isAgreed: true })
  }

  /** Checks the head that an endpoint claims. Returns the one that counts in its place, and null when none does. */
  const check = async (claim: Block, endpoint: number): Promise<Block | null> => {
    const at = now()
    pace.hear(claim, at)
    if (at < agreeAt && pace.doubt(claim, at) === null) return claim
    agreeAt = at + agreeMs
    agreeMs = Math.min(2 * agreeMs, AGREE_MS.last)
    const { block, isOutvoted } = await agreeOnHead(deps, claim, endpoint)
    if (block !== null) pace.see(block, now(), { isAgreed: true })
    else if (!pace.isKnown()) await recall()
    if (block?.hash === claim.hash) return claim
    const doubt = pace.doubt(claim, now())
    if (doubt === null) {
      // Others may be a few blocks behind.
      if (!isOutvoted) return claim
      // A reorg of the newest blocks does this for a moment. The next claim is checked too.
      agreeAt = at
      suspect(endpoint, FORK_PERSISTS_MS)
      return block
    }
    penalize(endpoint, `${denial} its newest block ${claim.number}, and ${doubt}`)
    return block
  }

  /** Keeps a checked head, unless a higher one was reported a moment ago. Returns the head that readers get. */
  const keep = (block: Block, endpoint: number, sharedMs: number): Block => {
    const at = timeNow()
    const times = { requestedAt: at, sharedUntil: at + sharedMs }
    if (known !== undefined && block.number < known.block.number && at - known.reportedAt < LOWER_PERSISTS_MS) {
      known = { ...known, ...times }
      return known.block
    }
    known = { block, endpoint, reportedAt: at, ...times }
    pace.see(block, at)
    keepReference(block, at)
    return block
  }

  /** The newest block in an answer or, when that has no hash yet, the block before it. */
  const claimIn = async (latest: Outcome<Block | null>): Promise<Block> => {
    const isEarly = !latest.ok && latest.error instanceof Preconfirmed
    if (isEarly && latest.error.number === 0n) throw unavailable('the node has no block with a hash yet')
    const { block } = isEarly
      ? (await node.sendBy({ block: getBlock(latest.error.number - 1n) })).outcomes
      : { block: latest }
    if (!block.ok) throw toServiceError(block.error)
    if (block.value === null) throw unavailable('the node has no latest block')
    return block.value
  }

  const poll: Head['poll'] = async (batch, options) => {
    const latest = getBlock('latest')
    // The head comes first: what a node reads after it includes all of its block.
    const { endpoint, outcomes } = await node.sendBy({ latest, ...batch }, options)
    const claim = await claimIn((outcomes as unknown as { readonly latest: Outcome<Block | null> }).latest)
    const head = await check(claim, endpoint)
    if (head?.hash !== claim.hash) throw unavailable(`a node claims block ${claim.number}: ${denial} it`)
    keep(head, endpoint, maxAgeMs)
    return { endpoint, outcomes, head }
  }

  const fetch = async (): Promise<Block> => {
    const held = reference?.block
    const contradicts = ({ past }: { readonly past: Outcome<Block | null> | undefined }): string | null =>
      past?.ok === true && past.value !== null && past.value.hash !== held?.hash
        ? `block ${past.value.number} has another hash than before`
        : null
    const batch = { latest: getBlock('latest'), past: held && getBlock(held.number) }
    const { endpoint, outcomes } = await node.sendBy(batch, { contradicts })
    const claim = await claimIn(outcomes.latest)
    if (contradicts(outcomes) === null) forkedSince = undefined
    else {
      // After the clock was set back, the time begins again.
      if (forkedSince === undefined || forkedSince > now()) forkedSince = now()
      if (now() - forkedSince < FORK_PERSISTS_MS) throw unavailable('the nodes report another fork: retry after 1 s')
      known = undefined
      nextReference = undefined
    }
    const block = await check(claim, endpoint)
    if (block === null) throw unavailable('the nodes do not agree on the newest block: retry after 1 s')
    return keep(block, endpoint, Math.min(SHARED_MS, maxAgeMs))
  }

  /** The checked head that needs no request: that of this process or, if that is not recent, the stored one. */
  const recent = async (): Promise<Block | undefined> => {
    const at = timeNow()
    const own = known !== undefined && at <= known.sharedUntil ? known : undefined
    const other = own === undefined ? ((await stored?.()) ?? null) : null
    if (other === null || other.ageMs > maxAgeMs || other.block.hash === dropped) return own?.block
    pace.see(other.block, at - other.ageMs, { isAgreed: true })
    agreeAt = at + agreeMs
    // Readers never go back to a lower block.
    const isKept = known !== undefined && at - known.reportedAt <= maxAgeMs && known.block.number > other.block.number
    return isKept ? known?.block : other.block
  }

  return {
    async latest(atLeast = 0n) {
      const block = await recent()
      return block !== undefined && block.number >= atLeast ? block : once('latest', fetch)
    },
    fresh: () => once('latest', fetch),
    poll,
    drop({ hash }) {
      dropped = hash
      if (known?.block.hash !== hash) return
      suspect(known.endpoint, 0)
      known = undefined
    },
  }
}
