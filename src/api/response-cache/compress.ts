import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import Negotiator from 'negotiator'
import type { Bodies } from './entry.ts'

export type Encoding = Exclude<keyof Bodies, 'bytes'>

/** Bodies below this are sent as they are: compressing them saves no packet. */
export const THRESHOLD = 1_024

const BROTLI_QUALITY = 4

/** Bodies that are compressed at once. Others are sent as they are and compressed at a later hit. */
const AT_ONCE = 2

/** In our order: the smallest first. */
const encodings: readonly Encoding[] = ['br', 'gzip', 'identity']

/** Values of `Accept-Encoding` whose meaning is remembered; clients send few, and short ones. */
const orders = new LRUCache<string, readonly Encoding[]>({ max: 100 })
const MAX_REMEMBERED = 200

/** The encodings that a client accepts, best first; none when it refuses all that there are. */
export const acceptedEncodings = (header: string | undefined): readonly Encoding[] => {
  if (header === undefined) return ['identity']
  const known = orders.get(header)
  if (known !== undefined) return known
  const order = new Negotiator({ headers: { 'accept-encoding': header } }).encodings(encodings, {
    preferred: encodings,
  })
  if (header.length <= MAX_REMEMBERED) orders.set(header, order)
  return order
}

const toGzip = promisify(gzip)
const toBrotli = promisify(brotliCompress)
let running = 0

/** The body in every encoding, made by the thread pool; null for a small body, and while too many are made already. */
export const compress = async ({ identity, bytes }: Bodies): Promise<Bodies | null> => {
  if (bytes < THRESHOLD || running >= AT_ONCE) return null
  running += 1
  try {
    const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: bytes }
    return { identity, bytes, gzip: await toGzip(identity), br: await toBrotli(identity, { params }) }
  } finally {
    running -= 1
  }
}
