/** Shorter parts of a path are words like `v3` or `rpc`, and a shorter password would take letters out of every text. */
const SHORTEST = { part: 8, credential: 5 }

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const bothWays = (texts: readonly string[]): string[] => [...new Set(texts.flatMap((text) => [text, decoded(text)]))]

/** What a store's URL says in its query are settings, `sslmode` or `application_name`, but for these. */
const SECRET_SETTING = /pass|key|secret|token/i

/** What of a URL lets somebody in: its password, and what its query says; too short a one is left out. None for what is no URL. */
export const credentialsOf = (text: string): string[] => {
  if (!URL.canParse(text)) return []
  const { protocol, password, searchParams } = new URL(text)
  const isWeb = protocol.startsWith('http')
  const said = [...searchParams].flatMap(([name, value]) => (isWeb || SECRET_SETTING.test(name) ? [value] : []))
  return bothWays([password, ...said].filter((it) => it.length >= SHORTEST.credential))
}

/**
 * What of a private URL must not be told: all of it, and each part that may be a key, as providers put them into the host, the path or the
 * query.
 *
 * @example partsOf('https://base.example/v3/0123456789abcdef') // the URL, base.example, 0123456789abcdef
 */
export const partsOf = (text: string): string[] => {
  if (!URL.canParse(text)) return []
  const { href, hostname, pathname } = new URL(text)
  const isName = /[a-z]/i.test(hostname) && hostname.includes('.')
  const parts = pathname.split('/').filter((part) => part.length >= SHORTEST.part)
  return [...new Set([text, href, ...(isName ? [hostname] : []), ...bothWays(parts), ...credentialsOf(text)])]
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')

/** As it stands inside of JSON. */
const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)

/** What takes every one of these texts out of another one, in JSON too. */
export const createScrub = (secrets: Iterable<string>): ((text: string) => string) => {
  const all = [...new Set([...secrets].flatMap((text) => [text, inJson(text)]))].filter((text) => text !== '')
  if (all.length === 0) return (text) => text
  // The longest first, or a part of it would leave the rest.
  const pattern = new RegExp(
    all
      .toSorted((a, b) => b.length - a.length)
      .map(escaped)
      .join('|'),
    'g',
  )
  return (text) => text.replace(pattern, '<secret>')
}
