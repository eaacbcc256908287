import { useEffect, useState } from 'preact/hooks'
import { serviceUrl } from '../base.ts'

/** The GET requests behind the page that is shown, as URLs, with the number of parts that need each. */
const shown = new Map<string, number>()
const listeners = new Set<() => void>()

const changed = (): void => {
  for (const listener of listeners) listener()
}

/** The URL of a request: parameters that are not in its path are in its query. */
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
  return `${serviceUrl}${url}${text && `?${text}`}`
}

/** Shows a request until the returned function is called. */
export const noteRequest = (path: string, params: object): (() => void) => {
  const url = urlOf(path, params)
  shown.set(url, (shown.get(url) ?? 0) + 1)
  changed()
  return () => {
    const left = (shown.get(url) ?? 1) - 1
    if (left > 0) shown.set(url, left)
    else shown.delete(url)
    changed()
  }
}

/** The URLs of the requests behind this page. */
export const useRequests = (): readonly string[] => {
  const [urls, setUrls] = useState<readonly string[]>([])
  useEffect(() => {
    const listener = (): void => setUrls([...shown.keys()])
    listeners.add(listener)
    listener()
    return () => {
      listeners.delete(listener)
    }
  }, [])
  return urls
}
