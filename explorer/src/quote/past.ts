import { ApiError, type RequestBody, type Row, type Schemas } from 'fx-protection-client'
import { rangeOf } from '../act/actions.ts'
import { sentenceText } from '../act/sentence.ts'
import { millionths } from '../charts/years.ts'
import { ratioText } from '../text/amount.ts'
import { moneyText, type Token } from '../text/money.ts'
import { chainText } from '../text/terms.ts'
import { durationText, monthText } from '../text/time.ts'

type Backtest = Schemas['Backtest']

/** The range of a backtest. */
export type PastTerms = RequestBody<'/v1/pricing/backtest'>

type Event = Pick<Row<'/v1/hedge/events'>, 'underlying' | 'strike' | 'payoutCap' | 'strikeAbove' | 'expiryDate'>

/** The notional of the past prices of an event, in whole tokens. */
const NOTIONAL = 10_000n

/** The range of an event for a notional of 10,000; null for one without a cap, which the engine does not price. */
export const eventTerms = ({ underlying, strike, payoutCap, strikeAbove, expiryDate }: Event): PastTerms | null => {
  if (payoutCap === 0n) return null
  const range = { underlying, strike: `${strike}`, payoutCap: `${payoutCap}`, strikeAbove }
  return rangeOf({ ...range, expiry: expiryDate, notional: `${NOTIONAL}` }, 0)
}

/** Whether the text of an event is a pair of two currency codes: others have no history. */
export const isPair = (underlying: string): boolean => /^[A-Z]{3}\/[A-Z]{3}$/.test(underlying)

const monthsText = (count: number): string => `${count} month${count === 1 ? '' : 's'}`

/** What a range cost and paid in all months together. */
export const pastText = ({ summary }: Backtest, token: Token): string => {
  const { firstDate, lastDate, dates, refused, premiumsUsd, payoutsUsd, ratio } = summary
  const since = `at the end of every month from ${monthText(firstDate)} to ${monthText(lastDate)}`
  if (ratio === null) return `The engine would have refused this range ${since} (${monthsText(dates + refused)}).`
  const cost = moneyText(millionths(premiumsUsd), token)
  const paid = moneyText(millionths(payoutsUsd), token)
  const each = `With interest counted, that is ${ratioText(ratio)} for each 1 of premium.`
  return `Bought ${since} (${monthsText(dates)}), it would have cost ${cost} in total and paid ${paid}. ${each}`
}

/** A fraction in percent with one decimal. */
export const percentOf = (fraction: number): string => `${Number((fraction * 100).toFixed(1))} %`

/** How far a rate is from that of its day, of which it is a multiple. */
const distanceText = (multiple: number, from: string): string => {
  const distance = percentOf(Math.abs(multiple - 1))
  return distance === '0 %' ? `at ${from}` : `${distance} ${multiple > 1 ? 'above' : 'below'} ${from}`
}

/** What was bought each time. */
export const eachText = ({ notional, horizonDays, strikeToSpot, payoutCapToSpot }: Backtest, token: Token): string => {
  const range = `the strike ${distanceText(strikeToSpot, 'the rate of the day')} and the cap ${distanceText(payoutCapToSpot, 'it')}`
  const bought = `${moneyText(millionths(notional), token)} of notional for ${durationText(horizonDays * 86_400)}`
  return `Each time: ${bought}, with ${range}, at the engine's price of that day.`
}

/** Which interest rates a backtest used. */
const rates: Readonly<Record<string, string>> = { known: 'only those known on the day; where there are none, no drift' }

export const ratesText = (name: string): string => rates[name] ?? chainText(name)

/** The year in which it paid most for its premiums, and how much. */
export const bestYear = ({ summary: { worstYear } }: Backtest): readonly [year: string, note: string] =>
  worstYear === null || worstYear.ratio === 0
    ? ['none', 'no year with six months or more paid']
    : [`${worstYear.year}`, `${ratioText(worstYear.ratio)} for each 1 of premium`]

/** Why there are no past prices of a range, as a sentence; undefined for an error that is no rejection of it. */
export const rejectionText = (error: unknown): string | undefined => {
  if (!(error instanceof ApiError) || error.status !== 400) return undefined
  const message = error.details[0]?.message ?? error.message
  if (/^no bundled history/.test(message))
    return 'There are no past prices of this pair: they need daily rates of both currencies since 1990.'
  return sentenceText(chainText(message, 200))
}
