import { vi } from 'vitest'

/**
 * Replaces the clock of the process: a timer ends as soon as nothing else can happen, and the time goes on with it.
 * `vi.useRealTimers` ends that.
 */
export const useFastClock = (): void => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: 1_800_000_000_000 })
  vi.setTimerTickMode('nextTimerAsync')
}
