/** How often it samples, and the most that one sample counts for, in milliseconds. */
const [EVERY_MS, MOST_MS] = [10, 50]

let [ran, last] = [0, performance.now()]
setInterval(() => {
  const now = performance.now()
  ran += Math.min(now - last, MOST_MS)
  last = now
}, EVERY_MS).unref()

/**
 * Milliseconds in which this process could run. Pauses of the whole machine do not count, because they are not a fault
 * of the tested code. Use it for results with a deadline, not for code that blocks the process itself.
 *
 * @example const began = ranMs(); …; expect(ranMs() - began).toBeLessThan(5_000)
 */
export const ranMs = (): number => ran

/** Milliseconds of processor time that this process has used, independent of other load of the machine. */
export const cpuMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
