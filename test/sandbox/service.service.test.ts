import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { PortTakenError } from '../../src/lib/port-taken.ts'
import { openPersistDirectory } from '../../src/sandbox/parts/persist.ts'
import { untilReady } from '../../src/sandbox/parts/ready.ts'
import { startService } from '../../src/sandbox/service.ts'
import { chainIds } from '../support/known-chains.ts'
import { eventually, isAlive } from '../support/process.ts'

const dir = mkdtempSync(join(tmpdir(), 'fx-keep-test-'))
afterAll(() => rmSync(dir, { recursive: true }))

const start = async (script: string, port?: { number: number; variable: string }) => {
  const lines: string[] = []
  const options = { name: 'worker', command: '/bin/sh', args: ['-c', script], env: { PATH: '/usr/bin:/bin' } }
  const service = await startService({ ...options, ...(port && { port }), print: (line) => lines.push(line) })
  const pids = (): number[] =>
    lines.flatMap((line) => (line.startsWith('[worker] pid ') ? [Number(line.slice(13))] : []))
  return { service, lines, pids }
}

test('a service killed with -9 is restarted immediately, and close ends the new process', async () => {
  const { service, lines, pids } = await start('echo "pid $$"; exec sleep 1000')
  await eventually('the first start', () => pids().length === 1)
  process.kill(pids()[0] ?? 0, 'SIGKILL')
  await eventually('the second start', () => pids().length === 2, 2_000)
  expect(lines).toContain('[worker] was ended by SIGKILL; restarting')
  expect(service.crashes()).toBe(1)
  await service.close()
  expect(pids().map(isAlive)).toEqual([false, false])
})

test('a service that keeps crashing is restarted with growing pauses, and its last lines are kept', async () => {
  const { service, lines } = await start('echo no database; exit 1')
  await eventually('three deaths', () => service.crashes() >= 3)
  expect(lines).toContain('[worker] exited with code 1; restarting')
  expect(lines.some((line) => /restarting in \d\.\d s$/.test(line))).toBe(true)
  expect(service.output()).toContain('no database')
  await service.close()
  const deaths = service.crashes()
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  expect(service.crashes()).toBe(deaths)
})

test.each([
  ['a stack', 'Error: listen EADDRINUSE: address already in use 127.0.0.1:3000'],
  ['one line', 'port 3000 is taken: stop the program that listens on it'],
])('a start ends with one line when a port was taken after it was checked, reported by %s', async (_, text) => {
  const { service } = await start(`echo '${text}'; exit 1`, { number: 3_000, variable: 'PORT' })
  const ready = untilReady('http://127.0.0.1:9/', [service], new AbortController().signal)
  await expect(ready).rejects.toThrow(new PortTakenError(3_000, 'PORT'))
  await service.close()
})

test('a kept directory serves one sandbox at a time, and is free again after a crash', async () => {
  const first = await openPersistDirectory(dir, chainIds)
  await expect(openPersistDirectory(dir, chainIds)).rejects.toThrow(`process ${process.pid} runs a sandbox on ${dir}`)
  first.release()
  expect(existsSync(join(dir, 'sandbox.lock'))).toBe(false)
  writeFileSync(join(dir, 'sandbox.lock'), '4194304') // above the largest process id Linux gives
  const second = await openPersistDirectory(dir, chainIds)
  second.release()
})

test('what a start that failed half-way left is cleared away', async () => {
  const keep = await openPersistDirectory(dir, chainIds)
  writeFileSync(keep.stateFile(56), '{}')
  keep.release()
  const again = await openPersistDirectory(dir, chainIds)
  expect(again.deployment).toBeUndefined()
  expect(existsSync(again.stateFile(56))).toBe(false)
  again.release()
})

test('a kept directory is refused, and left as it is, when other chains are configured', async () => {
  const own = join(dir, 'chains')
  const keep = await openPersistDirectory(own, [8453, 56])
  const record = { diamond: `0x${'1'.repeat(40)}` as const, tokens: [], deployBlock: 1 }
  await keep.saveDeployment([8453, 56].map((chainId) => ({ chainId, ...record })))
  keep.release()
  await expect(openPersistDirectory(own, [8453, 56, 137])).rejects.toThrow(
    'set CHAINS=8453,56, or give --persist another folder',
  )
  expect(existsSync(join(own, 'deployment.json'))).toBe(true)
  expect(existsSync(join(own, 'sandbox.lock'))).toBe(false)
})
