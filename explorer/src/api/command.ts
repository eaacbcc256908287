/** The path and query of a request: parameters that are not in its path are in its query. */
export const urlOf = (path: string, params: object): string => {
  const query = new URLSearchParams()
  let url = path
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined || value === '') continue
    const slot = `{${name}}`
    if (url.includes(slot)) url = url.replace(slot, encodeURIComponent(String(value)))
    else query.set(name, String(value))
  }
  const text = query.toString().replaceAll('%2C', ',')
  return `${url}${text && `?${text}`}`
}

/** The command that sends a request: a GET, or a POST of a JSON body. */
export const commandOf = (serviceUrl: string, path: string, params: object, body?: string): string => {
  const url = `'${serviceUrl}${urlOf(path, params).replaceAll("'", '%27')}'`
  if (body === undefined) return `curl -s ${url}`
  return `curl -s ${url} -H 'content-type: application/json' -d '${body.replaceAll("'", "'\\''")}'`
}
