import { type Child, startChild } from '../../src/sandbox/parts/child.ts'
import { builtCommand } from '../support/built.ts'

/**
 * A process of the product as production runs it. The watchdog of `startChild` sees to it that none outlives the rig.
 *
 * @example
 * const worker = await startProcess('worker', env)
 * worker.kill(); worker.freeze(); worker.thaw(); await worker.stop()
 */
export const startProcess = async (command: 'worker' | 'api' | 'engine', env: Readonly<Record<string, string>>) => {
  const lines: string[] = []
  const child: Child = await startChild({
    name: command,
    ...builtCommand(command),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    graceMs: 15_000,
    onLine: (line) => lines.push(line),
  })
  const signal = (name: NodeJS.Signals): void => void process.kill(child.pid, name)
  return {
    pid: child.pid,
    exited: child.exited,
    hasExited: child.hasExited,
    waitForLine: child.waitForLine,
    /** The matching log lines. */
    logged: (pattern: RegExp): readonly string[] => lines.filter((line) => pattern.test(line)),
    tail: child.output,
    /** Sends SIGKILL; resolves when the process has ended. */
    async kill(): Promise<void> {
      if (!child.hasExited()) signal('SIGKILL')
      await child.exited
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    /** Sends SIGTERM without waiting. */
    terminate: () => signal('SIGTERM'),
    stop: child.stop,
  }
}

export type Process = Awaited<ReturnType<typeof startProcess>>
