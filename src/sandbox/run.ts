import { type SandboxOptions, startSandbox } from './sandbox.ts'

/** Under `npm start` one Ctrl-C arrives twice: from the terminal, and from npm, which passes its own on. */
const SAME_SIGNAL_MS = 500

/**
 * Runs a sandbox until SIGINT or SIGTERM, then ends it in order; a second signal ends this process at once and leaves the rest to the
 * watchdogs of its children. Throws what `startSandbox` throws, unless a signal was the reason.
 */
export const runSandbox = async (options: Omit<SandboxOptions, 'signal'>): Promise<void> => {
  const asked = new AbortController()
  let askedAt = 0
  const onSignal = (signal: NodeJS.Signals): void => {
    if (asked.signal.aborted) {
      if (Date.now() - askedAt < SAME_SIGNAL_MS) return
      process.exit(130)
    }
    askedAt = Date.now()
    options.print(`${signal}: stopping (again to force)`)
    asked.abort()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
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
    process.off('SIGINT', onSignal)
    process.off('SIGTERM', onSignal)
  }
}
