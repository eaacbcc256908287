import type { Address } from 'viem'
import type { Chain } from '../chain/chain.ts'
import { createTokens } from '../chain/tokens.ts'
import type { Renderer } from '../db/rendering.ts'
import type { Token } from '../protocol/tokens.ts'

export type EventTokens = {
  /** What the tokens of events return of themselves, as far as that has to be stored. Never throws what nodes throw. */
  read(events: readonly { readonly paymentToken: Address }[]): Promise<Token[]>
  /** Remembers that an answer was stored. */
  stored(tokens: readonly Token[]): void
}

/**
 * The tokens of events, but for those that are configured. One of which a node could not tell everything now is left out: what is stored of it stays,
 * and rows of one that was never known have no text. Each answer is stored once and not with every batch: two workers that got different answers
 * would otherwise undo each other's, and clear the rows of the token each time.
 */
export const createEventTokens = (chain: Chain, renderer: Renderer): EventTokens => {
  const { chainId } = chain
  const tokens = createTokens(new Map([[chainId, chain]]))
  const done = new WeakSet<Token>()
  const isConfigured = (address: Address): boolean => renderer.token(address, new Map()) !== null
  return {
    async read(events) {
      const all = [...new Set(events.map(({ paymentToken }) => paymentToken))]
      const addresses = all.filter((address) => !isConfigured(address))
      await Promise.allSettled(addresses.map((address) => tokens.ask(chainId, address)))
      const known = addresses.flatMap((address) => tokens.known(chainId, address) ?? [])
      return known.filter((token) => !done.has(token))
    },
    stored(answers) {
      for (const token of answers) done.add(token)
    },
  }
}
