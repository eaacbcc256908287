/** Characters (UTF-16 units) of a text in a request or from the chain. The deployed protocol takes names of 128 bytes and underlyings of 32. */
export const MAX_TEXT = 256

/**
 * The beginning of a text from the chain. Anybody may create an event, and a diamond may take longer texts than the deployed one: such an event
 * stays in the index like any other, and its text is cut, since rows, answers and an index of the database hold it. Logs and views are cut alike,
 * so that both give the same text; half of a surrogate pair becomes U+FFFD, as it does in the database.
 */
export const cutText = (text: string): string =>
  text.length <= MAX_TEXT ? text : Buffer.from(text.slice(0, MAX_TEXT), 'utf8').toString('utf8')
