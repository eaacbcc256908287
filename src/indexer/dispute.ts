import type { Chain } from '../chain/chain.ts'
import { isImplausibleHead, isStopped } from '../chain/endpoints/ranking.ts'
import { type Block, getBlock, getChainId } from '../chain/rpc/requests.ts'
import type { StoredBlock } from '../db/stored.ts'
import { max } from '../lib/fixed.ts'
import type { Logger } from '../lib/observe/log.ts'
import { quorum, SINGLE_ANSWER_MS, type Since, sinceThen } from './agreement.ts'

/** Decides whether a block that an endpoint denies is orphaned. */
export type Dispute = {
  /**
   * Asks every endpoint about a block. Returns null while the block is valid, or else the endpoints whose answers to
   * trust. A block is orphaned when no endpoint has it, when more endpoints agree on another block than still have it,
   * when the endpoints that have it have stopped while the others advanced, or when the heads of all endpoints have been
   * below it for ten seconds. Endpoints that deny it in any other case are penalized. Throws `service_unavailable` when
   * no endpoint answers.
   */
  resolve(block: Pick<StoredBlock, 'number' | 'hash'>): Promise<readonly number[] | null>
  /** Whether every head was below the block, so that it has to be asked about again soon. */
  isWaiting(): boolean
  /** A sentence about a disagreement of endpoints in the last minute; null when there was none. */
  problem(): string | null
  /** Reports that the disputed block was confirmed. */
  confirm(): void
}

/**
 * How long every head has to be below a block until the block does not count any more, in milliseconds. While most heads
 * are for as long, this is a problem.
 */
const ABOVE_MS = 10_000

/** How long a disagreement is reported, in milliseconds. */
const REPORT_MS = 60_000

/** The head of an endpoint. */
type Known = { readonly endpoint: number; readonly head: Block }

/**
 * A single denial may come from a node on another fork, and every rollback deletes rows. So a denial needs
 * confirmation.
 */
export const createDispute = ({
  chain,
  log,
  now = Date.now,
}: {
  readonly chain: Pick<Chain, 'chainId' | 'status' | 'queryAllEndpoints' | 'penalize'>
  readonly log: Logger
  /** The clock, in milliseconds since the epoch. */
  readonly now?: () => number
}): Dispute => {
  /** Since when the only endpoint that answers has had another hash. */
  let denied: Since | null = null
  /** Since when every head has been below a block, and the heads of most endpoints. */
  let above: Since | null = null
  let mostlyAbove: Since | null = null
  let disagreement: { readonly message: string; readonly at: number } | null = null

  const report = (message: string): void => {
    if (disagreement?.message !== message) log.warn({ chainId: chain.chainId }, message)
    disagreement = { message, at: now() }
  }

  /**
   * Whether to trust the only endpoint that answers: on its second answer if it is the only one configured, else after
   * repeating it.
   */
  const trustSingle = (number: bigint, hash: string): boolean => {
    const before = denied
    denied = sinceThen(before, `${number} ${hash}`, now())
    const { length } = chain.status().endpoints
    if (length > 1) report(`only one node has a block ${number}, and with another hash`)
    const isRepeated = denied.of === before?.of && denied.since === before.since
    return isRepeated && (length === 1 || now() - denied.since >= SINGLE_ANSWER_MS)
  }

  /** Decides about a block that no endpoint has at its number: heads below it may only lag for a while. */
  const resolveAbsent = (number: bigint, hash: string, heads: readonly Known[]): readonly number[] | null => {
    const below = heads.filter((it) => it.head.number < number)
    const gaps = heads.filter((it) => it.head.number >= number)
    for (const { endpoint } of gaps) chain.penalize(endpoint, `it has no block ${number}, below its newest block`)
    const [gap] = gaps
    const before = above
    above = null
    if (gap !== undefined && below.length < quorum(chain)) {
      report(`a node with block ${gap.head.number} has no block ${number}`)
      return null
    }
    const newest = below.map((it) => it.head.number).reduce(max, 0n)
    report(`the index is at block ${number}, above the newest block of every node, ${newest}`)
    above = sinceThen(before, hash, now())
    return now() - above.since < ABOVE_MS ? null : below.map(({ endpoint }) => endpoint)
  }

  return {
    async resolve({ number, hash }) {
      // The head comes first: a node may get the block in between.
      const asked = { head: getBlock('latest'), block: getBlock(number), id: getChainId() }
      const all = (await chain.queryAllEndpoints(asked)).filter(({ endpoint, outcomes: { id } }) => {
        const isOther = id.ok && id.value !== chain.chainId
        // Behind one address may be nodes of several chains, and none of another one can deny a block of this one.
        if (isOther) chain.penalize(endpoint, 'it serves another chain')
        return !isOther
      })
      const heads = all.flatMap(({ endpoint, outcomes: { block, head } }) =>
        block.ok && head.ok && head.value !== null ? [{ endpoint, head: head.value, block: block.value }] : [],
      )
      const answers = heads.flatMap(({ endpoint, head, block }) =>
        block === null ? [] : [{ endpoint, hash: block.hash, at: head.timestamp }],
      )
      if (heads.length > 0 && answers.length === 0) return resolveAbsent(number, hash, heads)
      above = null
      const deniers = answers.filter((it) => it.hash !== hash)
      const holders = answers.filter((it) => it.hash === hash)
      const [first] = deniers
      if (holders.length > 0) denied = null
      mostlyAbove = heads.length > 2 * answers.length ? sinceThen(mostlyAbove, hash, now(), REPORT_MS) : null
      if (mostlyAbove !== null && now() - mostlyAbove.since >= ABOVE_MS)
        report(`the index is at block ${number}, above the newest block of most nodes`)
      if (first === undefined) return null
      const denying = deniers.map(({ endpoint }) => endpoint)
      if (holders.length === 0) return deniers.length > 1 || trustSingle(number, first.hash) ? denying : null
      const withHash = (of: string) => deniers.filter((it) => it.hash === of).map(({ endpoint }) => endpoint)
      const largest = deniers.map((it) => withHash(it.hash)).reduce((a, b) => (b.length > a.length ? b : a))
      if (largest.length > holders.length) return largest
      const haveStopped = deniers.some((denier) => {
        const others = answers.filter((it) => it !== denier).map(({ at }) => at)
        return (
          holders.every((holder) => isStopped(holder.at, denier.at, now())) &&
          !isImplausibleHead(denier.at, others, now())
        )
      })
      if (haveStopped) return denying
      report(`nodes disagree about block ${number}`)
      for (const endpoint of denying) chain.penalize(endpoint, `its hash of block ${number} differs from other nodes`)
      return null
    },
    isWaiting: () => above !== null,
    problem: () => (disagreement !== null && now() - disagreement.at < REPORT_MS ? disagreement.message : null),
    confirm() {
      denied = null
      above = null
      mostlyAbove = null
    },
  }
}
