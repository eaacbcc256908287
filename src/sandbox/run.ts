import { onSignals } from '../lib/signals.ts'
import { type SandboxOptions, startSandbox } from './sandbox.ts'

/**
 * Runs a sandbox until SIGINT or SIGTERM, then stops it in order. A second signal ends this process immediately and
 * leaves the rest to the watchdogs of its children. Throws the errors of `startSandbox`, unless a signal caused them.
 */
export const runSandbox = async (options: Omit<SandboxOptions, 'signal'>): Promise<void> => {
  const asked = new AbortController()
  const ignore = onSignals({
    stop(signal) {
      options.print(`${signal}: stopping (repeat the signal to force)`)
      asked.abort()
    },
    force: () => process.exit(130),
  })
  try {
    const sandbox = await startSandbox({ ...options, signal: asked.signal })
    if (!asked.signal.aborted) {
      await new Promise((resolve) => asked.signal.addEventListener('abort', resolve, { once: true }))
    }
    await sandbox.close()
    options.print('stopped')
  } catch (error) {
    if (!asked.signal.aborted) throw error
    options.print('stopped before it was ready')
  } finally {
    ignore()
  }
}
