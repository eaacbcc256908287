import { useEffect, useState } from 'preact/hooks'
import { serviceUrl } from '../base.ts'
import { commandOf } from './command.ts'

/** The requests behind the page that is shown, as commands, with the number of parts that need each. */
const shown = new Map<string, number>()
const listeners = new Set<() => void>()

const changed = (): void => {
  for (const listener of listeners) listener()
}

/** Shows a request until the returned function is called. */
export const noteRequest = (path: string, params: object, body?: string): (() => void) => {
  const command = commandOf(serviceUrl, path, params, body)
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
