/** An address as a part of a path: its digits have no case. Everything else in a path has. */
const ADDRESS_SEGMENT = /(?<=\/0x)[0-9a-fA-F]{40}(?=\/|$)/g

/** The name of a parameter that is ignored, as it may be spelt in a URL. */
const IGNORED = /^(?:_|%5f)/i

/** Whether a parameter is ignored: a name with `_` in front only makes URLs differ that ask for the same. */
export const isIgnored = (name: string): boolean => name.startsWith('_')

const queryKey = (query: string): string =>
  query
    .split('&')
    .filter((part) => part !== '' && !IGNORED.test(part))
    .sort()
    .join('&')

/** The router accepts one slash at the end of a path, except of `/` alone. */
const withoutTrailingSlash = (path: string): string =>
  path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path

/**
 * The key of the answer to a URL: one for all spellings that every route understands alike. Those are the case of an address in the path, a slash
 * at its end, the order of the query, and parameters that are ignored. Null for a URL with a fragment, a host or an encoded path: few clients
 * spell theirs so, and a few could fill the cache with variants.
 */
export const cacheKey = (url: string): string | null => {
  if (!url.startsWith('/') || url.includes('#')) return null
  const at = url.indexOf('?')
  const path = at === -1 ? url : url.slice(0, at)
  if (path.includes('%')) return null
  const key = withoutTrailingSlash(path).replace(ADDRESS_SEGMENT, (digits) => digits.toLowerCase())
  const query = at === -1 ? '' : queryKey(url.slice(at + 1))
  return query === '' ? key : `${key}?${query}`
}
