import type { Address } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import { createTokens } from '../../chain/tokens.ts'
import { configuredTokens, type Token } from '../../protocol/tokens.ts'

export type EventTokens = {
  /** Reads the tokens of events and returns those that have to be stored. Never throws an error of a node. */
  read(events: readonly { readonly paymentToken: Address }[]): Promise<Token[]>
  /** Reports that tokens were stored. */
  stored(tokens: readonly Token[]): void
}

/**
 * Reads the tokens of events that are not configured. A token that a node could not answer completely is left out: a
 * stored one stays as it is, and readers ask for an unknown one themselves. Each answer is returned until it is stored
 * once, and again once the token has changed, not with every batch. Otherwise two workers with different answers would
 * overwrite each other's, and announce each of them.
 */
export const createEventTokens = (chain: Chain, now?: () => number): EventTokens => {
  const { chainId } = chain
  const tokens = createTokens(new Map([[chainId, chain]]), now)
  const done = new WeakSet<Token>()
  const configured = new Set(configuredTokens(chain.deployment).map(({ token }) => token.toLowerCase()))
  const isConfigured = (address: Address): boolean => configured.has(address.toLowerCase())
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
