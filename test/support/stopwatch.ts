/** How often it looks, and the most that a look counts for, in milliseconds. */
const [EVERY_MS, MOST_MS] = [10, 50]

let [ran, last] = [0, performance.now()]
setInterval(() => {
  const now = performance.now()
  ran += Math.min(now - last, MOST_MS)
  last = now
}, EVERY_MS).unref()

/**
 * Milliseconds in which this process could do something: a machine that stands still for seconds, or has no time for it, is no fault of what is
 * waited for. For what has to come within a time; not for what blocks the process itself.
 *
 * @example const began = ranMs(); …; expect(ranMs() - began).toBeLessThan(5_000)
 */
export const ranMs = (): number => ran

/** Milliseconds of processor time that this process has used: what it works, however many others share the machine. */
export const cpuMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
