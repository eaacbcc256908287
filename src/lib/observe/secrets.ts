/**
 * The least length of a secret. Shorter parts of a path are words like `v3` or `rpc`. Removing a shorter password would
 * cut ordinary letters out of every text.
 */
const SHORTEST = { part: 8, credential: 5 }

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const bothWays = (texts: readonly string[]): string[] => [...new Set(texts.flatMap((text) => [text, decoded(text)]))]

/** Query parameters of a database URL are settings such as `sslmode` or `application_name`, except those that match. */
const SECRET_SETTING = /pass|key|secret|token/i

/**
 * The credentials in a URL: its password and the secret values of its query. Short ones are left out. A text that is
 * not a URL has none.
 */
export const credentialsOf = (text: string): string[] => {
  if (!URL.canParse(text)) return []
  const { protocol, password, searchParams } = new URL(text)
  const isWeb = protocol.startsWith('http')
  const values = [...searchParams].flatMap(([name, value]) => (isWeb || SECRET_SETTING.test(name) ? [value] : []))
  return bothWays([password, ...values].filter((it) => it.length >= SHORTEST.credential))
}

/**
 * The secret parts of a private URL: the whole URL, and each part that may be a key. Providers put keys into the host,
 * the path or the query.
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

/** The text as it is written inside a JSON string. */
const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)

/** Returns a function that replaces each of these texts by `<secret>`, in JSON too. */
export const createScrub = (secrets: Iterable<string>): ((text: string) => string) => {
  const all = [...new Set([...secrets].flatMap((text) => [text, inJson(text)]))].filter((text) => text !== '')
  if (all.length === 0) return (text) => text
  // The longest first: replacing a shorter secret first would leave the rest of a longer one.
  const pattern = new RegExp(
    all
      .toSorted((a, b) => b.length - a.length)
      .map(escaped)
      .join('|'),
    'g',
  )
  return (text) => text.replace(pattern, '<secret>')
}
