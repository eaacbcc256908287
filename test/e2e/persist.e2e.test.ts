import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createPublicClient, http } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { builtCommand } from '../support/built.ts'
import { longTimeouts } from '../support/long-timeouts.ts'
import { type SandboxProcess, startSandboxProcess } from '../support/sandbox-process.ts'

/**
 * Maximum age in seconds. A busy machine delays the read of the block. A chain that did not continue has a block older
 * than the stop.
 */
const PRESENT_SECONDS = 10

let folder: string
let sandbox: SandboxProcess
const start = () => startSandboxProcess(['--quiet', '--persist', folder], longTimeouts)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fx-persist-'))
  // When this process is root, PostgreSQL runs as another account, which must be able to enter the directory.
  await chmod(folder, 0o711)
  sandbox = await start()
})
afterAll(async () => {
  await sandbox?.stop('SIGINT')
  await rm(folder, { recursive: true, force: true })
})

/** Age of each chain's newest block, in seconds. */
const ages = async (): Promise<number[]> =>
  Promise.all(
    Object.values(sandbox.rpcUrls).map(async (url) => {
      const { timestamp } = await createPublicClient({ transport: http(url) }).getBlock()
      return Date.now() / 1_000 - Number(timestamp)
    }),
  )

const expectPresent = async (): Promise<void> => {
  for (const age of await ages()) expect(Math.abs(age)).toBeLessThan(PRESENT_SECONDS)
}

test('a healthy start prints no line of a service', () => {
  expect(sandbox.output()).not.toMatch(/^\[(worker|api|engine)\].*(out of reach|failed)/m)
})

test('the newest block of a quiet sandbox has the present time', expectPresent)

test('a second sandbox on the same folder exits with code 1 and one line that names the first', async () => {
  const { command, args } = builtCommand('sandbox', '--quiet', '--persist', folder)
  const env = { ...process.env, PORT: '0', SANDBOX_RPC_PORT_8453: '0', SANDBOX_RPC_PORT_56: '0' }
  const refusal = await promisify(execFile)(command, args, { env }).catch((fault) => fault)
  expect(refusal.code).toBe(1)
  const [pid] = sandbox.children(/cli\.js sandbox/)
  expect(refusal.stderr).toBe(
    `process ${pid} runs a sandbox on ${folder}: stop it (kill -INT ${pid}), or choose another folder with --persist\n`,
  )
})

test('a stop reports that it saves each chain, and a resumed sandbox has a recent block when it is ready', async () => {
  expect(await sandbox.stop('SIGINT')).toEqual({ code: 0, left: [] })
  for (const chainId of [8453, 56]) {
    expect(sandbox.output()).toMatch(new RegExp(`saving chain ${chainId}: [^]*chain ${chainId} saved +\\d+\\.\\d s`))
  }
  const stopped = Date.now()
  sandbox = await start()
  expect(sandbox.output()).toContain('(resumed)')
  const [newest = 0] = (await ages()).toSorted((a, b) => b - a)
  // A newer block than the one at the stop.
  expect(newest).toBeLessThan((Date.now() - stopped) / 1_000 + 1)
  await expectPresent()
})
