import type { Chain } from '../chain/chain.ts'
import { getBlock } from '../chain/requests.ts'
import { isMadeUp } from '../chain/standing.ts'
import type { StoredBlock } from '../db/stored.ts'
import type { Logger } from '../lib/log.ts'

/** Whether a block that some endpoint denies is off the chain. */
export type Dispute = {
  /**
   * Asks every endpoint about a block; gives those to believe that it is gone, or null while it stands. It is gone when no endpoint has
   * it any more, when more of them agree on another block than still have it, or when those have stopped while the others went on. Those that
   * deny it otherwise are doubted. Throws `service_unavailable` when none answers.
   */
  isGone(block: StoredBlock): Promise<readonly number[] | null>
  /** The endpoints' quarrel, in words, for a minute; null when there was none. */
  trouble(): string | null
  /** The block was confirmed. */
  over(): void
}

/** Seconds of the chain that an endpoint has to be behind those that deny a block for its word not to count. */
const STOPPED_SECONDS = 5n

/** How long the word of one endpoint has to stay the same while others are configured and say nothing, in milliseconds. */
const ALONE_MS = 10_000

const TOLD_MS = 60_000

/** One word alone may be of a node that went astray, and every reorg costs rows. */
export const createDispute = ({ chain, log }: { readonly chain: Chain; readonly log: Logger }): Dispute => {
  let denied: { readonly number: bigint; readonly hash: string; readonly since: number } | null = null
  let quarrel: { readonly words: string; readonly at: number } | null = null

  const tell = (words: string): void => {
    if (quarrel?.words !== words) log.warn({ chainId: chain.chainId }, words)
    quarrel = { words, at: Date.now() }
  }

  /** The only one that tells: believed at once where there is no other, else when it keeps saying the same. */
  const believeAlone = (number: bigint, hash: string): boolean => {
    const before = denied?.number === number && denied.hash === hash ? denied : null
    denied = before ?? { number, hash, since: Date.now() }
    const { length } = chain.status().endpoints
    if (length > 1) tell(`one node alone denies block ${number}`)
    return before !== null && (length === 1 || Date.now() - before.since >= ALONE_MS)
  }

  return {
    async isGone({ number, hash }) {
      const opinions = await chain.opinions([getBlock(number), getBlock('latest')])
      const told = opinions.flatMap(({ endpoint, outcomes: [block, head] }) =>
        block.ok && block.value !== null && head.ok && head.value !== null
          ? [{ endpoint, hash: block.value.hash, at: head.value.timestamp }]
          : [],
      )
      const deniers = told.filter((it) => it.hash !== hash)
      const holders = told.filter((it) => it.hash === hash)
      const [first] = deniers
      if (first === undefined) return null
      const believed = deniers.map(({ endpoint }) => endpoint)
      if (holders.length === 0) return deniers.length > 1 || believeAlone(number, first.hash) ? believed : null
      const alike = (of: string) => deniers.filter((it) => it.hash === of).map(({ endpoint }) => endpoint)
      const agreed = deniers.map((it) => alike(it.hash)).find(({ length }) => length > holders.length)
      if (agreed !== undefined && agreed.length > 1) return agreed
      const haveStopped = deniers.some(
        ({ at }) =>
          holders.every((holder) => at - holder.at > STOPPED_SECONDS) &&
          !isMadeUp(
            at,
            holders.map((holder) => holder.at),
            Date.now(),
          ),
      )
      if (haveStopped) return believed
      tell(`nodes disagree about block ${number}`)
      for (const endpoint of believed) chain.doubt(endpoint, `another hash of block ${number} than others`)
      return null
    },
    trouble: () => (quarrel !== null && Date.now() - quarrel.at < TOLD_MS ? quarrel.words : null),
    over() {
      denied = null
    },
  }
}
