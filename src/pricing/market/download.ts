import { Unzip, UnzipInflate } from 'fflate'
import { fetch } from 'undici'
import { MAX_BYTES } from './formats.ts'

const TIMEOUT_MS = 20_000

/** Maximum unpacked bytes per byte of an archive. Files of rates reach 3 to 10; a decompression bomb reaches 1,000. */
const MAX_RATIO = 100

/** Bytes of an archive that are unpacked per step. They become at most 1,032 times as many before the limits apply. */
const STEP = 8_192

type Options = {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number
  /** Maximum size of the file in bytes, both as it is received and unpacked; 32 MiB unless given. */
  readonly maxBytes?: number
}

/** A fault with this module's own message. Messages of other modules may contain the URL. */
class DownloadError extends Error {}

const isZip = (bytes: Uint8Array): boolean => bytes[0] === 0x50 && bytes[1] === 0x4b

/**
 * The first CSV file of an archive. The unpacked bytes are counted, because the sizes in an archive's header may be
 * wrong.
 */
const unpack = (archive: Uint8Array, maxBytes: number): string => {
  const chunks: Uint8Array[] = []
  let size = 0
  let state: 'searching' | 'unpacking' | 'done' = 'searching'
  const unzip = new Unzip((file) => {
    if (state !== 'searching' || !file.name.endsWith('.csv')) return
    state = 'unpacking'
    file.ondata = (fault, chunk, isLast) => {
      if (fault) throw fault
      size += chunk.byteLength
      if (size > maxBytes) throw new DownloadError(`the rates unpack to more than ${maxBytes} bytes`)
      if (size > MAX_RATIO * archive.byteLength)
        throw new DownloadError(`the rates unpack to more than ${MAX_RATIO} times the bytes of the archive`)
      chunks.push(chunk)
      if (isLast) state = 'done'
    }
    file.start()
  })
  unzip.register(UnzipInflate)
  const isDone = (): boolean => state === 'done'
  for (let at = 0; at < archive.byteLength && !isDone(); at += STEP)
    unzip.push(archive.subarray(at, at + STEP), at + STEP >= archive.byteLength)
  if (state === 'searching') throw new DownloadError('no CSV file in the archive')
  if (!isDone()) throw new DownloadError('the archive ends within its CSV file')
  return Buffer.concat(chunks).toString('utf8')
}

/**
 * The text behind a URL, until `signal` aborts; of a zip archive its first CSV file. Throws an Error that names the
 * host and never the rest of the URL.
 */
export const download = async (url: string, options: Options = {}): Promise<string> => {
  const { signal, timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES } = options
  const { host } = new URL(url)
  try {
    const response = await fetch(url, {
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]),
    })
    if (!response.ok || response.body === null) throw new DownloadError(`status ${response.status}`)
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of response.body) {
      size += chunk.byteLength
      if (size > maxBytes) throw new DownloadError(`the answer is longer than ${maxBytes} bytes`)
      chunks.push(chunk)
    }
    const bytes = Buffer.concat(chunks)
    return isZip(bytes) ? unpack(bytes, maxBytes) : bytes.toString('utf8')
  } catch (fault) {
    const isTimeout = fault instanceof Error && fault.name === 'TimeoutError'
    const reason =
      fault instanceof DownloadError
        ? fault.message
        : isTimeout
          ? 'no answer in time'
          : 'no connection, or an unreadable answer'
    throw new Error(`${host}: ${reason}`)
  }
}
