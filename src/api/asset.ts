import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { isTag, tagsOf } from './if-none-match.ts'
import { acceptedEncodings, type Encoding, encode, THRESHOLD } from './response-cache/compress.ts'

/** A static document in its encodings. */
export type Asset = {
  readonly type: string
  readonly hash: string
  readonly etag: string
  readonly bodies: Readonly<Partial<Record<Encoding, Buffer>>>
}

/** The highest quality that takes tenths of a second for megabytes. The best one takes seconds and saves an eighth. */
const BROTLI_QUALITY = 5

const REVALIDATE = 'public, no-cache'
/** The caching of a URL with the hash of its content. */
export const IMMUTABLE = 'public, max-age=31536000, immutable'

const assetOf = async (type: string, identity: Buffer): Promise<Asset> => {
  const hash = createHash('sha256').update(identity).digest('base64url').slice(0, 22)
  // Weak, because one tag covers every encoding.
  const asset = { type, hash, etag: `W/"${hash}"` }
  if (identity.length < THRESHOLD) return { ...asset, bodies: { identity } }
  const [gzip, br] = [await encode(identity, 'gzip'), await encode(identity, 'br', BROTLI_QUALITY)]
  return { ...asset, bodies: { identity, gzip, br } }
}

/** Creates a document that is read and compressed at its first request (most have none), and again after a failure. */
export const createAsset = (type: string, read: () => Promise<Buffer> | Buffer): (() => Promise<Asset>) => {
  const cache = new LRUCache<string, Asset>({ max: 1, fetchMethod: async () => assetOf(type, await read()) })
  return () => cache.forceFetch(type)
}

const matchesEtag = (header: string | undefined, { hash }: Asset): boolean =>
  header !== undefined && tagsOf(header).some((tag) => tag === '*' || isTag(tag, hash))

/**
 * Sends a document in the best accepted encoding, or a 304 when the client has it. When the URL contains the hash of
 * the content as `version`, the response is immutable. `vary` has the headers of requests that choose it.
 */
export const sendAsset = (
  { headers }: FastifyRequest,
  reply: FastifyReply,
  asset: Asset,
  { version, vary = 'accept-encoding' }: { readonly version?: string | undefined; readonly vary?: string } = {},
) => {
  const { type, hash, etag, bodies } = asset
  reply.headers({ etag, vary, 'cache-control': version === hash ? IMMUTABLE : REVALIDATE })
  if (matchesEtag(headers['if-none-match'], asset)) return reply.code(304).send()
  const accepted = acceptedEncodings(headers['accept-encoding'])
  // A client that accepts none of the encodings gets the uncompressed body.
  const encoding = accepted.find((it) => bodies[it] !== undefined) ?? 'identity'
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  return reply.type(type).send(bodies[encoding])
}
