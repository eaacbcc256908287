import { getAddress } from 'viem'
import type { ChainId } from '../../src/protocol/chains.ts'
import type { ProfileName } from '../../src/protocol/profiles.ts'
import type { SandboxChain } from '../../src/sandbox/chain.ts'
import { deployProtocol } from '../../src/sandbox/deploy.ts'
import { startAnvil } from '../../src/sandbox/parts/anvil.ts'
import { createAccounts } from '../../src/sandbox/story/accounts.ts'
import { factsOf } from '../support/known-chains.ts'

/**
 * Blocks less than a second apart move the chain's clock into the future. The clock starts so early that it stays in
 * the past.
 */
const HEAD_START_SECONDS = 86_400

const fees = {
  creationFee: 5_000_000n,
  hedgerFeeRate: 5_000n,
  payoutFeeRate: 5_000n,
  lpProfitFeeRate: 50_000n,
  creatorLoyaltyRate: 100_000n,
}

/**
 * A node with the protocol in this deployment profile. The address is always the same, so two such nodes are two forks.
 */
export const openChain = async (chainId: ChainId, profile: ProfileName) => {
  const genesisTimestamp = Math.floor(Date.now() / 1000) - HEAD_START_SECONDS
  const anvil = await startAnvil({ chainId, genesisTimestamp })
  const accounts = createAccounts()
  const facts = factsOf(chainId)
  const symbols = Object.entries(facts.paymentDecimals)
  const { diamond, tokens, deployBlock } = await deployProtocol({
    rpcUrl: anvil.url,
    profile,
    account: accounts.owner.account,
    paymentTokens: symbols.map(([symbol, decimals]) => ({ symbol, decimals, name: symbol })),
    oracles: accounts.oracles.map(({ account }) => account.address),
    oracleAdmin: accounts.owner.account.address,
    fees,
  })
  const chain: SandboxChain = {
    chainId,
    name: facts.name,
    symbol: facts.symbol,
    rpcUrl: anvil.url,
    diamond: getAddress(diamond),
    tokens: symbols.map(([symbol, decimals]) => ({ symbol, decimals, address: getAddress(tokens[symbol] ?? '') })),
    deployBlock: Number(deployBlock),
  }
  return { chain, close: anvil.close }
}
