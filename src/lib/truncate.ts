/** Longest text of another service that is classified, logged or relayed, in characters. */
const MAX_LENGTH = 2_048

/**
 * The beginning of a text that another service wrote, at most 2 KB of it. It ends between two words, since half of a key would not be
 * recognised as one and removed.
 */
export const truncate = (text: string): string =>
  text.length <= MAX_LENGTH ? text : `${text.slice(0, Math.max(0, text.lastIndexOf(' ', MAX_LENGTH - 2)))} …`
