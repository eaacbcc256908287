import type { Chain } from '../chain/chain.ts'
import { getBlock } from '../chain/requests.ts'
import type { StoredBlock } from '../db/query.ts'
import type { Logger } from '../lib/log.ts'

/** Whether a block that some endpoint denies is off the chain. */
export type Dispute = {
  /**
   * Asks every endpoint. The block is gone when none has it any more; where there is one endpoint alone, when that says the same again. Those
   * that deny a block which another one has are doubted. Throws `service_unavailable` when none answers.
   */
  isGone(block: StoredBlock): Promise<boolean>
  /** The endpoints' quarrel, in words; null when there is none. */
  trouble(): string | null
  /** The block was confirmed. */
  over(): void
}

/** One word alone may be of a node that went astray, and every reorg costs rows. */
export const createDispute = ({ chain, log }: { readonly chain: Chain; readonly log: Logger }): Dispute => {
  let denied: { readonly number: bigint; readonly hash: string } | null = null
  let quarrel: string | null = null

  return {
    async isGone({ number, hash }) {
      const opinions = await chain.opinions([getBlock(number)])
      const told = opinions.flatMap(({ endpoint, outcomes: [block] }) =>
        block.ok && block.value !== null ? [{ endpoint, hash: block.value.hash }] : [],
      )
      const others = told.filter((it) => it.hash !== hash)
      const [other] = others
      if (other === undefined) return false
      if (others.length < told.length) {
        quarrel = `nodes disagree about block ${number}`
        log.warn({ chainId: chain.chainId, block: number.toString() }, quarrel)
        for (const { endpoint } of others) chain.doubt(endpoint, `another hash of block ${number} than others`)
        return false
      }
      if (others.length > 1) return true
      const again = denied?.number === number && denied.hash === other.hash
      denied = { number, hash: other.hash }
      return again
    },
    trouble: () => quarrel,
    over() {
      denied = null
      quarrel = null
    },
  }
}
