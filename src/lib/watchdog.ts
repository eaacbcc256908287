import { spawn } from 'node:child_process'
import inspector from 'node:inspector'
import { Worker } from 'node:worker_threads'
import { errorText } from './errors.ts'
import type { Logger } from './log.ts'

/** How often the main thread increments its heartbeat, in milliseconds. */
const BEAT_MS = 1_000

/**
 * Runs in a separate thread. It is a string, so that neither the bundle nor a loader has to resolve a file. Each tick
 * counts as two intervals at most: a process that was stopped (SIGSTOP, a frozen machine) is late in both threads and
 * is not hung. It writes asynchronously, because a full pipe must not block it.
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

/** The largest heap of the watching thread. */
const HEAP = { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 }

/**
 * Ends the process with SIGKILL when its main thread has not run for `hungAfterMs`. Nothing else in the process could,
 * because signal handlers and timers run on the main thread. Does nothing while a debugger is attached. Costs a thread
 * and about 10 MB. Returns a function that stops the watchdog.
 *
 * @example const stop = watchMainThread({ hungAfterMs: 60_000, log })
 */
export const watchMainThread = (options: {
  readonly hungAfterMs: number
  readonly log: Logger
}): (() => Promise<unknown>) => {
  const { hungAfterMs, log } = options
  /** The number of heartbeats of the main thread; 1 while a debugger is attached. */
  const state = new Int32Array(new SharedArrayBuffer(8))
  const beatMs = Math.min(BEAT_MS, hungAfterMs / 10)
  const beat = (): void => {
    Atomics.add(state, 0, 1)
    Atomics.store(state, 1, inspector.url() === undefined ? 0 : 1)
  }
  beat()
  const beating = setInterval(beat, beatMs).unref()
  const msg = `the main thread has not run for ${hungAfterMs / 1_000} s: killing this process, restart it`
  const line = `${JSON.stringify({ level: 60, time: new Date().toISOString(), pid: process.pid, msg })}\n`
  const watcher = new Worker(WATCHER, {
    eval: true,
    workerData: { state, beatMs, hungAfterMs, line },
    resourceLimits: HEAP,
    // The thread inherits neither the loader nor the environment of this process.
    execArgv: [],
    env: {},
  })
  watcher.on('error', (fault) =>
    log.warn({ fault: errorText(fault) }, 'the watchdog failed: a hung main thread will not be detected'),
  )
  watcher.unref()
  return () => {
    clearInterval(beating)
    return watcher.terminate()
  }
}

/** A shell script, because it must outlive this process and stay small. It polls every tenth of a second. */
const KILL_SCRIPT = `
tenths=$2
while kill -s 0 "$1"; do
  [ "$tenths" -gt 0 ] || exec kill -s KILL "$1"
  sleep 0.1
  tenths=$((tenths - 1))
done
`

/**
 * Ends this process with SIGKILL unless it has ended by itself within `ms`. Needed while a process stops: its exit
 * waits for every thread that is inside a system call, and by then no thread of the process is left to end it.
 */
export const endWithin = (ms: number, log: Logger): void => {
  const args = ['-c', KILL_SCRIPT, 'sh', String(process.pid), String(Math.ceil(ms / 100))]
  const shell = spawn('/bin/sh', args, { detached: true, stdio: 'ignore', env: {} })
  shell.on('error', (fault) =>
    log.warn({ fault: errorText(fault) }, 'the stop watchdog did not start: a hung stop will not be killed'),
  )
  shell.unref()
}
