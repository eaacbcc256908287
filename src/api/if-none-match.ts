/*
 * Proxies that compress a response change its tag, so that it differs from the tag of the uncompressed one: Apache,
 * Caddy and Jetty append `-gzip` or `--gzip`, others `;gzip` or `:br`, and some write it after the quotes. Proxies also
 * make a tag weak, or drop that mark.
 */

const ENTRY = /^(?:W\/)?"([^"]*)"([^"]*)$/i

/** What two proxies append at most: the name of a content coding after a separator. */
const APPENDED = /^(?:[-;:_.+]{1,2}(?:x-gzip|gzip|gz|brotli|br|zstd|deflate|compress)){0,2}$/i

/** The tags of an `If-None-Match` without the mark of weak ones and their quotes, with what was appended. `*` stays. */
export const tagsOf = (header: string): string[] =>
  header.split(',').flatMap((entry) => {
    const text = entry.trim()
    const [, tag, appended = ''] = ENTRY.exec(text) ?? []
    if (tag === undefined) return text === '*' ? [text] : []
    return [tag + appended]
  })

/** Whether a tag of a request is the service's own one, as it was sent or as a proxy has changed it. */
export const isTag = (given: string, own: string): boolean =>
  given.startsWith(own) && APPENDED.test(given.slice(own.length))
