import { type Address, getAddress } from 'viem'
import type { ChainId, Deployment } from './chains.ts'

/** What amounts in a token mean; the last two are null for a contract that does not return them. */
export type Token = { readonly token: Address; readonly symbol: string | null; readonly decimals: number | null }

/** The tokens that are configured with a deployment. The chain is not asked for their symbols and decimals. */
export const configuredTokens = ({
  usdc,
  usdt,
  paymentDecimals: { USDC, USDT },
}: Pick<Deployment, 'usdc' | 'usdt' | 'paymentDecimals'>): Token[] => [
  { token: usdc, symbol: 'USDC', decimals: USDC },
  ...(usdt === null ? [] : [{ token: usdt, symbol: 'USDT', decimals: USDT ?? null }]),
]

/** The token that rows show: the configured one, else the stored one; null where neither is known. */
export type KnownTokens = (
  chainId: ChainId,
  address: Address,
  stored: Pick<Token, 'symbol' | 'decimals'> | null,
) => Token | null

/** The tokens that are known without a node. */
export const knownTokens = (deployments: readonly Deployment[]): KnownTokens => {
  const configured = new Map(
    deployments.map((deployment) => [
      deployment.chainId,
      new Map(configuredTokens(deployment).map((it) => [getAddress(it.token), it])),
    ]),
  )
  return (chainId, address, stored) => {
    const known = configured.get(chainId)?.get(address)
    if (known !== undefined) return known
    return stored === null || stored.decimals === null
      ? null
      : { token: address, symbol: stored.symbol, decimals: stored.decimals }
  }
}
