import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { startChild } from '../../src/sandbox/parts/child.ts'
import { eventually, isAlive } from '../support/process.ts'

const shell = (script: string, extra: { graceMs?: number; scratch?: string[] } = {}) =>
  startChild({ name: 'the shell', command: '/bin/sh', args: ['-c', script], ...extra })

test('a missing program is an error that names it, and its directories are removed', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'fx-child-'))
  const options = { name: 'nothing', command: '/nonexistent/program', args: [], scratch: [scratch] }
  await expect(startChild(options)).rejects.toThrow('nothing: cannot execute /nonexistent/program')
  expect(existsSync(scratch)).toBe(false)
})

test('stop ends the child, its own children and its directories', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'fx-child-'))
  const child = await shell('sleep 1000 & echo "inner $!"; wait', { scratch: [scratch] })
  const [, inner] = await child.waitForLine(/^inner (\d+)$/, 5_000)
  await child.stop()
  expect(isAlive(child.pid)).toBe(false)
  await eventually('the inner process ends', () => !isAlive(Number(inner)))
  expect(existsSync(scratch)).toBe(false)
})

test('a child that ignores the signal is killed after the grace period', async () => {
  const child = await shell('trap "" TERM; echo ready; while :; do sleep 0.1; done', { graceMs: 300 })
  await child.waitForLine(/ready/, 5_000)
  await child.stop()
  expect(await child.exited).toBe('was ended by SIGKILL')
})

test('a child that ends before it is ready is an error with its last lines', async () => {
  const child = await shell('echo some reason >&2; exit 3')
  await expect(child.waitForLine(/ready/, 5_000)).rejects.toThrow(
    'the shell exited with code 3; its last lines:\nsome reason',
  )
})

test('a child runs in its own session, so the terminal’s Ctrl-C does not reach it', async () => {
  const child = await shell('echo "session $(ps -o sid= -p $$)"; sleep 1000')
  const [, session] = await child.waitForLine(/^session\s+(\d+)$/, 5_000)
  expect(Number(session)).toBe(child.pid)
  await child.stop()
})

test('killing the parent with -9 also ends the child and removes its directories', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'fx-child-'))
  const module = new URL('../../src/sandbox/parts/child.ts', import.meta.url).href
  const script = `
    const { startChild } = await import(${JSON.stringify(module)})
    const options = { name: 'x', command: '/bin/sleep', args: ['1000'], scratch: [${JSON.stringify(scratch)}] }
    console.log('child ' + (await startChild(options)).pid)`
  const args = ['--import', import.meta.resolve('tsx'), '--input-type=module', '-e', script]
  const parent = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(createInterface({ input: parent.stdout }), 'line')
  const pid = Number(String(line).replace('child ', ''))
  expect(isAlive(pid)).toBe(true)
  expect(existsSync(scratch)).toBe(true)
  parent.kill('SIGKILL')
  await eventually('the child ends', () => !isAlive(pid))
  await eventually('its directory is removed', () => !existsSync(scratch))
})
