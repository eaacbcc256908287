import { amountText } from './amount.ts'
import { chainText } from './terms.ts'

/** What an amount is in: every row of the API has these fields. */
export type Token = { readonly symbol: string | null; readonly decimals: number | null }

/** The name of the units of an amount: the symbol, or `units` where the token has no decimals. */
export const unitOf = ({ symbol, decimals }: Token): string =>
  decimals === null ? 'units' : chainText(symbol ?? 'tokens', 12)

/** An amount in a sentence, in units of a token with its symbol: `438.59 USDC`, `16,128 USDC`. */
export const moneyText = (amount: bigint, token: Token): string =>
  `${amountText(amount, token.decimals ?? 0).replace(/\.00$/, '')} ${unitOf(token)}`
