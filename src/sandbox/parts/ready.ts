import { errorText } from '../../lib/errors.ts'
import { sleep } from '../../lib/lifecycle.ts'
import type { Service } from '../service.ts'

const READY_TIMEOUT_MS = 90_000
const GIVE_UP_AFTER_CRASHES = 3

/**
 * Resolves when `url` answers 200. Throws a PortTakenError when a service finds its port taken, and an Error after
 * repeated crashes of a service, with its last lines, and after a timeout.
 */
export const untilReady = async (url: string, services: readonly Service[], signal: AbortSignal): Promise<void> => {
  let last = 'no answer'
  for (const deadline = Date.now() + READY_TIMEOUT_MS; ; await sleep(200, signal)) {
    signal.throwIfAborted()
    for (const service of services) {
      const taken = service.takenPort()
      if (taken !== undefined) throw taken
    }
    const crashing = services.find((service) => service.crashes() >= GIVE_UP_AFTER_CRASHES)
    if (crashing)
      throw new Error(
        `the ${crashing.name} crashed ${GIVE_UP_AFTER_CRASHES} times; its last lines:\n${crashing.output()}`,
      )
    if (Date.now() > deadline) throw new Error(`${url} was not ready within ${READY_TIMEOUT_MS / 1000} s: ${last}`)
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(5_000) })
      last = `${response.status} ${await response.text()}`
      if (response.status === 200) return
    } catch (error) {
      last = errorText(error)
    }
  }
}
