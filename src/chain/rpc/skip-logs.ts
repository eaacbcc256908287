import { OversizedJson } from '../../lib/read-json.ts'

const LOGS = Buffer.from('"logs":[')
/** Spaces may follow the name and the colon. */
const NAME = LOGS.indexOf(':')
const [SPACE, OPEN, CLOSE] = [0x20, 0x5b, 0x5d]

/**
 * The bytes of a receipt without the elements of `logs`, so that a receipt of any length takes little memory. Their
 * texts are hex and contain no bracket. Throws OversizedJson when the answer has more than `maxBytes` bytes.
 */
export async function* skipLogs(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let length = 0
  /** Bytes of `LOGS` that were just read, and lists that are open since then. */
  let matched = 0
  let depth = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > maxBytes) throw new OversizedJson('size', `longer than ${maxBytes} bytes`)
    let start = 0
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at]
      if (depth > 0) {
        if (byte === OPEN) depth += 1
        else if (byte === CLOSE) depth -= 1
        if (depth === 0) start = at
      } else if (byte === LOGS[matched]) {
        matched += 1
        if (matched === LOGS.length) {
          yield chunk.subarray(start, at + 1)
          start = chunk.length
          matched = 0
          depth = 1
        }
      } else if (byte !== SPACE || matched < NAME) matched = byte === LOGS[0] ? 1 : 0
    }
    if (depth === 0) yield chunk.subarray(start)
  }
}
