import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { writeEnvFile } from '../../src/sandbox/env-file.ts'
import { eventually } from '../support/process.ts'

test('the environment file is private to its account, and removing it removes its directory', async () => {
  const { path, remove } = await writeEnvFile({ SECRET: '1' })
  expect([statSync(path).mode & 0o077, statSync(dirname(path)).mode & 0o077]).toEqual([0, 0])
  await remove()
  expect(existsSync(dirname(path))).toBe(false)
})

test.each([
  ['the environment file', 'env-file.ts', `console.log((await writeEnvFile({ SECRET: '1' })).path)`, 'writeEnvFile'],
  [
    'a directory, before any child has it',
    'parts/scratch.ts',
    `console.log((await makeScratch('fx-test-')).path)`,
    'makeScratch',
  ],
])('%s is removed when the process is killed with -9', async (_, file, script, name) => {
  const module = new URL(`../../src/sandbox/${file}`, import.meta.url).href
  const source = `const { ${name} } = await import(${JSON.stringify(module)}); ${script}; setInterval(() => {}, 1000)`
  const args = ['--import', import.meta.resolve('tsx'), '--input-type=module', '-e', source]
  const parent = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [path] = await once(createInterface({ input: parent.stdout }), 'line')
  expect(existsSync(path)).toBe(true)
  parent.kill('SIGKILL')
  await eventually('it is removed', () => !existsSync(path))
  await eventually('so is the directory it is in', () => !existsSync(file === 'env-file.ts' ? dirname(path) : path))
})
