import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { eventually } from '../support/process.ts'

const program = fileURLToPath(new URL('../support/hanging-process.ts', import.meta.url))

const started: ChildProcess[] = []
afterAll(() => {
  for (const child of started) child.kill('SIGKILL')
})

/**
 * The longest time from the hang to the end, in milliseconds: the limits of the program plus time for a busy machine.
 */
const BOUND_MS = 15_000

const start = async (way: string, ...flags: string[]) => {
  const child = spawn(process.execPath, ['--import', 'tsx', ...flags, program, way], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
  const ended = once(child, 'exit').then(([code, signal]) => ({ code, signal }))
  await eventually('the process has started', () => output.includes('started\n'))
  return { child, output: () => output, ended }
}

const within = <T>(promise: Promise<T>): Promise<T | string> =>
  Promise.race([promise, sleep(BOUND_MS, 'still running')])

test.concurrent.each(['while it stops', 'in its exit'])(
  'a process whose main thread hangs %s is killed after its time to stop',
  async (way) => {
    const { child, ended } = await start(way)
    child.kill('SIGTERM')
    expect(await within(ended)).toEqual({ code: null, signal: 'SIGKILL' })
  },
)

test.concurrent('a process whose main thread hangs before any signal is killed and logs the reason', async () => {
  const { ended, output } = await start('before any signal')
  expect(await within(ended)).toEqual({ code: null, signal: 'SIGKILL' })
  expect(output()).toContain('the main thread has not run for 2 s')
})

test.concurrent('a process that does not hang ends in order, with code 0', async () => {
  const { child, ended } = await start('never')
  child.kill('SIGTERM')
  expect(await within(ended)).toEqual({ code: 0, signal: null })
})

test.concurrent('a process that was stopped (SIGSTOP) for longer than the hang limit is not killed', async () => {
  const { child, ended } = await start('never')
  child.kill('SIGSTOP')
  // A fixed wait, because the test is about the length of the pause.
  await sleep(5_000)
  child.kill('SIGCONT')
  // Longer than the watchdog needs to kill a hung process.
  expect(await Promise.race([ended, sleep(4_000, 'running')])).toBe('running')
  child.kill('SIGTERM')
  expect(await within(ended)).toEqual({ code: 0, signal: null })
})

test.concurrent('a hung process with a debugger attached is not killed', async () => {
  const { ended } = await start('before any signal', '--inspect=127.0.0.1:0')
  expect(await Promise.race([ended, sleep(6_000, 'running')])).toBe('running')
})
