import { isIgnored } from './response-cache/key.ts'

/** Longest `Link` header. Clients accept 16 KB of headers, and the longest meaningful URL has 5,000 characters. */
const MAX_LINK = 8_192

const ORIGIN = /^[a-z]+:\/\/[^/?]*/i

/**
 * Makes the `Link` header to the next page: the URL of the request with the next cursor, without ignored parameters.
 * There is none without a next page, and when it would be longer than 8 KB: the body has `meta.nextCursor` too.
 */
export const linkHeader = (url: string, cursor: string | null | undefined): { readonly link?: string } => {
  if (cursor == null) return {}
  // The request target may contain a host, which the client chose, so it is removed.
  const [path = '', ...query] = url.replace(ORIGIN, '').split('?')
  const given = [...new URLSearchParams(query.join('?'))].filter(([name]) => name !== 'cursor' && !isIgnored(name))
  const link = `<${path}?${new URLSearchParams([...given, ['cursor', cursor]])}>; rel="next"`
  return link.length <= MAX_LINK ? { link } : {}
}
