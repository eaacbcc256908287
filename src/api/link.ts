import { isIgnored } from './response-cache/key.ts'

/** Characters of a `Link` at most: clients take headers of 16 KB in all, and the longest request that is not padded has 5,000. */
const MAX_LINK = 8_192

/**
 * The `Link` of an answer to the page after it: the request's own address with another cursor, without what is ignored. No header where there
 * is no such page, or where it would be longer than 8 KB; `meta.nextCursor` is in the body in any case.
 */
export const linkHeader = (url: string, cursor: string | null | undefined): { readonly link?: string } => {
  if (cursor == null) return {}
  const { pathname, searchParams } = new URL(url, 'http://localhost')
  for (const name of [...searchParams.keys()].filter(isIgnored)) searchParams.delete(name)
  searchParams.set('cursor', cursor)
  const link = `<${pathname}?${searchParams}>; rel="next"`
  return link.length <= MAX_LINK ? { link } : {}
}
