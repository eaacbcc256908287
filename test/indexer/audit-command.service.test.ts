import { execFile } from 'node:child_process'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createChain } from '../../src/chain/chain.ts'
import { watchStartBlock } from '../../src/indexer/start-block.ts'
import { chainOf } from '../../src/reads/read.ts'
import { openApp } from '../support/app.ts'
import { builtCommand } from '../support/built.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { indexAll } from '../support/index-all.ts'
import { startWorld } from '../support/world.ts'

const NOWHERE = 'http://127.0.0.1:9'

let base: Awaited<ReturnType<typeof startWorld>>
let bnb: Awaited<ReturnType<typeof startWorld>>
let store: TestDatabase

beforeAll(async () => {
  ;[base, bnb, store] = await Promise.all([startWorld(8453), startWorld(56), createTestDatabase()])
  // Chain 8453 has no index, because its start block is above its head.
  const api = await openApp({ nodes: [{ url: bnb.anvil.url, deployment: bnb.deployment }], databaseUrl: store.url })
  await indexAll({ chain: chainOf(api.sources.chains, 56), database: api.database })
  await api.close()
})
afterAll(() => Promise.all([store?.close(), base?.close(), bnb?.close()]))

/** Runs the command and returns its output and exit code. */
const audit = (
  changed: Readonly<Record<string, string>>,
): Promise<{ code: unknown; stdout: string; stderr: string }> => {
  const of = ({ anvil, deployment }: typeof base) => ({
    [`RPC_URLS_${deployment.chainId}`]: anvil.url,
    [`PUBLIC_RPC_URL_${deployment.chainId}`]: anvil.url,
    [`DIAMOND_ADDRESS_${deployment.chainId}`]: deployment.diamond,
    [`USDC_ADDRESS_${deployment.chainId}`]: deployment.usdc,
    [`START_BLOCK_${deployment.chainId}`]: String(deployment.startBlock),
    [`PROFILE_${deployment.chainId}`]: deployment.profile,
  })
  const env = {
    ...{ PATH: process.env.PATH, DATABASE_URL: store.url, USDT_ADDRESS_56: bnb.deployment.usdc },
    ...{ ...of(base), ...of(bnb), ...changed },
  }
  const { command, args } = builtCommand('audit')
  return new Promise((resolve) => {
    execFile(command, args, { env }, (fault, stdout, stderr) => resolve({ code: fault?.code ?? 0, stdout, stderr }))
  })
}

test('the audit reports a start block above the head with both blocks, and audits the other chain', async () => {
  const { code, stdout } = await audit({ START_BLOCK_8453: '999999' })
  expect(stdout).toMatch(
    /^chain 8453 was not audited: START_BLOCK_8453 is 999999, and the newest block of chain 8453 is \d+: nothing is indexed\./,
  )
  expect(stdout).toMatch(/^chain 56 at block[\s\S]* {2}no differences$/m)
  expect(code).toBe(2)
})

test('the audit reports a chain whose node is down, and finds a difference of the other chain', async () => {
  const dead = { RPC_URLS_8453: NOWHERE }
  const api = await openApp({ databaseUrl: store.url })
  const plant = (by: number) =>
    api.database.run((handle) => handle.execute(`UPDATE deposits SET amount = amount + ${by} WHERE id = 4`))
  await plant(1)
  const found = await audit(dead)
  await plant(-1)
  await api.close()
  expect(found.stdout).toMatch(/^chain 8453 was not audited: no node of chain 8453 answers\n {2}Run the audit again/)
  expect(found.stdout).toContain('deposits 4: amount is 5000000001 in the index, 5000000000 on the chain')
  expect(found.code).toBe(1)
})

test('without a database the exit code of the audit is 2 and the message contains advice', async () => {
  const { code, stderr } = await audit({ DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' })
  expect(stderr).toContain('check that PostgreSQL runs and that DATABASE_URL points to it')
  expect(code).toBe(2)
}, 60_000)

test('a worker logs a start block above the head at once', async () => {
  const lines: string[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) })
  const deployment = { ...base.deployment, startBlock: 999_999n }
  const chain = createChain({ deployment, rpcUrls: [base.anvil.url], timeoutMs: 15_000, headMaxAgeMs: 1, log })
  const stop = new AbortController()
  const watching = watchStartBlock({ chain, log }, stop.signal)
  await expect.poll(() => lines.join()).toContain('START_BLOCK_8453 is 999999')
  stop.abort()
  await watching
  await chain.close()
})
