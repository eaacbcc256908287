import type { Address } from 'viem'
import { chainFacts, type Deployment } from './chains.ts'

/** What amounts in a token mean; the last two are null for a contract that does not return them. */
export type Token = { readonly token: Address; readonly symbol: string | null; readonly decimals: number | null }

/** The tokens that are configured with a deployment. The chain is not asked for their symbols and decimals. */
export const configuredTokens = ({ chainId, usdc, usdt }: Pick<Deployment, 'chainId' | 'usdc' | 'usdt'>): Token[] => {
  const decimals: { readonly USDC: number; readonly USDT?: number } = chainFacts[chainId].paymentDecimals
  return [
    { token: usdc, symbol: 'USDC', decimals: decimals.USDC },
    ...(usdt === null ? [] : [{ token: usdt, symbol: 'USDT', decimals: decimals.USDT ?? null }]),
  ]
}
