/**
 * Reads an amount in whole tokens. Throws a RangeError for text that is not a decimal number or has more decimals than
 * the token.
 *
 * @example
 * parseAmount('1.5', 6) // 1_500_000n
 */
export const parseAmount = (text: string, decimals: number): bigint => {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  if (whole === '') throw new RangeError(`not a decimal number: ${text}`)
  if (fraction.length > decimals) throw new RangeError(`more than ${decimals} decimals: ${text}`)
  return BigInt(`${sign}${whole}${fraction.padEnd(decimals, '0')}`)
}
