import { runInNewContext } from 'node:vm'
import type { WorkerOptions } from 'node:worker_threads'
import { afterEach, expect, test, vi } from 'vitest'
import { createLogger } from '../../src/lib/log.ts'
import { watchMainThread } from '../../src/lib/watchdog.ts'

/* The program of the thread that watches, by a clock of the test. */

const thread = vi.hoisted(() => ({ program: '', workerData: {} as unknown, unref: vi.fn() }))

vi.mock('node:worker_threads', () => ({
  Worker: class {
    unref = thread.unref
    on = (): void => {}
    terminate = (): void => {}
    constructor(program: string, { workerData }: WorkerOptions) {
      Object.assign(thread, { program, workerData })
    }
  },
}))

const log = createLogger({ level: 'silent', process: 'test' })
let stop = (): unknown => undefined
afterEach(() => stop())

/** Watches with a limit of a second, and returns the tick of the thread. The main thread never runs. */
const watch = () => {
  stop = watchMainThread({ hungAfterMs: 1_000, log })
  const clock = { now: 0 }
  const kill = vi.fn()
  let tick = (): void => {}
  runInNewContext(thread.program, {
    require: (name: string) => (name === 'node:fs' ? { write: () => {} } : { workerData: thread.workerData }),
    performance: { now: () => clock.now },
    setInterval: (run: () => void) => (tick = run),
    setTimeout: (run: () => void) => run(),
    process: { pid: process.pid, kill },
    Atomics,
    Math,
  })
  tick()
  return {
    kill,
    after: (ms: number): void => {
      clock.now += ms
      tick()
    },
  }
}

test('a tick that is late counts as two intervals at most', () => {
  const { after, kill } = watch()
  for (let ticks = 1; ticks < 5; ticks += 1) after(60_000)
  expect(kill).not.toHaveBeenCalled()
  after(60_000)
  expect(kill).toHaveBeenCalledExactlyOnceWith(process.pid, 'SIGKILL')
})

test('ticks in time count as what they are', () => {
  const { after, kill } = watch()
  for (let ticks = 1; ticks < 10; ticks += 1) after(100)
  expect(kill).not.toHaveBeenCalled()
  after(100)
  expect(kill).toHaveBeenCalledOnce()
})

test('the thread keeps no process running', () => {
  watch()
  expect(thread.unref).toHaveBeenCalled()
})
