/* CSV as RFC 4180 defines it: fields between commas, lines that end with CRLF. */

export const CRLF = '\r\n'

/** A value of a field. Null and undefined are an empty field. */
export type Cell = string | number | boolean | null | undefined

/**
 * A text that a spreadsheet could take as a formula (the list of OWASP, with the full-width forms), also after blanks,
 * and a text that begins with the quote that marks those.
 */
const FORMULA = /^(?:\s*[=+\-@＝＋－＠]|[\t\r\n'])/

/** A text that cannot become a formula: a leading `'` marks it, and no other text begins with one. */
const inert = (text: string): string => (FORMULA.test(text) ? `'${text}` : text)

const fieldOf = (cell: Cell): string => {
  const text = typeof cell === 'string' ? inert(cell) : String(cell ?? '')
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/**
 * A line without its end. Texts cannot become formulas: a reader takes one leading `'` away, if there is one.
 *
 * @example csvLine([1, 'a "b"', '=1+1', null]) // 1,"a ""b""",'=1+1,
 */
export const csvLine = (cells: readonly Cell[]): string => cells.map(fieldOf).join(',')
