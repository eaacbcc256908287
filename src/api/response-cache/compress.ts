import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import Negotiator from 'negotiator'
import { createConcurrencyLimit } from '../../lib/concurrency-limit.ts'
import { oncePerHeader } from '../accept.ts'
import type { Bodies } from './entry.ts'

export type Encoding = keyof Bodies

/** Smallest body that is compressed, in bytes. Compressing a smaller one saves no packet. */
export const THRESHOLD = 1_024

const BROTLI_QUALITY = 4

/** Most concurrent compressions. Other bodies are sent uncompressed and compressed at a later hit. */
const MAX_CONCURRENT = 2

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
const busy = new Error('too many bodies are being compressed')
const limited = createConcurrencyLimit({ atOnce: MAX_CONCURRENT, waiting: 0, refuse: () => busy })

/** Compresses a body into each encoding, in the thread pool. */
export const encode = async (body: Buffer, quality: number) => {
  const params = { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_SIZE_HINT]: body.length }
  return { gzip: await toGzip(body), br: await toBrotli(body, { params }) }
}

/** Returns the body in every encoding; null for a small body. Throws while too many bodies are being compressed. */
export const compress = async ({ identity }: Bodies): Promise<Bodies | null> =>
  identity.length < THRESHOLD ? null : limited(async () => ({ identity, ...(await encode(identity, BROTLI_QUALITY)) }))
