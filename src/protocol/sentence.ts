import { type Range, worstCasePayout } from './payoff.ts'

/* Terms and amounts as text for people. Symbols and pairs are other people's text. */

/** What an event protects against; `expiryDate` in Unix seconds. */
export type Terms = Range & { readonly underlying: string; readonly expiryDate: bigint | number }

/** How amounts of a token are written; null for a token that does not return it. */
export type Unit = { readonly symbol: string | null; readonly decimals: number | null }

/** A purchase of protection. Amounts in token units, `deadline` in Unix seconds. */
export type Purchase = {
  readonly eventId: bigint | number
  readonly notional: bigint
  /** The most that the purchase may cost; absent while it is not known. */
  readonly maxCost?: bigint
}

/** The most characters of a text that others chose. */
const MAX_CHARACTERS = 40

/**
 * Everything but letters, digits, punctuation and symbols: characters that break the line, hide or stack. Letters that
 * are written from right to left would change the order of the digits around them.
 */
const UNSAFE =
  /[^\p{L}\p{N}\p{P}\p{S} ]|[\p{Default_Ignorable_Code_Point}\u2800]|[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/gu

/** A short text that reads the same as its characters, in one line. */
const plainText = (text: string): string =>
  (text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS - 1)}…`).replace(UNSAFE, ' ')

/** One word, such as a symbol or a pair, as it is. Any other text is put in quotes, so that it ends where it ends. */
export const wordText = (text: string): string => {
  const plain = plainText(text)
  return /^[\p{L}\p{N}\p{S}./_-]{1,16}$/u.test(plain) ? plain : JSON.stringify(plain)
}

/**
 * Writes an amount with the decimals of its token, exactly and without trailing zeros.
 *
 * @example
 * formatAmount(1_500_000n, 6) // '1.5'
 */
export const formatAmount = (amount: bigint, decimals: number): string => {
  const digits = String(amount < 0n ? -amount : amount).padStart(decimals + 1, '0')
  const point = digits.length - decimals
  let end = digits.length
  while (end > point && digits[end - 1] === '0') end -= 1
  return `${amount < 0n ? '-' : ''}${digits.slice(0, point)}${end > point ? `.${digits.slice(point, end)}` : ''}`
}

/** A 1e6 rate. */
export const rateText = (rate: bigint): string => formatAmount(rate, 6)

/** The last second that a date can have. */
const LAST_SECOND = 8_640_000_000_000n

/** A time in Unix seconds. */
export const timeText = (seconds: bigint | number): string =>
  BigInt(seconds) > LAST_SECOND
    ? `Unix second ${seconds}`
    : new Date(Number(seconds) * 1_000).toISOString().replace('.000', '')

/** An amount in token units with its symbol: `33.165 USDC`. */
export const amountText = (units: bigint, { symbol, decimals }: Unit): string =>
  decimals === null
    ? `${units} units of ${symbol === null ? 'the token' : wordText(symbol)}`
    : `${formatAmount(units, decimals)} ${symbol === null ? 'tokens' : wordText(symbol)}`

/** What an event protects against: `USD/GHS above 12, capped at 13.5, until the expiry 2026-12-01T00:00:00Z`. */
export const termsText = ({ underlying, strike, payoutCap, strikeAbove, expiryDate }: Terms): string => {
  const side = strikeAbove ? 'above' : 'below'
  const zone =
    payoutCap === 0n
      ? `at or ${side} ${rateText(strike)}, all or nothing`
      : `${side} ${rateText(strike)}, capped at ${rateText(payoutCap)}`
  return `${wordText(underlying)} ${zone}, until the expiry ${timeText(expiryDate)}`
}

/**
 * What a purchase gets and costs, as a part of a sentence. `event` is null while its terms are not known. The payout is
 * that before the payout fee.
 */
export const purchaseText = (event: Terms | null, { eventId, notional, maxCost }: Purchase, unit: Unit): string => {
  const cost = maxCost === undefined ? '' : `costs at most ${amountText(maxCost, unit)}`
  const bought = `protection of ${amountText(notional, unit)} in event ${eventId}`
  if (event === null) return cost === '' ? bought : `${bought}: ${cost}`
  const most = amountText(worstCasePayout(event, notional), unit)
  const payout = event.payoutCap === 0n ? `pays ${most} or nothing` : `pays at most ${most}`
  return `${bought} against ${termsText(event)}: ${payout}${cost && `, ${cost}`}`
}

/** Until when the transactions of a sentence are accepted, as a sentence of its own. */
export const signBeforeText = (seconds: bigint | number): string => `Sign before ${timeText(seconds)}.`
