import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/process.ts'

const folder = mkdtempSync(join(tmpdir(), 'fx-watchdog-'))
/** The program in one file, because each process would compile its modules again. */
const program = join(folder, 'hanging-process.mjs')

beforeAll(async () => {
  await build({
    entryPoints: [fileURLToPath(new URL('../support/hanging-process.ts', import.meta.url))],
    outfile: program,
    ...{ bundle: true, format: 'esm', platform: 'node', target: 'node20.19' },
    banner: { js: `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)` },
    define: { __dirname: 'import.meta.dirname', __filename: 'import.meta.filename' },
  })
})

const started: ChildProcess[] = []
afterAll(() => {
  for (const child of started) child.kill('SIGKILL')
  rmSync(folder, { recursive: true })
})

/**
 * The longest time from the hang to the end, in milliseconds: the limits of the program plus time for a busy machine.
 */
const BOUND_MS = 15_000

const start = async (way: string, ...flags: string[]) => {
  const child = spawn(process.execPath, [...flags, program, way], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal }))
  const prints = (line: string) => eventually(`the process prints ${line}`, () => output.includes(`${line}\n`))
  if (way !== 'at its start') await prints('started')
  return { child, output: () => output, prints, ended }
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
  expect(output()).toContain('the main thread has not run for 1 s')
})

test.concurrent('a process that was stopped (SIGSTOP) for longer than the hang limit is not killed, and ends in order, with code 0', async () => {
  const { child, ended, output } = await start('never')
  child.kill('SIGSTOP')
  // Fixed waits, because the test is about the length of the pause.
  await sleep(2_500)
  child.kill('SIGCONT')
  // Longer than the watchdog needs to kill a hung process.
  expect(await Promise.race([ended, sleep(1_700, 'running')])).toBe('running')
  child.kill('SIGTERM')
  expect(await within(ended)).toEqual({ code: 0, signal: null })
  expect(output()).toMatch(/stopping\nclosed\n$/)
})

test.concurrent('a hung process with a debugger attached is not killed', async () => {
  const { ended } = await start('before any signal', '--inspect=127.0.0.1:0')
  expect(await Promise.race([ended, sleep(3_500, 'running')])).toBe('running')
})

test.concurrent('a second signal ends a process that is stopping at once, with code 1', async () => {
  const { child, ended, prints } = await start('in a closer')
  child.kill('SIGTERM')
  await prints('stopping')
  // Signals that follow at once count as the first.
  await sleep(600)
  child.kill('SIGTERM')
  expect(await within(ended)).toEqual({ code: 1, signal: null })
})

test.concurrent('a process that fails to start closes what it opened, and ends with its error', async () => {
  const { ended, output } = await start('at its start')
  expect(await within(ended)).toEqual({ code: 1, signal: null })
  expect(output()).toMatch(/stopping\nclosed\n[\s\S]*Error: no start/)
})
