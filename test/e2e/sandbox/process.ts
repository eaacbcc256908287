import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { longTimeouts } from '../../support/long-timeouts.ts'
import { npmStart, startSandboxProcess } from '../../support/sandbox-process.ts'

export const folder = await mkdtemp(join(tmpdir(), 'fx-persist-'))
// When this process is root, PostgreSQL runs as another account, which must be able to enter the directory.
await chmod(folder, 0o711)

/** A sandbox as the README starts it, with a folder; after the tests it must end in order and leave nothing behind. */
export let sandbox = await startSandboxProcess(['--persist', folder, '--quiet'], longTimeouts, npmStart)

/** Starts a sandbox on the folder of the one that ended, with live activity. */
export const resume = async (): Promise<void> => {
  sandbox = await startSandboxProcess(['--persist', folder], longTimeouts)
}

let isStopped = false

/** Stops the sandbox for good, which has to end in order and leave nothing behind. */
export const end = async (signal: NodeJS.Signals): Promise<void> => {
  isStopped = true
  expect(await sandbox.stop(signal), sandbox.output()).toEqual({ code: 0, left: [] })
}

afterAll(async () => {
  try {
    if (!isStopped) await end('SIGTERM')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
