/** A text of the API or of a wallet as a sentence: with a capital letter and a full stop. */
export const sentenceText = (text: string): string => {
  const given = text.trim()
  return `${given.slice(0, 1).toUpperCase()}${given.slice(1)}${/[.!?…]$/.test(given) ? '' : '.'}`
}
