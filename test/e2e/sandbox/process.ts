import { afterAll, expect } from 'vitest'
import { longTimeouts } from '../../support/long-timeouts.ts'
import { npmStart, startSandboxProcess } from '../../support/sandbox-process.ts'

/** A sandbox as the README starts it; after the tests it must end in order and leave nothing behind. */
export const sandbox = await startSandboxProcess(['--quiet'], longTimeouts, npmStart)

afterAll(async () => {
  const { code, left } = await sandbox.stop('SIGINT')
  expect([code, left], sandbox.output()).toEqual([0, []])
})
