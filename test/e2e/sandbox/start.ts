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

test('the explorer of a sandbox loads the script of its wallet and controls, which is served for its pages', async () => {
  const page = await (await fetch(`${sandbox.url}/explorer`)).text()
  const [, script = ''] = /src="(http:\/\/127\.0\.0\.1:\d+\/sandbox\.js)"/.exec(page) ?? []
  const origin = new URL(sandbox.url).origin
  const response = await fetch(script, { headers: { origin } })
  expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, origin])
})

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
