import { useEffect, useState } from 'preact/hooks'
import { serviceUrl } from '../base.ts'

/** The requests behind the page that is shown, as commands, with the number of parts that need each. */
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

/** The command that sends a request: a GET, or a POST of a JSON body. */
export const commandOf = (path: string, params: object, body?: string): string => {
  const url = `'${urlOf(path, params).replaceAll("'", '%27')}'`
  if (body === undefined) return `curl -s ${url}`
  return `curl -s ${url} -H 'content-type: application/json' -d '${body.replaceAll("'", "'\\''")}'`
}

/** Shows a request until the returned function is called. */
export const noteRequest = (path: string, params: object, body?: string): (() => void) => {
  const command = commandOf(path, params, body)
  shown.set(command, (shown.get(command) ?? 0) + 1)
  changed()
  return () => {
    const left = (shown.get(command) ?? 1) - 1
    if (left > 0) shown.set(command, left)
    else shown.delete(command)
    changed()
  }
}

/** The commands of the requests behind this page. */
export const useRequests = (): readonly string[] => {
  const [commands, setCommands] = useState<readonly string[]>([])
  useEffect(() => {
    const listener = (): void => setCommands([...shown.keys()])
    listeners.add(listener)
    listener()
    return () => {
      listeners.delete(listener)
    }
  }, [])
  return commands
}
