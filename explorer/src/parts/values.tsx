import { Link } from 'wouter-preact'
import { shortHex } from '../text/address.ts'
import { amountText, compactAmount, exactAmount, rateText } from '../text/amount.ts'
import { type Token, unitOf } from '../text/money.ts'
import { relativeText, timeText } from '../text/time.ts'

export type { Token }

/** How many digits are shown: three, two decimals, or all, for what a person is about to sign. */
type Digits = 'short' | 'cents' | 'exact'

const texts: Readonly<Record<Digits, (value: bigint, decimals: number) => string>> = {
  short: compactAmount,
  cents: amountText,
  exact: exactAmount,
}

type AmountProps = {
  readonly value: bigint
  readonly of: Token
  readonly symbol?: boolean
  readonly digits?: Digits
}

/** An amount, with the exact one as its title. Without decimals, the units of the token. */
export const Amount = ({ value, of, symbol = true, digits = 'cents' }: AmountProps) => {
  const decimals = of.decimals ?? 0
  const unit = unitOf(of)
  return (
    <span class="amount" title={`${exactAmount(value, decimals)} ${unit}`}>
      {texts[digits](value, decimals)}
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
