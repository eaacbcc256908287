import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import Negotiator from 'negotiator'
import { oncePerHeader } from '../accept.ts'
import type { Bodies } from './entry.ts'

export type Encoding = keyof Bodies
export type Compression = Exclude<Encoding, 'identity'>

/** Smallest body that is compressed, in bytes. Compressing a smaller one saves no packet. */
export const THRESHOLD = 1_024

/** The encodings in order of preference: smallest result first. */
const encodings: readonly Encoding[] = ['br', 'gzip', 'identity']

const parseAccepted = oncePerHeader((header): readonly Encoding[] =>
  new Negotiator({ headers: { 'accept-encoding': header } }).encodings(encodings, { preferred: encodings }),
)

/** Returns the encodings that a client accepts, best first; empty when it accepts none of them. */
export const acceptedEncodings = (header: string | undefined): readonly Encoding[] =>
  header === undefined ? ['identity'] : parseAccepted(header)

const toGzip = promisify(gzip)
const toBrotli = promisify(brotliCompress)

/** Compresses a body, in the thread pool. Brotli has the quality; 4 takes as long as gzip. */
export const encode = async (body: Buffer, encoding: Compression, quality = 4): Promise<Buffer> => {
  if (encoding === 'gzip') return toGzip(body)
  const params = { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_SIZE_HINT]: body.length }
  return toBrotli(body, { params })
}
