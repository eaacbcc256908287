import type { Schemas } from 'fx-protection-client'
import type { Token } from './money.ts'

type Chain = Pick<Schemas['Chain'], 'usdc' | 'usdt' | 'paymentDecimals'>
type Log = Schemas['Transaction']['logs'][number]
type Activity = Pick<Schemas['Activity'], 'log' | 'args' | 'token' | 'symbol' | 'decimals'>

const same = (a: string | null, b: string | null): boolean =>
  a !== null && b !== null && a.toLowerCase() === b.toLowerCase()

/**
 * The token of the amounts of a log; null where it is not known. A log of the protocol has the token of its row of
 * activity. A log of a token has the token itself, which is one of these rows or a token of the chain.
 */
export const tokenOfLog = (log: Log, rows: readonly Activity[], chain: Chain | undefined): Token | null => {
  const args = JSON.stringify(log.args)
  const row =
    rows.find((one) => one.log === log.name && JSON.stringify(one.args) === args) ??
    rows.find(({ token }) => same(token, log.address))
  if (row !== undefined) return row.decimals === null ? null : row
  const tokens = [
    ['USDC', chain?.usdc ?? null],
    ['USDT', chain?.usdt ?? null],
  ] as const
  const symbol = tokens.find(([, address]) => same(address, log.address))?.[0]
  const decimals = symbol === undefined ? undefined : chain?.paymentDecimals[symbol]
  return symbol === undefined || decimals === undefined ? null : { symbol, decimals }
}
