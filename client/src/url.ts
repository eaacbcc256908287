/** Parameters of a request: a list is sent as its values separated by commas, and undefined is left out. */
export type Given = Readonly<Record<string, unknown>>

/** Fills the placeholders of a path; all other parameters become the query. */
export const urlOf = (baseUrl: string, path: string, params: Given = {}): string => {
  const rest = { ...params }
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest[name]
    delete rest[name]
    if (value === undefined) throw new TypeError(`${path} requires the parameter ${name}`)
    return encodeURIComponent(String(value))
  })
  const query = Object.entries(rest)
    .filter(([, value]) => value !== undefined)
    // The comma that separates values stays readable: it is allowed in a query.
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value)).replaceAll('%2C', ',')}`)
  return `${baseUrl.replace(/\/+$/, '')}${filled}${query.length > 0 ? '?' : ''}${query.join('&')}`
}
