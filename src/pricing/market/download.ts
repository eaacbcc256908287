import { Unzip, UnzipInflate } from 'fflate'
import { fetch } from 'undici'
import { MAX_BYTES } from './formats.ts'

const TIMEOUT_MS = 20_000

/** Bytes that each byte of an archive may unpack to: rates take between 3 and 10, and what is made to fill the memory 1,000. */
const MAX_RATIO = 100

/** Bytes of an archive that are unpacked at a time. They become at most 1,032 times as many, before those are counted. */
const STEP = 8_192

type Options = { readonly signal?: AbortSignal | undefined; readonly timeoutMs?: number }

/** A fault in our own words; what others say may hold the URL. */
class Refused extends Error {}

const isZip = (bytes: Uint8Array): boolean => bytes[0] === 0x50 && bytes[1] === 0x4b

/** The first CSV file of an archive. What is unpacked is counted, since the sizes in an archive may be wrong. */
const unpack = (archive: Uint8Array): string => {
  const chunks: Uint8Array[] = []
  let size = 0
  let state: 'searching' | 'unpacking' | 'done' = 'searching'
  const unzip = new Unzip((file) => {
    if (state !== 'searching' || !file.name.endsWith('.csv')) return
    state = 'unpacking'
    file.ondata = (fault, chunk, isLast) => {
      if (fault) throw fault
      size += chunk.byteLength
      if (size > MAX_BYTES) throw new Refused(`the rates unpack to more than ${MAX_BYTES} bytes`)
      if (size > MAX_RATIO * archive.byteLength)
        throw new Refused(`the rates unpack to more than ${MAX_RATIO} times the bytes of the archive`)
      chunks.push(chunk)
      if (isLast) state = 'done'
    }
    file.start()
  })
  unzip.register(UnzipInflate)
  const isDone = (): boolean => state === 'done'
  for (let at = 0; at < archive.byteLength && !isDone(); at += STEP)
    unzip.push(archive.subarray(at, at + STEP), at + STEP >= archive.byteLength)
  if (state === 'searching') throw new Refused('no CSV file in the archive')
  if (!isDone()) throw new Refused('the archive ends within its CSV file')
  return Buffer.concat(chunks).toString('utf8')
}

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
      if (size > MAX_BYTES) throw new Refused(`the answer is longer than ${MAX_BYTES} bytes`)
      chunks.push(chunk)
    }
    const bytes = Buffer.concat(chunks)
    return isZip(bytes) ? unpack(bytes) : bytes.toString('utf8')
  } catch (fault) {
    const isTimeout = fault instanceof Error && fault.name === 'TimeoutError'
    const reason =
      fault instanceof Refused ? fault.message : isTimeout ? 'no answer in time' : 'no connection or no answer to read'
    throw new Error(`${host}: ${reason}`)
  }
}
