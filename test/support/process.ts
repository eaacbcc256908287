import { setTimeout as sleep } from 'node:timers/promises'
import { ranMs } from './stopwatch.ts'

/** True while a process with this id exists. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Resolves when `check` holds; throws `what` when it does not within `timeoutMs` in which this process could run. */
export const eventually = async (
  what: string,
  check: () => boolean | Promise<boolean>,
  timeoutMs = 60_000,
  everyMs = 20,
): Promise<void> => {
  const began = ranMs()
  while (!(await check())) {
    if (ranMs() - began > timeoutMs) throw new Error(`${what}: not within ${timeoutMs} ms`)
    await sleep(everyMs)
  }
}

/** Resolves when a process answers `GET /livez` with 200: a process that was just started does not listen yet. */
export const untilLive = (url: string): Promise<void> =>
  eventually(`${url}/livez answers`, () =>
    fetch(`${url}/livez`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
