import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer } from './service.ts'

/** An answer and when it was asked for, in milliseconds of `performance.now()`. */
export type Sample = Answer & { readonly path: string; readonly at: number }

/**
 * Asks for paths in turn, so many a second whether or not the answers come: what is slow holds nobody up and hides nothing. `stop` gives
 * every answer, those that were under way too.
 */
export const startLoad = (get: (path: string) => Promise<Answer>, paths: readonly string[], perSecond: number) => {
  const asked: Promise<Sample>[] = []
  const over = new AbortController()
  const run = async (): Promise<void> => {
    const started = performance.now()
    for (let nth = 0; !over.signal.aborted; nth += 1) {
      await sleep(Math.max(0, started + (nth * 1_000) / perSecond - performance.now()))
      const path = paths[nth % paths.length] ?? ''
      const at = performance.now()
      asked.push(get(path).then((answer) => ({ ...answer, path, at })))
    }
  }
  const running = run()
  return {
    async stop(): Promise<Sample[]> {
      over.abort()
      await running
      return Promise.all(asked)
    },
  }
}
