import { deployOn } from '../../src/sandbox/chain.ts'
import { startAnvil } from '../../src/sandbox/parts/anvil.ts'
import { createAccounts } from '../../src/sandbox/story/accounts.ts'
import { createActions } from '../../src/sandbox/story/actions.ts'
import { SCENARIO_DAYS } from '../../src/sandbox/story/scenario.ts'
import { factsOf } from './known-chains.ts'

/** A node with the protocol on it, its clock at the beginning of the seeded story. */
export const startProtocolChain = async (chainId: 8453 | 56) => {
  const genesisTimestamp = Math.floor(Date.now() / 1000) - SCENARIO_DAYS * 86_400
  const node = await startAnvil({ chainId, genesisTimestamp })
  const accounts = createAccounts()
  const chain = await deployOn(node.url, { chainId, ...factsOf(chainId) }, accounts)
  return { node, accounts, chain, actions: createActions(chain) }
}
