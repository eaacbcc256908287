import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { acceptedEncodings, THRESHOLD } from './response-cache/compress.ts'

/** A document that is the same for every request, in each encoding that it has. */
type Asset = {
  readonly type: string
  readonly hash: string
  readonly etag: string
  readonly bodies: ReadonlyMap<string, Buffer>
}

/** The highest quality at which megabytes take tenths of a second; the best takes seconds for an eighth fewer bytes. */
const BROTLI_QUALITY = 5

const REVALIDATE = 'public, no-cache'
const IMMUTABLE = 'public, max-age=31536000, immutable'

const toGzip = promisify(gzip)
const toBrotli = promisify(brotliCompress)

const bodiesOf = async (body: Buffer): Promise<Asset['bodies']> => {
  const bodies = new Map([['identity', body]])
  if (body.length < THRESHOLD) return bodies
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
  }
  const [br, gz] = await Promise.all([toBrotli(body, { params }), toGzip(body)])
  return bodies.set('br', br).set('gzip', gz)
}

const assetOf = async (type: string, body: Buffer): Promise<Asset> => {
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 22)
  // Weak, because one tag covers every encoding.
  return { type, hash, etag: `W/"${hash}"`, bodies: await bodiesOf(body) }
}

/**
 * A document that is read and compressed at its first request, by the thread pool, and then kept: most processes never serve it. It is read
 * again after a failure.
 */
export const createAsset = (type: string, read: () => Promise<Buffer> | Buffer): (() => Promise<Asset>) => {
  const make = async (): Promise<Asset> => assetOf(type, await read())
  let made: Promise<Asset> | undefined
  return () => {
    made ??= make().catch((fault: unknown) => {
      made = undefined
      throw fault
    })
    return made
  }
}

const isHeld = (header: string | undefined, { hash }: Asset): boolean =>
  header?.split(',').some((tag) => [`"${hash}"`, '*'].includes(tag.trim().replace(/^W\//, ''))) === true

/**
 * Answers with a document in the best encoding that the client accepts, or 304 when the client has it. Where the URL holds the hash of the
 * content as `version`, the answer never has to be requested again.
 */
export const sendAsset = (
  { headers }: FastifyRequest,
  reply: FastifyReply,
  asset: Asset,
  version?: string,
): FastifyReply => {
  const { type, hash, etag, bodies } = asset
  reply.headers({ etag, vary: 'accept-encoding', 'cache-control': version === hash ? IMMUTABLE : REVALIDATE })
  if (isHeld(headers['if-none-match'], asset)) return reply.code(304).send()
  const accepted = acceptedEncodings(headers['accept-encoding'])
  // A client that accepts no encoding that there is gets the body as it is.
  const encoding = accepted.find((it) => bodies.has(it)) ?? 'identity'
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  return reply.type(type).send(bodies.get(encoding))
}
