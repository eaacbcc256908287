/** The page after an answer, as `Link` says it: the request's own address with another cursor. */
export const nextLink = (url: string, cursor: string): string => {
  const { pathname, searchParams } = new URL(url, 'http://localhost')
  searchParams.set('cursor', cursor)
  return `<${pathname}?${searchParams}>; rel="next"`
}
