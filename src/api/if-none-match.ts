/*
 * Proxies that compress a response change its tag, so that it differs from the tag of the uncompressed one: Apache, Caddy
 * and Jetty append `-gzip` or `--gzip`, others `;gzip` or `:br`, and some write it after the quotes. Proxies also make a
 * tag weak, or drop that mark.
 */

const ENTRY = /^(?:W\/)?"([^"]*)"([^"]*)$/i

/** The name of a content coding after a separator. */
const CODING = /[-;:_.+]{1,2}(?:x-gzip|gzip|gz|brotli|br|zstd|deflate|compress)$/i

/** Removes what two proxies appended. */
const withoutCodings = (text: string): string => text.replace(CODING, '').replace(CODING, '')

/** The tags of an `If-None-Match` without their quotes, the mark of weak ones, and what proxies appended. `*` stays. */
export const tagsOf = (header: string): string[] =>
  header.split(',').flatMap((entry) => {
    const text = entry.trim()
    if (text === '*') return [text]
    const [, tag, appended = ''] = ENTRY.exec(text) ?? []
    return tag === undefined || withoutCodings(appended) !== '' ? [] : [withoutCodings(tag)]
  })
