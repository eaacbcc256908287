import { type Address, getAddress } from 'viem'
import type { ChainFacts, ChainId } from '../protocol/chains.ts'
import type { ProfileName } from '../protocol/profiles.ts'
import { deployProtocol } from './deploy.ts'
import type { Accounts } from './story/accounts.ts'
import type { PaymentToken } from './story/actions.ts'

/** A chain that a sandbox starts a node of. */
export type LocalChain = ChainFacts & {
  readonly chainId: ChainId
  /** 0 takes a free one. */
  readonly rpcPort: number
}

/** A sandbox chain with the protocol on it, and the first block that can contain its logs. */
export type SandboxChain = Pick<ChainFacts, 'name' | 'symbol'> & {
  readonly chainId: ChainId
  readonly rpcUrl: string
  readonly diamond: Address
  readonly tokens: readonly PaymentToken[]
  readonly deployBlock: number
}

/** The sandbox uses the protocol as specified. */
const PROFILE: ProfileName = 'reference'

const tokenNames: Readonly<Record<string, string>> = { USDC: 'USD Coin', USDT: 'Tether USD' }

/**
 * What the protocol charges in the sandbox: 5 tokens a creation; 0.5 %, 0.5 %, 5 %, and a tenth of the fees to the
 * creator.
 */
const feesFor = (decimals: number) => ({
  creationFee: 5n * 10n ** BigInt(decimals),
  hedgerFeeRate: 5_000n,
  payoutFeeRate: 5_000n,
  lpProfitFeeRate: 50_000n,
  creatorLoyaltyRate: 100_000n,
})

/** Deploys the protocol and the chain's payment tokens, with these accounts. Throws when a transaction reverts. */
export const deployOn = async (
  rpcUrl: string,
  { chainId, name, symbol, paymentDecimals }: Omit<LocalChain, 'rpcPort'>,
  accounts: Accounts,
): Promise<SandboxChain> => {
  const paymentTokens = Object.entries(paymentDecimals).map(([symbol, decimals]) => ({
    symbol,
    decimals,
    name: tokenNames[symbol] ?? symbol,
  }))
  const { diamond, tokens, deployBlock } = await deployProtocol({
    rpcUrl,
    profile: PROFILE,
    account: accounts.owner.account,
    paymentTokens,
    oracles: accounts.oracles.map(({ account }) => account.address),
    oracleAdmin: accounts.owner.account.address,
    pricingEngineSigner: accounts.engine.account.address,
    fees: feesFor(paymentTokens[0]?.decimals ?? 0),
  })
  const deployed = paymentTokens.map(({ symbol, decimals }) => {
    const address = tokens[symbol]
    if (address === undefined) throw new Error(`${symbol} was not deployed on chain ${chainId}`)
    return { symbol, decimals, address: getAddress(address) }
  })
  return {
    chainId,
    name,
    symbol,
    rpcUrl,
    diamond: getAddress(diamond),
    tokens: deployed,
    deployBlock: Number(deployBlock),
  }
}

/** The service's variables for this chain, with the names of `.env.example`. */
export const chainVariables = (chain: SandboxChain): Record<string, string> => {
  const values = {
    CHAIN_NAME: chain.name,
    NATIVE_SYMBOL: chain.symbol,
    RPC_URLS: chain.rpcUrl,
    PUBLIC_RPC_URL: chain.rpcUrl,
    DIAMOND_ADDRESS: chain.diamond,
    START_BLOCK: String(chain.deployBlock),
    PROFILE,
    // A chain without this token does not get one from the environment of the sandbox.
    USDT_ADDRESS: '',
    ...Object.fromEntries(
      chain.tokens.flatMap(({ symbol, address, decimals }) => [
        [`${symbol}_ADDRESS`, address],
        [`${symbol}_DECIMALS`, String(decimals)],
      ]),
    ),
  }
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${name}_${chain.chainId}`, value]))
}
