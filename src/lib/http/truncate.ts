/** The longest text of another service that is classified, logged or relayed, in characters. */
const MAX_LENGTH = 2_048

/**
 * Returns the first 2 KB of a text from another service. The cut is between two words, because half of a key would not
 * be recognised and removed.
 */
export const truncate = (text: string): string =>
  text.length <= MAX_LENGTH ? text : `${text.slice(0, Math.max(0, text.lastIndexOf(' ', MAX_LENGTH - 2)))} …`
