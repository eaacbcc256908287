import { type ChainFacts, type ChainId, configureChains, knownChains } from '../../src/protocol/chains.ts'

/*
 * The chains of the tests: those that need no facts in the environment. Importing this file configures them for the
 * process.
 */

export const chainIds: readonly ChainId[] = [...knownChains.keys()]

configureChains(chainIds)

/** Name, symbol and decimals of one of these chains, for a deployment on it. */
export const factsOf = (chainId: ChainId): ChainFacts => {
  const known = knownChains.get(chainId)
  if (known === undefined) throw new RangeError(`no facts are known of chain ${chainId}`)
  return known
}
