import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A directory that is removed when this process ends. */
export type Scratch = {
  readonly path: string
  readonly remove: () => Promise<void>
  /** Transfers the removal to another owner, such as a child process. */
  readonly handOver: () => void
}

/**
 * Waits for the end of the pipe from this process, which comes even after kill -9. Programs that still write to the
 * directory are ending too, so the removal is repeated until it succeeds.
 */
const WATCHDOG = `
while read -r _; do :; done
tries=100
while [ "$tries" -gt 0 ] && ! rm -rf -- "$1"; do sleep 0.1; tries=$((tries - 1)); done
`

/**
 * Creates an empty directory that only this account may read, in the temporary directory unless another is given.
 *
 * @example const scratch = await makeScratch('fx-sandbox-'); await scratch.remove()
 */
export const makeScratch = async (prefix: string, base = tmpdir()): Promise<Scratch> => {
  const path = await mkdtemp(join(base, prefix))
  const watchdog = spawn('/bin/sh', ['-c', WATCHDOG, 'sh', path], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  // Without the watchdog, only a kill leaves the directory behind.
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
