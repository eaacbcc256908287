import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { builtCommand } from '../../support/built.ts'
import { expectPresent } from './blocks.ts'
import { folder, sandbox } from './process.ts'

test('a healthy start prints no line of a service', () => {
  expect(sandbox.output()).not.toMatch(/^\[(worker|api|engine)\].*(out of reach|failed)/m)
})

test('the newest block of a quiet sandbox has the present time', expectPresent)

test('a second sandbox on the same folder exits with code 1 and one line that names the first', async () => {
  const [first] = sandbox.children(/cli\.js sandbox/)
  const { command, args } = builtCommand('sandbox', '--quiet', '--persist', folder)
  const env = { ...process.env, PORT: '0', SANDBOX_RPC_PORT_8453: '0', SANDBOX_RPC_PORT_56: '0' }
  const refusal = await promisify(execFile)(command, args, { env }).catch((fault) => fault)
  expect(refusal.code).toBe(1)
  expect(refusal.stderr).toBe(
    `process ${first} runs a sandbox on ${folder}: stop it (kill -INT ${first}), or choose another folder with --persist\n`,
  )
})
