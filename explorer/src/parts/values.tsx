import { Link } from 'wouter-preact'
import { shortHex } from '../text/address.ts'
import { amountText, compactAmount, derivedRateText, exactAmount, rateText, shareText } from '../text/amount.ts'
import { type Token, unitOf } from '../text/money.ts'
import { dateAt, relativeText, timeText } from '../text/time.ts'

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

type RateProps = {
  readonly value: bigint
  /** It follows from other rates, so that its last digits mean nothing. */
  readonly derived?: boolean
}

/** A rate (1e6 fixed point), with the exact one as its title. */
export const Rate = ({ value, derived = false }: RateProps) => (
  <span class="amount" title={rateText(value)}>
    {derived ? derivedRateText(value) : rateText(value)}
  </span>
)

/** A share (1e6 fixed point of one) as a percentage, with the exact one as its title. */
export const Share = ({ value }: { readonly value: bigint }) => (
  <span class="amount" title={`${exactAmount(value, 4)} %`}>
    {shareText(value)}
  </span>
)

/** A time in Unix seconds as seen from now, with the time of UTC as its title. */
export const Time = ({ at }: { readonly at: number }) => (
  <time dateTime={dateAt(at).toISOString()} title={timeText(at)}>
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
