/** What an address in a path begins with, and how long the two are together. */
const ADDRESS = '/0x'
const ADDRESS_LENGTH = ADDRESS.length + 40

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

/** The digits of an address have no case; everything else in a path has. No route has two addresses. */
const withoutAddressCase = (path: string): string => {
  const at = path.indexOf(ADDRESS)
  const end = at + ADDRESS_LENGTH
  if (at === -1 || (path.length !== end && path[end] !== '/')) return path
  const digits = path.slice(at + ADDRESS.length, end)
  return digits.includes('/') ? path : path.slice(0, at + ADDRESS.length) + digits.toLowerCase() + path.slice(end)
}

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
  const key = withoutAddressCase(withoutTrailingSlash(path))
  const query = at === -1 ? '' : queryKey(url.slice(at + 1))
  return query === '' ? key : `${key}?${query}`
}
