import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chainOf } from '../../src/reads/read.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { startEngine } from '../support/engine.ts'
import { type Generated, planPaths, requests } from '../support/generate.ts'
import { startIdentityProvider } from '../support/identity-provider.ts'
import { indexAll } from '../support/index-all.ts'
import { eventually } from '../support/process.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { startWorld } from '../support/world.ts'
import { builders, gets, posts } from '../vectors/specification.ts'

type World = Awaited<ReturnType<typeof startWorld>>

const REQUESTS = byForm(120, 50_000)
/** Requests of which the first of each operation is sent in any case. */
const GENERATED = Math.max(REQUESTS, 1_000)
const AT_ONCE = 16

/** Longer than any answer may take, an estimate's two seconds included. */
const PATIENCE_MS = 10_000

let worlds: readonly World[]
let database: TestDatabase
let provider: Awaited<ReturnType<typeof startIdentityProvider>>
let engine: Awaited<ReturnType<typeof startEngine>>
let api: Awaited<ReturnType<typeof openApp>>

beforeAll(async () => {
  const wallet = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
  ;[worlds, database, provider, engine] = await Promise.all([
    Promise.all([startWorld(8453), startWorld(56)]),
    createTestDatabase(),
    startIdentityProvider([{ sub: 'ama', address: wallet }]),
    startEngine(),
  ])
  const nodes = worlds.map(({ anvil, deployment }) => ({ url: anvil.url, deployment }))
  const identity = { userinfoUrl: provider.userinfoUrl }
  api = await openApp({ nodes, databaseUrl: database.url, identity, engineUrl: engine.url })
  for (const { deployment } of worlds) {
    await indexAll({ chain: chainOf(api.sources.chains, deployment.chainId), database: api.database })
  }
  // A token that is not configured is asked of its chain once, and a node that is late for that is 503.
  await eventually('every token is known', async () => (await api.get('/hedge/events')).status === 200)
})
afterAll(async () => {
  await api?.close()
  await Promise.all([database?.close(), provider?.close(), engine?.close(), ...worlds.map((world) => world.close())])
})

/** What is wrong with the answer, or null. The client throws when it is off its schema or lacks what every answer has. */
const judge = async ({ request, statuses, faults }: Generated): Promise<string | null> => {
  const { status, error } = await api.send(request)
  if (!statuses.includes(status)) {
    return `status ${status} (${error?.message}) and not ${statuses.join(' or ')}`
  }
  const named = new Set(error?.details?.map(({ path }) => path))
  if (status === 400 && named.size === 0) return 'names no field'
  const missed = faults.filter((fault) => !named.has(fault))
  const invented = [...named].filter((path) => faults.length > 0 && !faults.includes(path))
  return missed.length + invented.length === 0 ? null : `names ${[...named]} and not ${faults}`
}

test(`${REQUESTS} generated requests, and one of each operation, (seed ${seed}) are answered as specified`, {
  timeout: byForm(300_000, 3_600_000),
}, async () => {
  const wallets = [...new Set(worlds.flatMap(({ creator, lp, hedger }) => [creator, lp, hedger]))]
  const addresses = wallets.map(({ account }) => account.address)
  const transactions = await Promise.all(worlds.map(async ({ newest }) => (await newest()).hash))
  const tokens = [await provider.signIn('ama')]
  const sample = fc.sample(requests({ wallets: addresses, tokens, transactions }), { seed, numRuns: GENERATED })

  const asked = new Set<string>()
  const generated = sample.filter(({ operation }, at) => {
    const isFirst = !asked.has(operation)
    asked.add(operation)
    return isFirst || at < REQUESTS
  })
  const paths = [...Object.keys({ ...gets, ...posts, ...builders }), ...planPaths, '/transactions/{chainId}/{hash}']
  for (const path of paths) expect(asked).toContain(path)

  const failures: string[] = []
  const queue = generated.entries()
  const work = async (): Promise<void> => {
    for (const [at, it] of queue) {
      const late = sleep(PATIENCE_MS, 'no answer', { ref: false })
      const fault = await Promise.race([judge(it), late]).catch((error: unknown) => String(error))
      if (fault !== null) failures.push(`request ${at}: ${fault}\n${JSON.stringify(it.request).slice(0, 2_000)}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  expect(failures.slice(0, 5), `TEST_SEED=${seed}`).toEqual([])
})
