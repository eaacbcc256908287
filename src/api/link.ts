import { isIgnored } from './response-cache/key.ts'

/** Longest `Link` header. Clients accept 16 KB of headers, and the longest meaningful URL has 5,000 characters. */
const MAX_LINK = 8_192

/** Most folders of a path. Real paths have fewer. */
const MAX_DEPTH = 16

/**
 * The URL of a page of the service relative to the URL of a request, because a proxy may serve the API below a path.
 * Undefined for what is no path, and above 16 folders.
 */
export const relativeUrl = (url: string, page: string): string | undefined => {
  const [path = ''] = url.replace(/^[a-z]+:\/\/[^/?]*/i, '').split('?', 1)
  const folders = path.split('/').length - 2
  if (!path.startsWith('/') || folders > MAX_DEPTH) return undefined
  return `${folders === 0 ? './' : '../'.repeat(folders)}${page}`
}

/**
 * Makes the `Link` header to the next page: the query of the request with the next cursor, without ignored parameters.
 * It has no path, so it is right under any path at which a proxy serves the API (RFC 3986, section 5.2). There is none
 * without a next page, and when it would be longer than 8 KB: the body has `meta.nextCursor` too.
 */
export const linkHeader = (url: string, cursor: string | null | undefined): { readonly link?: string } => {
  if (cursor == null) return {}
  const [, ...query] = url.split('?')
  const given = [...new URLSearchParams(query.join('?'))].filter(([name]) => name !== 'cursor' && !isIgnored(name))
  const link = `<?${new URLSearchParams([...given, ['cursor', cursor]])}>; rel="next"`
  return link.length <= MAX_LINK ? { link } : {}
}
