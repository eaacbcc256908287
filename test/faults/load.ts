import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer } from './service.ts'

/** An answer and when its request was sent, in milliseconds of `performance.now()`. */
export type Sample = Answer & { readonly path: string; readonly at: number }

/**
 * Requests paths in turn at a constant rate without waiting for answers, so that slow answers neither delay nor hide
 * others. `stop` returns all answers, including those still pending.
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
