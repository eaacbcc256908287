import { getAddress } from 'viem'
import { type ChainId, chainFacts } from '../../src/protocol/chains.ts'
import type { ProfileName } from '../../src/protocol/profiles.ts'
import { createCast } from '../../src/sandbox/accounts.ts'
import { startAnvil } from '../../src/sandbox/anvil.ts'
import type { SandboxChain } from '../../src/sandbox/chain.ts'
import { deployProtocol } from '../../src/sandbox/deploy.ts'

/** Blocks that come quicker than a second apart take the chain's clock into the future; it begins so far back that it stays in the past. */
const HEAD_START_SECONDS = 86_400

const fees = {
  creationFee: 5_000_000n,
  hedgerFeeRate: 5_000n,
  payoutFeeRate: 5_000n,
  lpProfitFeeRate: 50_000n,
  creatorLoyaltyRate: 100_000n,
}

/** A node with the protocol on it as deployments of this profile are. The same address every time: two such nodes are two forks. */
export const openChain = async (chainId: ChainId, profile: ProfileName) => {
  const genesisTimestamp = Math.floor(Date.now() / 1000) - HEAD_START_SECONDS
  const anvil = await startAnvil({ chainId, genesisTimestamp })
  const cast = createCast()
  const symbols = Object.entries(chainFacts[chainId].paymentDecimals)
  const { diamond, tokens, deployBlock } = await deployProtocol({
    rpcUrl: anvil.url,
    profile,
    account: cast.owner.account,
    paymentTokens: symbols.map(([symbol, decimals]) => ({ symbol, decimals, name: symbol })),
    oracles: cast.oracles.map(({ account }) => account.address),
    oracleAdmin: cast.owner.account.address,
    fees,
  })
  const chain: SandboxChain = {
    chainId,
    rpcUrl: anvil.url,
    diamond: getAddress(diamond),
    tokens: symbols.map(([symbol, decimals]) => ({ symbol, decimals, address: getAddress(tokens[symbol] ?? '') })),
    deployBlock: Number(deployBlock),
  }
  return { chain, close: anvil.close }
}
