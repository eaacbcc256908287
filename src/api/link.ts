import { isIgnored } from './cache-key.ts'

/** The page after an answer, for its `Link`: the request's own address with another cursor, without what is ignored. */
export const nextLink = (url: string, cursor: string): string => {
  const { pathname, searchParams } = new URL(url, 'http://localhost')
  for (const name of [...searchParams.keys()].filter(isIgnored)) searchParams.delete(name)
  searchParams.set('cursor', cursor)
  return `<${pathname}?${searchParams}>; rel="next"`
}
