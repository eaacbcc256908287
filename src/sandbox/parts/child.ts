import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'

export type ChildOptions = {
  /** The name in errors: `node of chain 56`. */
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  /** The child's environment; by default it inherits this process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly cwd?: string
  /** The account that runs the child when this process is root. */
  readonly account?: { readonly uid: number; readonly gid: number }
  /** The signal for an orderly stop; default SIGTERM. */
  readonly stopSignal?: 'SIGTERM' | 'SIGINT'
  /** Milliseconds before SIGKILL follows; default 10 s. */
  readonly graceMs?: number
  /** Receives every line that the child writes. */
  readonly onLine?: (line: string) => void
  /** Directories to remove when the child has ended. */
  readonly scratch?: readonly string[]
}

export type Child = {
  readonly pid: number
  /** Resolves when the process has ended and its directories are removed, with how it ended and its last output. */
  readonly exited: Promise<string>
  readonly hasExited: () => boolean
  /** The last lines of both output streams. */
  readonly output: () => string
  /**
   * The first line that matches, written before or after the call. Throws with the output if the child ends or
   * `timeoutMs` passes first.
   */
  readonly waitForLine: (pattern: RegExp, timeoutMs: number) => Promise<RegExpMatchArray>
  /**
   * Sends the stop signal, waits, and kills if necessary. Resolves when the process group and its directories are gone.
   */
  readonly stop: () => Promise<void>
}

const KEPT_LINES = 40

/**
 * Waits for the end of a pipe from this process. The pipe ends when this process closes it or dies, even by kill -9.
 * Then the watchdog stops the child's process group and removes its directories. It is a shell, because it must outlive
 * this process and stay small.
 */
const WATCHDOG = `
group=$1 signal=$2 tenths=$3; shift 3
while read -r _; do :; done
kill -s "$signal" -- "-$group" 2> /dev/null
while [ "$tenths" -gt 0 ] && kill -s 0 -- "-$group" 2> /dev/null; do sleep 0.1; tenths=$((tenths - 1)); done
kill -s KILL -- "-$group" 2> /dev/null
[ $# -eq 0 ] || rm -rf -- "$@"
`

const removeAll = async (directories: readonly string[]): Promise<void> => {
  for (const directory of directories) await rm(directory, { recursive: true, force: true, maxRetries: 3 })
}

const killGroup = (pid: number): void => {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // ESRCH: no process of the group is left, which is the goal.
  }
}

/** Stores the last lines, and lets callers wait for a line. */
const createTail = (child: ChildProcess, onLine: ChildOptions['onLine']) => {
  const lines: string[] = []
  const listeners = new Set(onLine ? [onLine] : [])
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line)
      if (lines.length > KEPT_LINES) lines.shift()
      for (const listener of listeners) listener(line)
    })
  }
  return { lines, listeners, text: () => lines.join('\n').trim() }
}

/**
 * Starts a program in its own session, so that the terminal's Ctrl-C reaches only this process, which then stops the
 * child in order. The watchdog ensures that the child never outlives this process. Throws when the program cannot be
 * executed.
 *
 * @example
 * const child = await startChild({ name: 'redis', command: 'redis-server', args: ['--port', '7001'] })
 * await child.waitForLine(/Ready to accept connections/, 10_000)
 * await child.stop()
 */
export const startChild = async (options: ChildOptions): Promise<Child> => {
  const { name, stopSignal = 'SIGTERM', graceMs = 10_000, scratch = [] } = options
  const child = spawn(options.command, options.args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.env && { env: options.env }),
    ...(options.cwd && { cwd: options.cwd }),
    ...options.account,
  })
  const tail = createTail(child, options.onLine)
  try {
    await once(child, 'spawn')
  } catch (cause) {
    await removeAll(scratch)
    throw new Error(`${name}: cannot execute ${options.command}`, { cause })
  }
  const { pid } = child
  if (pid === undefined) throw new Error(`${name}: started without a process id`)

  const tenths = String(Math.ceil(graceMs / 100))
  const watchdog = spawn('/bin/sh', ['-c', WATCHDOG, 'sh', String(pid), stopSignal.slice(3), tenths, ...scratch], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watchdog.on('error', () => child.kill('SIGKILL'))
  watchdog.stdin.on('error', () => {})

  let ended: string | undefined
  // Its own children must end too: otherwise `close`, the end of their shared output, would never fire.
  child.once('exit', () => killGroup(pid))
  const exited = (async () => {
    const [code, signal] = await once(child, 'close')
    ended = signal === null ? `exited with code ${code}` : `was ended by ${signal}`
    watchdog.kill('SIGKILL')
    await removeAll(scratch)
    return ended
  })()
  exited.catch(() => {})

  const failure = (what: string): Error => {
    const output = tail.text()
    return new Error(`${name} ${what}${output === '' ? '' : `; its last lines:\n${output}`}`)
  }

  let stopping: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    if (ended === undefined) child.kill(stopSignal)
    const timer = setTimeout(() => killGroup(pid), graceMs)
    await exited.finally(() => clearTimeout(timer))
  }

  return {
    pid,
    exited,
    hasExited: () => ended !== undefined,
    output: tail.text,
    async waitForLine(pattern, timeoutMs) {
      for (const line of tail.lines) {
        const match = line.match(pattern)
        if (match) return match
      }
      if (ended !== undefined) throw failure(ended)
      let timer: NodeJS.Timeout | undefined
      let listener: ((line: string) => void) | undefined
      try {
        return await new Promise<RegExpMatchArray>((resolve, reject) => {
          listener = (line) => {
            const match = line.match(pattern)
            if (match) resolve(match)
          }
          tail.listeners.add(listener)
          timer = setTimeout(() => reject(failure(`was not ready within ${timeoutMs} ms`)), timeoutMs)
          exited.then((how) => reject(failure(how)), reject)
        })
      } finally {
        clearTimeout(timer)
        if (listener) tail.listeners.delete(listener)
      }
    },
    stop: () => {
      stopping ??= stop()
      return stopping
    },
  }
}
