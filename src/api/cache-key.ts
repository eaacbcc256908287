/** An address or another hex number as a part of a path: its digits have no case. What is before them has. */
const HEX_SEGMENT = /(?<=\/0x)[0-9a-fA-F]+(?=\/|$)/g

/** The name of a parameter that is ignored, as it may be spelt in a URL. */
const IGNORED = /^(?:_|%5f)/i

/** Whether nothing is done about a parameter: names with `_` in front make URLs differ that ask for the same. */
export const isIgnored = (name: string): boolean => name.startsWith('_')

const queryKey = (query: string): string =>
  query
    .split('&')
    .filter((part) => part !== '' && !IGNORED.test(part))
    .sort()
    .join('&')

/**
 * The key under which the answer to a request's URL is kept, one for the spellings of it that mean the same: of hex in the path, of the order
 * of the query, and of parameters that are ignored. Null for a URL whose answer is not kept, since few clients spell theirs so and a few could
 * fill the cache with it: one with an encoded path or a host. A fragment is no part of a request.
 */
export const cacheKey = (url: string): string | null => {
  if (!url.startsWith('/') || url.includes('#')) return null
  const at = url.indexOf('?')
  const path = at === -1 ? url : url.slice(0, at)
  if (path.includes('%')) return null
  const key = path.replace(HEX_SEGMENT, (digits) => digits.toLowerCase())
  const query = at === -1 ? '' : queryKey(url.slice(at + 1))
  return query === '' ? key : `${key}?${query}`
}
