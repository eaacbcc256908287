import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../src/sandbox/parts/ports.ts'
import type { Index } from './rig.ts'

/** Longest that a client of the rig waits, in milliseconds. */
const CLIENT_WAITS_MS = 20_000

/** An answer and how long it took, in milliseconds. Status 0: there was no answer. */
export type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly body: string
  readonly took: number
}

/** Starts an API process for an index and waits until `readyPath` answers 200. `get` never throws. */
export const startApi = async (
  index: Pick<Index, 'start'>,
  more: Readonly<Record<string, string>> = {},
  { name = 'api', readyPath = '/readyz' }: { readonly name?: string; readonly readyPath?: string } = {},
) => {
  const port = await freePort()
  const process = await index.start('api', name, { HOST: '127.0.0.1', PORT: String(port), LOG_LEVEL: 'warn', ...more })
  const url = `http://127.0.0.1:${port}`
  const get = async (
    path: string,
    headers: Readonly<Record<string, string>> = {},
    method: 'GET' | 'HEAD' = 'GET',
  ): Promise<Answer> => {
    const started = performance.now()
    try {
      const signal = AbortSignal.timeout(CLIENT_WAITS_MS)
      const response = await fetch(`${url}${path}`, { signal, headers, method })
      const body = await response.text()
      return { status: response.status, headers: response.headers, body, took: performance.now() - started }
    } catch {
      return { status: 0, headers: new Headers(), body: '', took: performance.now() - started }
    }
  }
  /**
   * Sends requests until `wanted` accepts an answer; returns the milliseconds it took, or null if none was accepted.
   */
  const until = async (path: string, wanted: (answer: Answer) => boolean, withinMs: number): Promise<number | null> => {
    const started = performance.now()
    for (; performance.now() - started < withinMs; await sleep(50))
      if (wanted(await get(path))) return performance.now() - started
    return null
  }
  const ready = await until(readyPath, ({ status }) => status === 200, 60_000)
  if (ready === null) throw new Error(`the API did not become ready: ${process.tail()}`)
  return { process, port, url, get, until }
}
