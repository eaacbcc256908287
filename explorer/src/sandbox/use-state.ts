import { useCallback, useEffect, useState } from 'preact/hooks'
import type { SandboxState } from '../../../src/sandbox/controls/messages.ts'
import { setAhead } from './clock.ts'
import { readState } from './controls.ts'
import { eventOf, PATH_CHANGES } from './page-event.ts'

/** How often an open panel reads its state again, in milliseconds. */
const LIVE_MS = 5_000

/** The state of a chain and an event while the panel is open, and a function that reads it again. */
export const useSandboxState = (chainId: number, eventId: number | null, isOpen: boolean) => {
  const [state, setState] = useState<SandboxState | null>(null)
  const refresh = useCallback(async () => {
    const read = await readState(chainId, eventId ?? undefined)
    setAhead(read.aheadSeconds)
    setState(read)
  }, [chainId, eventId])
  useEffect(() => {
    if (!isOpen) return
    // An action shows why the sandbox does not answer.
    const read = (): void => void (document.hidden || refresh().catch(() => {}))
    read()
    const timer = setInterval(read, LIVE_MS)
    return () => clearInterval(timer)
  }, [refresh, isOpen])
  return { state, refresh }
}

/** Calls a function with the event of each page that is opened. */
export const usePageEvent = (onEvent: (event: NonNullable<ReturnType<typeof eventOf>>) => void): void => {
  useEffect(() => {
    let last = ''
    const listener = (): void => {
      const event = eventOf(`${location.pathname}${location.search}`)
      const key = JSON.stringify(event)
      // A form changes its address with every field.
      if (event !== null && key !== last) onEvent(event)
      last = key
    }
    listener()
    for (const name of PATH_CHANGES) addEventListener(name, listener)
    return () => {
      for (const name of PATH_CHANGES) removeEventListener(name, listener)
    }
  }, [])
}
