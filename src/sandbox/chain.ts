import { type Address, getAddress } from 'viem'
import { type ChainId, chainFacts } from '../protocol/chains.ts'
import type { ProfileName } from '../protocol/profiles.ts'
import type { Cast } from './accounts.ts'
import type { PaymentToken } from './actions.ts'
import { deployProtocol } from './deploy.ts'

/** A sandbox chain with the protocol on it, and the first block that can hold its logs. */
export type SandboxChain = {
  readonly chainId: ChainId
  readonly rpcUrl: string
  readonly diamond: Address
  readonly tokens: readonly PaymentToken[]
  readonly deployBlock: number
}

/** The sandbox shows the protocol as the specification has it. */
const PROFILE: ProfileName = 'reference'

const tokenNames: Readonly<Record<string, string>> = { USDC: 'USD Coin', USDT: 'Tether USD' }

/** What the protocol charges in the sandbox: 5 tokens a creation; 0.5 %, 0.5 %, 5 %, and a tenth of the fees to the creator. */
const feesFor = (decimals: number) => ({
  creationFee: 5n * 10n ** BigInt(decimals),
  hedgerFeeRate: 5_000n,
  payoutFeeRate: 5_000n,
  lpProfitFeeRate: 50_000n,
  creatorLoyaltyRate: 100_000n,
})

/** Deploys the protocol and the chain's payment tokens, for this cast. Throws when a transaction reverts. */
export const deployOn = async (rpcUrl: string, chainId: ChainId, cast: Cast): Promise<SandboxChain> => {
  const paymentTokens = Object.entries(chainFacts[chainId].paymentDecimals).map(([symbol, decimals]) => ({
    symbol,
    decimals,
    name: tokenNames[symbol] ?? symbol,
  }))
  const { diamond, tokens, deployBlock } = await deployProtocol({
    rpcUrl,
    profile: PROFILE,
    account: cast.owner.account,
    paymentTokens,
    oracles: cast.oracles.map(({ account }) => account.address),
    oracleAdmin: cast.owner.account.address,
    pricingEngineSigner: cast.engine.account.address,
    fees: feesFor(paymentTokens[0]?.decimals ?? 0),
  })
  const deployed = paymentTokens.map(({ symbol, decimals }) => {
    const address = tokens[symbol]
    if (address === undefined) throw new Error(`${symbol} was not deployed on chain ${chainId}`)
    return { symbol, decimals, address: getAddress(address) }
  })
  return { chainId, rpcUrl, diamond: getAddress(diamond), tokens: deployed, deployBlock: Number(deployBlock) }
}

/** The service's variables for this chain, as `.env.example` names them. */
export const chainVariables = ({
  chainId,
  rpcUrl,
  diamond,
  tokens,
  deployBlock,
}: SandboxChain): Record<string, string> => ({
  [`RPC_URLS_${chainId}`]: rpcUrl,
  [`PUBLIC_RPC_URL_${chainId}`]: rpcUrl,
  [`DIAMOND_ADDRESS_${chainId}`]: diamond,
  [`START_BLOCK_${chainId}`]: String(deployBlock),
  [`PROFILE_${chainId}`]: PROFILE,
  ...Object.fromEntries(tokens.map(({ symbol, address }) => [`${symbol}_ADDRESS_${chainId}`, address])),
})
