import { parseAmount } from 'fx-protection-client'

/** What a person typed as an amount in units of a token; null for what is not a positive amount. */
export const parseDecimal = (text: string, decimals: number): bigint | null => {
  const plain = text.replace(/[\s,_']/g, '')
  if (!/^\d{1,30}(\.\d{1,30})?$/.test(plain)) return null
  try {
    const amount = parseAmount(plain, decimals)
    return amount > 0n ? amount : null
  } catch {
    return null
  }
}
