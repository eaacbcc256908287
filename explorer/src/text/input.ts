import { parseAmount } from 'fx-protection-client'

/** Digits with or without a separator of thousands, then decimals after a point. */
const DECIMAL = /^(?:\d{1,30}|\d{1,3}(?:([\s,_'])\d{3})(?:\1\d{3}){0,9})(?:\.\d{1,30})?$/

/**
 * What a person typed as an amount in units of a token; null for anything else, and for commas that do not separate
 * thousands: `1.000,50` may be meant in two ways.
 */
export const parseUnits = (text: string, decimals: number): bigint | null => {
  const given = text.trim()
  if (!DECIMAL.test(given)) return null
  try {
    return parseAmount(given.replace(/[^\d.]/g, ''), decimals)
  } catch {
    return null
  }
}

/** The same; null also for 0. */
export const parseDecimal = (text: string, decimals: number): bigint | null => parseUnits(text, decimals) || null

/** Whether a text is the id of a chain, event, position or deposit. */
export const isId = (text: string): boolean => /^\d{1,16}$/.test(text)
