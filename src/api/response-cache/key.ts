/** The start of an address in a path, and the length of the whole. */
const ADDRESS = '/0x'
const ADDRESS_LENGTH = ADDRESS.length + 40

/** The start of an ignored parameter name in a URL. */
const IGNORED = /^(?:_|%5f)/i

/** Whether a parameter is ignored. Clients use names that start with `_` to make URLs unique. */
export const isIgnored = (name: string): boolean => name.startsWith('_')

const queryKey = (query: string): string =>
  query
    .split('&')
    .filter((part) => part !== '' && !IGNORED.test(part))
    .sort()
    .join('&')

/** Lowers the case of an address in a path. The rest of a path is case-sensitive. No route has two addresses. */
const withoutAddressCase = (path: string): string => {
  const at = path.indexOf(ADDRESS)
  const end = at + ADDRESS_LENGTH
  if (at === -1 || (path.length !== end && path[end] !== '/')) return path
  const digits = path.slice(at + ADDRESS.length, end)
  return digits.includes('/') ? path : path.slice(0, at + ADDRESS.length) + digits.toLowerCase() + path.slice(end)
}

/**
 * Makes the cache key of a URL, one for all that differ in the case of an address in the path, a slash at its end, the
 * order of the query, and ignored parameters. Null for a URL with a fragment, a host or a percent-encoded path: such
 * URLs are rare, and their variants could fill the cache.
 */
export const cacheKey = (url: string): string | null => {
  if (!url.startsWith('/') || url.includes('#')) return null
  const at = url.indexOf('?')
  const path = at === -1 ? url : url.slice(0, at)
  if (path.includes('%')) return null
  // The router ignores one slash at the end of a path, except for `/` itself.
  const key = withoutAddressCase(path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path)
  const query = at === -1 ? '' : queryKey(url.slice(at + 1))
  return query === '' ? key : `${key}?${query}`
}
