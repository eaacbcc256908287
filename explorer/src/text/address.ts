/** An address or a hash, cut in its middle: `0x976E…0aa9`. */
export const shortHex = (hex: string): string => (hex.length > 14 ? `${hex.slice(0, 6)}…${hex.slice(-4)}` : hex)

/** Whether a text is an address. */
export const isAddress = (text: string): boolean => /^0x[0-9a-fA-F]{40}$/.test(text)

/** Whether a text is the hash of a transaction. */
export const isHash = (text: string): boolean => /^0x[0-9a-fA-F]{64}$/.test(text)
