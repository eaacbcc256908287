import type { Address } from 'viem'
import type { Deployment } from './chains.ts'

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
