import { promisify } from 'node:util'
import { brotliDecompress, gunzip } from 'node:zlib'
import { type Dispatcher, request } from 'undici'

const decoders: Readonly<Record<string, (bytes: Buffer) => Promise<Buffer>>> = {
  identity: async (bytes) => bytes,
  gzip: promisify(gunzip),
  br: promisify(brotliDecompress),
}

export type Question = {
  readonly method: 'GET' | 'HEAD'
  readonly encoding: 'identity' | 'gzip' | 'br'
  readonly ifNoneMatch?: string
}

/** An answer with its decoded body, and the errors of its framing. */
export type Reply = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly faults: readonly string[]
}

const MAX_BODY = 8_388_608
const WITHIN_MS = 20_000

const faultsOf = (asked: Question, status: number, headers: Reply['headers'], bytes: Buffer): string[] => {
  const { 'content-length': length, 'content-encoding': encoding = 'identity', etag } = headers
  const faults: string[] = []
  const isBare = asked.method === 'HEAD' || status === 304
  if (isBare && bytes.length > 0) faults.push(`a body of ${bytes.length} bytes`)
  if (!isBare && length !== undefined && Number(length) !== bytes.length)
    faults.push(`content-length ${length} of ${bytes.length} bytes`)
  if (encoding !== 'identity' && encoding !== asked.encoding) faults.push(`encoded as ${encoding}`)
  if (!headers.vary?.includes('accept-encoding')) faults.push('vary without accept-encoding')
  if (etag !== undefined && !/^W\/"[^"]+"$/.test(etag)) faults.push(`a tag that is not weak: ${etag}`)
  if (status === 304 && (etag === undefined || !asked.ifNoneMatch?.includes(etag)))
    faults.push(`304 with ${etag} for ${asked.ifNoneMatch}`)
  return faults
}

/** Sends a request to one API without a client that decodes the answer. */
export const ask = async (dispatcher: Dispatcher, url: string, asked: Question): Promise<Reply> => {
  const { method, encoding, ifNoneMatch } = asked
  const { statusCode, headers, body } = await request(url, {
    dispatcher,
    method,
    headers: { 'accept-encoding': encoding, ...(ifNoneMatch && { 'if-none-match': ifNoneMatch }) },
    headersTimeout: WITHIN_MS,
    bodyTimeout: WITHIN_MS,
  })
  const bytes = Buffer.from(await body.arrayBuffer())
  if (bytes.length > MAX_BODY) throw new RangeError(`${url} answers ${bytes.length} bytes`)
  const single = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
  const decode = decoders[bytes.length === 0 ? 'identity' : (single['content-encoding'] ?? 'identity')]
  if (decode === undefined) throw new Error(`${url} is encoded as ${single['content-encoding']}`)
  const faults = faultsOf(asked, statusCode, single, bytes)
  return { status: statusCode, headers: single, body: (await decode(bytes)).toString(), faults }
}
