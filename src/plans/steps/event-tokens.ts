import { LRUCache } from 'lru-cache'
import type { Address } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import type { ChainId } from '../../protocol/chains.ts'

/**
 * The payment tokens of events that earlier plans have read. An event keeps its token, and a token that a reorg has
 * made wrong costs a plan one more request, since every plan reads it again.
 */
export type EventTokens = {
  known(chainId: ChainId, eventId: bigint): Address | undefined
  learn(chainId: ChainId, eventId: bigint, token: Address): void
}

/** The most events that are kept. */
const KEPT = 10_000

/** Creates the tokens of no events yet. Each one that is learnt also becomes known to its chain. */
export const createEventTokens = (chains: ReadonlyMap<ChainId, Pick<Chain, 'learnToken'>>): EventTokens => {
  const tokens = new LRUCache<string, Address>({ max: KEPT })
  return {
    known: (chainId, eventId) => tokens.get(`${chainId} ${eventId}`),
    learn(chainId, eventId, token) {
      tokens.set(`${chainId} ${eventId}`, token)
      chains.get(chainId)?.learnToken(token)
    },
  }
}
