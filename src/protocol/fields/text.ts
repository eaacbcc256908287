/**
 * Maximum characters (UTF-16 units) of a text in a request or from the chain. The deployed protocol takes names of 128
 * bytes and underlyings of 32.
 */
export const MAX_TEXT = 256

/**
 * Truncates a text from the chain to `MAX_TEXT` characters. Anyone may create an event, and a diamond may accept longer
 * texts than the deployed one. Such an event is indexed like any other. Its text is truncated because rows, answers and
 * a database index contain it. Texts of logs and views are truncated in the same way, so that both are equal. Half of a
 * surrogate pair becomes U+FFFD, as in the database.
 */
export const cutText = (text: string): string =>
  text.length <= MAX_TEXT ? text : Buffer.from(text.slice(0, MAX_TEXT), 'utf8').toString('utf8')
