import { unzipSync } from 'fflate'
import { fetch } from 'undici'

const TIMEOUT_MS = 20_000

/** The longest history of all publishers is a tenth of this. */
const MOST_BYTES = 32 * 2 ** 20

type Options = { readonly signal?: AbortSignal | undefined; readonly timeoutMs?: number }

/** A fault in our own words; what others say may hold the URL. */
class Refused extends Error {}

const isZip = (bytes: Uint8Array): boolean => bytes[0] === 0x50 && bytes[1] === 0x4b

/** The text behind a URL, until `signal` aborts; of a zip archive its first CSV file. Throws an Error that tells the host and never the rest of the URL. */
export const download = async (url: string, { signal, timeoutMs = TIMEOUT_MS }: Options = {}): Promise<string> => {
  const { host } = new URL(url)
  try {
    const response = await fetch(url, {
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]),
    })
    if (!response.ok || response.body === null) throw new Refused(`status ${response.status}`)
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of response.body) {
      size += chunk.byteLength
      if (size > MOST_BYTES) throw new Refused('too long an answer')
      chunks.push(chunk)
    }
    const bytes = Buffer.concat(chunks)
    if (!isZip(bytes)) return bytes.toString('utf8')
    const files = unzipSync(bytes, {
      filter: ({ name, originalSize }) => name.endsWith('.csv') && originalSize <= MOST_BYTES,
    })
    const [first] = Object.values(files)
    if (first === undefined) throw new Refused('no CSV file in the archive')
    return Buffer.from(first).toString('utf8')
  } catch (fault) {
    const isTimeout = fault instanceof Error && fault.name === 'TimeoutError'
    const reason =
      fault instanceof Refused ? fault.message : isTimeout ? 'no answer in time' : 'no connection or no answer to read'
    throw new Error(`${host}: ${reason}`)
  }
}
