import { spawn } from 'node:child_process'
import inspector from 'node:inspector'
import { Worker } from 'node:worker_threads'
import { errorText } from './errors.ts'
import type { Logger } from './log.ts'

/** How often the main thread shows that it runs, in milliseconds. */
const BEAT_MS = 1_000

/**
 * Runs in a thread of its own, as text, so that no bundle and no loader has to find it. A tick counts for two at most: a process that was
 * stopped (SIGSTOP, a frozen machine) is late in both threads and is not hung. It writes asynchronously: a full pipe must not hold it.
 */
const WATCHER = `
const { workerData: { state, beatMs, hungAfterMs, line } } = require('node:worker_threads')
let [seen, silentMs, last] = [0, 0, performance.now()]
setInterval(() => {
  const [now, beats] = [performance.now(), Atomics.load(state, 0)]
  const isBeating = beats !== seen || Atomics.load(state, 1) === 1
  silentMs = isBeating ? 0 : silentMs + Math.min(now - last, 2 * beatMs)
  seen = beats
  last = now
  if (silentMs < hungAfterMs) return
  require('node:fs').write(2, line, () => {})
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), 200)
}, beatMs)
`

/** The watching thread needs a heap of its own; more than this it never takes. */
const HEAP = { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 }

/**
 * Ends the process with SIGKILL when its main thread has not run for `hungAfterMs`, in which nothing else in the process could end it:
 * signal handlers and timers run on that thread. Does nothing while a debugger is attached. Costs a thread and about 10 MB. Gives what ends
 * it.
 *
 * @example const stop = watchMainThread({ hungAfterMs: 60_000, log })
 */
export const watchMainThread = (options: {
  readonly hungAfterMs: number
  readonly log: Logger
}): (() => Promise<unknown>) => {
  const { hungAfterMs, log } = options
  /** How often the main thread has beaten; whether a debugger is attached. */
  const state = new Int32Array(new SharedArrayBuffer(8))
  const beatMs = Math.min(BEAT_MS, hungAfterMs / 10)
  const beat = (): void => {
    Atomics.add(state, 0, 1)
    Atomics.store(state, 1, inspector.url() === undefined ? 0 : 1)
  }
  beat()
  const beating = setInterval(beat, beatMs).unref()
  const msg = `the main thread has not run for ${hungAfterMs / 1_000} s: this process is ended, restart it`
  const line = `${JSON.stringify({ level: 60, time: new Date().toISOString(), pid: process.pid, msg })}\n`
  const watcher = new Worker(WATCHER, {
    eval: true,
    workerData: { state, beatMs, hungAfterMs, line },
    resourceLimits: HEAP,
    // None of ours: no loader, no environment.
    execArgv: [],
    env: {},
  })
  watcher.on('error', (fault) => log.warn({ fault: errorText(fault) }, 'a main thread that hangs would not be noticed'))
  watcher.unref()
  return () => {
    clearInterval(beating)
    return watcher.terminate()
  }
}

/** A shell, because it must outlive us and stay small. It notices within a tenth of a second that we are gone. */
const EXECUTIONER = `
tenths=$2
while kill -s 0 "$1"; do
  [ "$tenths" -gt 0 ] || exec kill -s KILL "$1"
  sleep 0.1
  tenths=$((tenths - 1))
done
`

/**
 * Ends this process with SIGKILL unless it has ended by itself within `ms`. For a process that stops: what keeps it may be its own exit,
 * which waits for every thread that is inside a system call, and by then it has no thread left that could end it.
 */
export const endWithin = (ms: number, log: Logger): void => {
  const args = ['-c', EXECUTIONER, 'sh', String(process.pid), String(Math.ceil(ms / 100))]
  const shell = spawn('/bin/sh', args, { detached: true, stdio: 'ignore', env: {} })
  shell.on('error', (fault) => log.warn({ fault: errorText(fault) }, 'a stop that hangs would not be noticed'))
  shell.unref()
}
