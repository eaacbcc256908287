import { randomUUID } from 'node:crypto'
import type { Hex } from 'viem'
import type { ExtractPart } from '../../lib/http/read-json.ts'
import { PackedLog } from '../../protocol/abi/packed-log.ts'

/*
 * Reads logs from the bytes of an answer. Most nodes write them in one form: no spaces, no escapes, lower case. Only
 * this form is read here. For any other form the whole answer is left to `JSON.parse` and `parseLogs`, and only these
 * reject anything.
 */

/** The result of `eth_getLogs`, read from the bytes of the answer. */
export class ScannedLogs {
  readonly logs: readonly PackedLog[]

  constructor(logs: readonly PackedLog[]) {
    this.logs = logs
  }
}

/** Thrown for a list in another form than most nodes use. */
class Unusual extends Error {
  override readonly name = 'Unusual'
}

/** What a hex digit in lower case stands for; more than 15 for any other byte. */
const NIBBLE = Uint8Array.from({ length: 256 }, (_, byte) => {
  const digit = '0123456789abcdef'.indexOf(String.fromCharCode(byte))
  return digit === -1 ? 255 : digit
})
const HEX = NIBBLE.map((nibble) => (nibble > 15 ? 0 : 1))
/** Bytes of a string that stand for themselves: no quote, no backslash, nothing beyond ASCII. */
const PLAIN = HEX.map((_, byte) => (byte >= 32 && byte < 127 && !'"\\'.includes(String.fromCharCode(byte)) ? 1 : 0))

const [QUOTE, COLON, COMMA, ZERO, X] = Buffer.from('":,0x')
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from('[]{}')

const keys = ['address', 'topics', 'data', 'blockNumber', 'blockHash', 'blockTimestamp', 'transactionHash', 'logIndex']
/** The keys that are read by their lengths: no two are equally long. */
const keyOfLength = Array.from({ length: 16 }, (_, length) => {
  const name = keys.find((key) => key.length === length)
  return name === undefined ? undefined : { name, bytes: Buffer.from(name) }
})
/** What the values of other keys may be, other than strings. `true` is not among them: the log may be `removed`. */
const literals = ['false', 'null'].map((literal) => Buffer.from(literal))
const NULL = Buffer.from('null')

/** Fewest and most characters of hex with its prefix. */
type Length = readonly [number, number]
const ADDRESS: Length = [42, 42]
const WORD: Length = [66, 66]
const QUANTITY: Length = [3, 66]

const asIs = (hex: string): Hex => hex as Hex

type Scanned = { readonly logs: readonly PackedLog[]; readonly end: number; readonly values: number }

/** Whether so many bytes of one text from a place on are those of another. */
const isSame = (one: Buffer, from: number, other: Buffer, at: number, length: number): boolean => {
  for (let nth = 0; nth < length; nth += 1) if (one[from + nth] !== other[at + nth]) return false
  return true
}

/** Reads the list that starts at `start`. Throws Unusual. */
const scan = (text: Buffer, start: number): Scanned => {
  let at = start
  /** Lists, objects and their elements, as `readJson` counts them. */
  let values = 0
  const bytes = Buffer.allocUnsafe((text.length - start) >> 1)
  let used = 0

  const unusual = (): never => {
    throw new Unusual(`byte ${at}`)
  }
  const pass = (byte: number | undefined): void => {
    if (text[at] !== byte) unusual()
    at += 1
  }
  const isNext = (expected: Buffer): boolean => isSame(expected, 0, text, at, expected.length)
  /** The end of a string whose bytes are all in the table. */
  const endOf = (from: number, table: Uint8Array): number => {
    let end = from
    while (table[text[end] ?? 0] === 1) end += 1
    if (text[end] !== QUOTE) unusual()
    return end
  }

  /** Reads hex that neighbouring logs mostly share: what was read last is known again by its bytes. */
  const shared = <T>([least, most]: Length, convert: (hex: string) => T): (() => T) => {
    let known = -1
    let length = 0
    let value: T
    return () => {
      pass(QUOTE)
      // The quote at its end as well.
      if (known === -1 || !isSame(text, known, text, at, length + 1)) {
        if (text[at] !== ZERO || text[at + 1] !== X) unusual()
        known = at
        length = endOf(at + 2, HEX) - at
        if (length < least || length > most) unusual()
        value = convert(text.toString('latin1', at, at + length))
      }
      at += length + 1
      return value
    }
  }
  const [addressOf, blockHashOf, firstTopicOf] = [shared(ADDRESS, asIs), shared(WORD, asIs), shared(WORD, asIs)]
  const [numberOf, timestampOf] = [shared(QUANTITY, BigInt), shared(QUANTITY, BigInt)]
  const indexOf = shared(QUANTITY, Number)

  /** Reads hex into `bytes`; gives where it lies there, up to `used`. */
  const bytesOf = (): number => {
    pass(QUOTE)
    pass(ZERO)
    pass(X)
    const from = used
    let [next, free] = [at, used]
    for (;;) {
      const high = NIBBLE[text[next] ?? 0] ?? 255
      if (high > 15) break
      const low = NIBBLE[text[next + 1] ?? 0] ?? 255
      if (low > 15) unusual()
      bytes[free] = (high << 4) | low
      free += 1
      next += 2
    }
    at = next
    used = free
    pass(QUOTE)
    return from
  }
  const wordOf = (): number => {
    const from = bytesOf()
    return used - from === 32 ? from : unusual()
  }

  /** Whether another element follows, at the end of one. */
  const isMore = (close: number | undefined): boolean => {
    const more = text[at] === COMMA
    if (more) values += 1
    else if (text[at] !== close) unusual()
    at += 1
    return more
  }
  const open = (byte: number | undefined): void => {
    pass(byte)
    values += 1
  }
  /** The key that comes next; '' for one that is not read. */
  const keyOf = (): string => {
    pass(QUOTE)
    const end = endOf(at, PLAIN)
    const key = keyOfLength[end - at]
    const name = key !== undefined && isNext(key.bytes) ? key.name : ''
    at = end + 1
    pass(COLON)
    return name
  }
  const isNull = (): boolean => {
    if (!isNext(NULL)) return false
    at += NULL.length
    return true
  }
  const passOver = (): void => {
    if (text[at] === QUOTE) at = endOf(at + 1, PLAIN) + 1
    else at += (literals.find(isNext) ?? unusual()).length
  }

  const logOf = (): PackedLog => {
    let address: Hex | undefined
    let firstTopic: Hex | undefined
    let blockNumber: bigint | undefined
    let blockHash: Hex | undefined
    let blockTimestamp: bigint | null = null
    let logIndex: number | undefined
    let [topicsAt, topicCount, dataAt, dataLength, txHashAt] = [0, 0, -1, 0, -1]
    open(OPEN_OBJECT)
    do {
      const key = keyOf()
      if (key === 'address') address = addressOf()
      else if (key === 'topics') {
        open(OPEN_LIST)
        firstTopic = firstTopicOf()
        topicsAt = used
        topicCount = 1
        for (; isMore(CLOSE_LIST); topicCount += 1) wordOf()
        if (topicCount > 4) unusual()
      } else if (key === 'data') {
        dataAt = bytesOf()
        dataLength = used - dataAt
      } else if (key === 'blockNumber') blockNumber = numberOf()
      else if (key === 'blockHash') blockHash = blockHashOf()
      else if (key === 'blockTimestamp') blockTimestamp = isNull() ? null : timestampOf()
      else if (key === 'transactionHash') txHashAt = wordOf()
      else if (key === 'logIndex') logIndex = indexOf()
      else passOver()
    } while (isMore(CLOSE_OBJECT))
    if (address === undefined || blockNumber === undefined || blockHash === undefined) return unusual()
    if (firstTopic === undefined || logIndex === undefined || dataAt === -1 || txHashAt === -1) return unusual()
    const parts = { firstTopic, topicsAt, topicCount, dataAt, dataLength, txHashAt }
    return new PackedLog({ address, blockNumber, blockHash, blockTimestamp, logIndex }, bytes, parts)
  }

  open(OPEN_LIST)
  const logs: PackedLog[] = []
  do logs.push(logOf())
  while (isMore(CLOSE_LIST))
  return { logs, end: at, values }
}

const scanOrNull = (text: Buffer, start: number): Scanned | null => {
  try {
    return scan(text, start)
  } catch (fault) {
    if (fault instanceof Unusual) return null
    throw fault
  }
}

const RESULT = '"result":'
/** Stands for the logs while the rest of an answer is parsed. No node knows it. */
const PLACEHOLDER = randomUUID()

type Answer = { result?: unknown }

/**
 * Reads the first list of logs of an answer ahead of `JSON.parse`: `ScannedLogs` take its place, if that is a result.
 */
export const extractLogs: ExtractPart = (text) => {
  const found = text.indexOf(`${RESULT}[{`)
  const start = found + RESULT.length
  const scanned = found === -1 ? null : scanOrNull(text, start)
  if (scanned === null) return null
  const { logs, end, values } = scanned
  const rest = Buffer.concat([text.subarray(0, start), Buffer.from(`"${PLACEHOLDER}"`), text.subarray(end)])
  return {
    rest,
    values,
    restore(parsed) {
      const answers: readonly (Answer | null)[] = Array.isArray(parsed) ? parsed : [parsed]
      const answer = answers.find((each) => each?.result === PLACEHOLDER)
      if (answer === undefined || answer === null) return undefined
      answer.result = new ScannedLogs(logs)
      return parsed
    },
  }
}
