import { Link } from 'wouter-preact'
import { amountText, compactAmount, exactAmount, rateText } from '../text/amount.ts'
import { chainText } from '../text/terms.ts'
import { relativeText, timeText } from '../text/time.ts'

/** What an amount is in: every row of the API has these fields. */
export type Token = { readonly symbol: string | null; readonly decimals: number | null }

type AmountProps = { readonly value: bigint; readonly of: Token; readonly symbol?: boolean; readonly short?: boolean }

/**
 * An amount with two decimals, or with `short` three digits, and the exact one as its title. Without decimals, the units
 * of the token.
 */
export const Amount = ({ value, of, symbol = true, short = false }: AmountProps) => {
  const decimals = of.decimals ?? 0
  const unit = of.decimals === null ? 'units' : chainText(of.symbol ?? '', 12)
  return (
    <span class="amount" title={`${exactAmount(value, decimals)} ${unit}`}>
      {short ? compactAmount(value, decimals) : amountText(value, decimals)}
      {symbol && <small> {unit}</small>}
    </span>
  )
}

export const Rate = ({ value }: { readonly value: bigint }) => <span class="amount">{rateText(value)}</span>

/** A time in Unix seconds as seen from now, with the time of UTC as its title. */
export const Time = ({ at }: { readonly at: number }) => (
  <time dateTime={new Date(at * 1_000).toISOString()} title={timeText(at)}>
    {relativeText(at)}
  </time>
)

const shortHex = (hex: string): string => `${hex.slice(0, 6)}…${hex.slice(-4)}`

/** An account, which leads to what it holds. */
export const Account = ({ address }: { readonly address: string }) => (
  <Link href={`/wallet/${address}`} title={address} class="hash">
    {shortHex(address)}
  </Link>
)

/** A transaction; nothing where it is not known. */
export const Transaction = ({ chainId, hash }: { readonly chainId: number; readonly hash: string | null }) =>
  hash === null ? (
    <span class="muted">not known</span>
  ) : (
    <Link href={`/tx/${chainId}/${hash}`} title={hash} class="hash">
      {shortHex(hash)}
    </Link>
  )
