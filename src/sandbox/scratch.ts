import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A directory that lives no longer than this process does. */
export type Scratch = {
  readonly path: string
  readonly remove: () => Promise<void>
  /** Leaves it to somebody else to remove: a child that has it as its own. */
  readonly handOver: () => void
}

/** Waits for the end of file that our death brings, however we die (kill -9 too). Whoever still writes there ends then as well, so it tries again. */
const WATCHDOG = `
while read -r _; do :; done
tries=100
while [ "$tries" -gt 0 ] && ! rm -rf -- "$1"; do sleep 0.1; tries=$((tries - 1)); done
`

/**
 * Makes an empty directory that only this account may look into, in the temporary directory unless another is given.
 *
 * @example const scratch = await makeScratch('fx-sandbox-'); await scratch.remove()
 */
export const makeScratch = async (prefix: string, base = tmpdir()): Promise<Scratch> => {
  const path = await mkdtemp(join(base, prefix))
  const watchdog = spawn('/bin/sh', ['-c', WATCHDOG, 'sh', path], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  // Without it only a kill leaves the directory behind.
  watchdog.on('error', () => {})
  watchdog.stdin.on('error', () => {})
  const handOver = (): void => void watchdog.kill('SIGKILL')
  return {
    path,
    handOver,
    async remove() {
      await rm(path, { recursive: true, force: true, maxRetries: 3 })
      handOver()
    },
  }
}
