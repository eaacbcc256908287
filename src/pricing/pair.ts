/** Two currencies; a rate of the pair is QUOTE per 1 BASE. */
export type Pair = { readonly base: string; readonly quote: string }

const PAIR = /^([A-Z]{3})\/([A-Z]{3})$/

/** The pair of `BASE/QUOTE`, two different upper-case currency codes; undefined for any other text. */
export const parsePair = (text: string): Pair | undefined => {
  const [, base, quote] = PAIR.exec(text) ?? []
  return base === undefined || quote === undefined || base === quote ? undefined : { base, quote }
}

/** `BASE/QUOTE`. */
export const pairName = ({ base, quote }: Pair): string => `${base}/${quote}`

/** The inverted pair: its rates are the reciprocals. */
export const inverse = ({ base, quote }: Pair): Pair => ({ base: quote, quote: base })
