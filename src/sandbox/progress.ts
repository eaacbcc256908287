/** A step of the start is reported after this long without a line, in milliseconds, and the time is looked at this often. */
const SILENT_MS = 4_000
const LOOK_EVERY_MS = 500

/**
 * Prints the steps of a start, each with its duration when it ends, and those under way when nothing else was printed for
 * some seconds: a busy machine takes its time.
 *
 * @example
 * const progress = createProgress(print)
 * await progress.step('PostgreSQL', () => startPostgres({}))
 * progress.close()
 */
export const createProgress = (print: (line: string) => void) => {
  /** The steps under way, with the time at which they began, in Unix milliseconds. */
  const running = new Map<string, number>()
  let printedAt = Date.now()

  const show = (what: string, since: number): void => {
    printedAt = Date.now()
    print(`  ${what.padEnd(44)} ${((printedAt - since) / 1000).toFixed(1).padStart(5)} s`)
  }
  const timer = setInterval(() => {
    if (Date.now() - printedAt < SILENT_MS) return
    for (const [what, since] of running) show(`… ${what}`, since)
  }, LOOK_EVERY_MS)

  return {
    /** Runs a step. */
    async step<T>(what: string, run: () => Promise<T>): Promise<T> {
      const since = Date.now()
      running.set(what, since)
      try {
        const result = await run()
        show(what, since)
        return result
      } finally {
        running.delete(what)
      }
    },
    close: () => clearInterval(timer),
  }
}
