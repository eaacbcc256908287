/**
 * Encodes texts one after the other as UTF-8. Unlike one long string, they are never joined in the heap. Unlike a small
 * `Buffer.from`, the bytes share no block of memory, which one of them would keep alive as a whole.
 */
export const bytesOf = (...texts: readonly string[]): Buffer => {
  const bytes = Buffer.allocUnsafeSlow(texts.reduce((length, text) => length + Buffer.byteLength(text), 0))
  let end = 0
  for (const text of texts) end += bytes.write(text, end)
  return bytes
}
