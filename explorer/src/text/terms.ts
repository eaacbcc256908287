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

/** Bidirectional controls and other characters that change how the text around them is shown, or that show nothing. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** More than two marks over or under one letter, which would cover other lines. */
const PILES = /(\p{M}{2})\p{M}+/gu

/** A text from the chain: cut, and without characters that show nothing or change how others are shown. */
export const chainText = (text: string, most = MOST): string => {
  const shown = text.replace(INVISIBLE, '').replace(PILES, '$1').trim()
  const characters = [...shown]
  return characters.length > most ? `${characters.slice(0, most).join('')}…` : shown || '(no name)'
}

const escaped = (text: string): string =>
  text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Values of the chain as JSON. What `chainText` leaves out is an escape here: the value can still be read from it. */
export const chainJson = (values: object): string =>
  JSON.stringify(values, null, 2)
    .replace(INVISIBLE, (text) => (text === '\n' ? text : escaped(text)))
    .replace(PILES, (text, kept: string) => kept + escaped(text.slice(kept.length)))

/** A currency pair `USD/MXN`. Any other text is in quotes, so that it cannot pass for the words around it. */
export const pairText = (underlying: string): string => {
  const pair = chainText(underlying, 16)
  return /^[A-Za-z0-9]{2,8}\/[A-Za-z0-9]{2,8}$/.test(pair) ? pair : `“${pair.replace(/["“”]/g, "'")}”`
}

const sideText = ({ strike, strikeAbove }: Terms): string => `${strikeAbove ? 'above' : 'below'} ${rateText(strike)}`

/** What an event pays for, without its expiry: `USD/MXN above 19.2`. */
export const conditionText = (terms: Terms): string => `${pairText(terms.underlying)} ${sideText(terms)}`

/** `Pays if USD/MXN is above 19.2 on 3 Mar 2027, in full at 21 and above.` */
export const termsText = (terms: Terms & { readonly expiryDate: number }): string => {
  const cap =
    terms.payoutCap === 0n
      ? 'all or nothing'
      : `in full at ${rateText(terms.payoutCap)} and ${terms.strikeAbove ? 'above' : 'below'}`
  return `Pays if ${pairText(terms.underlying)} is ${sideText(terms)} on ${dateText(terms.expiryDate)}, ${cap}.`
}
