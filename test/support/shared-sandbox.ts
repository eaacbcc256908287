import type { TestProject } from 'vitest/node'
import { longTimeouts } from './long-timeouts.ts'
import { npmStart, startSandboxProcess } from './sandbox-process.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** An idle sandbox for all files that only add entities to it. */
    sandbox: { readonly url: string; readonly rpcUrls: Readonly<Record<number, string>> }
  }
}

/** Starts it once for the run; afterwards it must end in order and leave nothing behind. */
export const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  const sandbox = await startSandboxProcess(['--quiet'], longTimeouts, npmStart)
  const { url, rpcUrls } = sandbox
  project.provide('sandbox', { url, rpcUrls })
  return async () => {
    const { code, left } = await sandbox.stop('SIGINT')
    if (code !== 0 || left.length > 0) {
      // Vitest only prints errors of a teardown.
      process.exitCode = 1
      throw new Error(`the sandbox ended with ${code} and left ${JSON.stringify(left)}:\n${sandbox.output()}`)
    }
  }
}
