import { rateText } from './amount.ts'
import { dateText } from './time.ts'

type Terms = {
  readonly underlying: string
  readonly strike: bigint
  readonly payoutCap: bigint
  readonly strikeAbove: boolean
}

/** The most characters of a name or pair that a page shows. Anyone may create an event. */
const MOST = 60

/** Bidirectional controls and other characters that change how the text around them is shown. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** More than two marks over or under one letter, which would cover other lines. */
const PILES = /(\p{M}{2})\p{M}+/gu

/** A text from the chain: cut, and without characters that change how others are shown. */
export const chainText = (text: string, most = MOST): string => {
  const shown = text.replace(INVISIBLE, '').replace(PILES, '$1')
  const characters = [...shown]
  return characters.length > most ? `${characters.slice(0, most).join('')}…` : shown || '(no name)'
}

/** What an event pays for, without its expiry: `USD/MXN above 19.2`. */
export const conditionText = ({ underlying, strike, strikeAbove }: Terms): string =>
  `${chainText(underlying, 16)} ${strikeAbove ? 'above' : 'below'} ${rateText(strike)}`

/** `Pays if USD/MXN is above 19.2 on 3 Mar 2027, at most at 21.` */
export const termsText = (terms: Terms & { readonly expiryDate: number }): string => {
  const cap =
    terms.payoutCap === 0n
      ? 'all or nothing'
      : `in full at ${rateText(terms.payoutCap)} and ${terms.strikeAbove ? 'above' : 'below'}`
  return `Pays if ${conditionText(terms)} on ${dateText(terms.expiryDate)}, ${cap}.`
}
