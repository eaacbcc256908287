import { promisify } from 'node:util'
import { unzip } from 'node:zlib'

/** The deepest nesting of a JSON body from another service. A body past a limit is never parsed. */
const MAX_DEPTH = 32

/**
 * Bytes of the size limit per list, object and element. `JSON.parse` takes seconds for megabytes of `[],[],` or of
 * distinct keys.
 */
const BYTES_PER_VALUE = 64

/** A body is too long or has too many values (`size`), or is nested too deep (`depth`). The message gives the limit. */
export class OversizedJson extends Error {
  override readonly name = 'OversizedJson'
  readonly kind: 'size' | 'depth'

  constructor(kind: OversizedJson['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const [OPEN_LIST, CLOSE_LIST] = [0x5b, 0x5d]
const [OPEN_OBJECT, CLOSE_OBJECT] = [0x7b, 0x7d]

/** The index at which the string that opens at `start` closes; the length of the text if it does not close. */
const endOfString = (text: Buffer, start: number): number => {
  for (let end = text.indexOf(QUOTE, start + 1); end !== -1; end = text.indexOf(QUOTE, end + 1)) {
    let before = end - 1
    while (text[before] === BACKSLASH) before -= 1
    // A quote after an odd number of backslashes is escaped.
    if ((end - before) % 2 === 1) return end
  }
  return text.length
}

/**
 * Throws OversizedJson for a text that would be slow to parse. `counted` values were counted before. One pass over the
 * bytes is enough: a multi-byte character of UTF-8 contains none of these bytes.
 */
const checkShape = (text: Buffer, maxValues: number, counted: number): void => {
  let depth = 0
  let values = counted
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at]
    if (byte === QUOTE) at = endOfString(text, at)
    else if (byte === COMMA) values += 1
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      values += 1
      depth += 1
      if (depth > MAX_DEPTH) throw new OversizedJson('depth', `nested more than ${MAX_DEPTH} levels deep`)
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1
    if (values > maxValues) throw new OversizedJson('size', `more than ${maxValues} values`)
  }
}

const decompress = promisify(unzip)

/** The first bytes of gzip and of deflate. No JSON begins with one of them. */
const COMPRESSED: readonly (number | undefined)[] = [0x1f, 0x78]

/** The text of a compressed body; the bytes as they are if they are something else. */
const decompressed = async (bytes: Buffer, maxBytes: number): Promise<Buffer> => {
  try {
    return await decompress(bytes, { maxOutputLength: maxBytes })
  } catch (fault) {
    if (!(fault instanceof RangeError)) return bytes
    throw new OversizedJson('size', `longer than ${maxBytes} bytes`)
  }
}

/** Reads a body up to `maxBytes`. Past that it throws OversizedJson; leaving the loop closes the connection. */
const readBytes = async (body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> => {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > maxBytes) throw new OversizedJson('size', `longer than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}

/** A text of which a part was read ahead of `JSON.parse`. */
type Extracted = {
  /** The text with a placeholder for that part. */
  readonly rest: Buffer
  /** Lists, objects and their elements in the part. */
  readonly values: number
  /** Puts the part into the parsed rest; undefined when it does not belong there. */
  restore(parsed: unknown): unknown
}

/** Reads a known part of a text ahead of `JSON.parse`; null if the text has none. */
export type ExtractPart = (text: Buffer) => Extracted | null

const parse = (text: Buffer, maxValues: number, counted = 0): unknown => {
  checkShape(text, maxValues, counted)
  try {
    return JSON.parse(text.toString())
  } catch {
    return undefined
  }
}

/**
 * As `parse`, with a part of the text extracted. Returns undefined for a text that must be parsed as a whole, for
 * example to find its error.
 */
const parseExtracted = (text: Buffer, maxValues: number, extract: ExtractPart): unknown => {
  const extracted = extract(text)
  if (extracted === null) return undefined
  try {
    return extracted.restore(parse(extracted.rest, maxValues, extracted.values))
  } catch (fault) {
    if (fault instanceof OversizedJson) return undefined
    throw fault
  }
}

/**
 * Reads the JSON body of another service; undefined for a text that is not JSON. Throws OversizedJson for more than
 * `maxBytes` bytes, more than one value per 64 of them, or more than 32 levels. Also throws the error of the body when
 * its connection breaks. The optional `extract` reads a part of the text and determines the value of that part. A body
 * that is gzip or deflate is decompressed, whatever its header, after a call of `onCompressed`.
 *
 * @example const user = await readJson(response.body, 2 ** 20)
 */
export const readJson = async (
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  extract?: ExtractPart,
  onCompressed = (): void => {},
): Promise<unknown> => {
  const bytes = await readBytes(body, maxBytes)
  const isCompressed = COMPRESSED.includes(bytes[0])
  if (isCompressed) onCompressed()
  const text = isCompressed ? await decompressed(bytes, maxBytes) : bytes
  const maxValues = maxBytes / BYTES_PER_VALUE
  const extracted = extract === undefined ? undefined : parseExtracted(text, maxValues, extract)
  return extracted === undefined ? parse(text, maxValues) : extracted
}
