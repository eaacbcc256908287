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

const folder = mkdtempSync(join(tmpdir(), 'fx-serve-'))
/** The program in one file, because each process would compile its modules again. */
const program = join(folder, 'stopping-process.mjs')

beforeAll(async () => {
  await build({
    entryPoints: [fileURLToPath(new URL('../support/stopping-process.ts', import.meta.url))],
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

const start = async (way: string) => {
  const child = spawn(process.execPath, [program, way], { stdio: ['ignore', 'pipe', 'pipe'] })
  started.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal }))
  const prints = (line: string) => eventually(`the process prints ${line}`, () => output.includes(`${line}\n`))
  if (way !== 'at its start') await prints('started')
  return { child, output: () => output, prints, ended }
}

test.concurrent('a process that gets a signal closes what it opened, the last first, and ends with code 0', async () => {
  const { child, ended, output } = await start('in order')
  child.kill('SIGTERM')
  expect(await ended).toEqual({ code: 0, signal: null })
  expect(output()).toBe('started\nstopping\nclosed\n')
})

test.concurrent('a stop that takes too long ends with code 1', async () => {
  const { child, ended, output } = await start('too slowly')
  child.kill('SIGTERM')
  expect(await ended).toEqual({ code: 1, signal: null })
  expect(output()).toBe('started\nstopping\n')
})

test.concurrent('a second signal ends a process that is stopping at once, with code 1', async () => {
  const { child, ended, prints } = await start('until a second signal')
  child.kill('SIGTERM')
  await prints('stopping')
  // Signals that follow at once count as the first.
  await sleep(600)
  child.kill('SIGTERM')
  expect(await ended).toEqual({ code: 1, signal: null })
})

test.concurrent('a process that fails to start closes what it opened, and ends with its error', async () => {
  const { ended, output } = await start('at its start')
  expect(await ended).toEqual({ code: 1, signal: null })
  expect(output()).toMatch(/stopping\nclosed\n[\s\S]*Error: no start/)
})
