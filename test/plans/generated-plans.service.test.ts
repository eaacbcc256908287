import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { chainOf } from '../../src/reads/read.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { startEngine } from '../support/engine.ts'
import { type Generated, planPaths, plans } from '../support/generate.ts'
import { indexAll } from '../support/index-all.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { startWorld } from '../support/world.ts'

const PLANS = byForm(60, 5_000)
const AT_ONCE = 8

const [worlds, database, engine] = await Promise.all([
  Promise.all([startWorld(8453), startWorld(56)]),
  createTestDatabase(),
  startEngine(),
])
const nodes = worlds.map(({ anvil, deployment }) => ({ url: anvil.url, deployment }))
const api = await openApp({ nodes, databaseUrl: database.url, engineUrl: engine.url })
for (const { deployment } of worlds)
  await indexAll({ chain: chainOf(api.sources.chains, deployment.chainId), database: api.database })
afterAll(async () => {
  await api.close()
  await Promise.all([database.close(), engine.close(), ...worlds.map((world) => world.close())])
})

/** What is wrong with the answer to a plan's body, or null. The client throws when a plan is off its schema. */
const judge = async ({ request, statuses, faults }: Generated): Promise<string | null> => {
  const { status, error } = await api.send(request)
  if (!statuses.includes(status)) return `status ${status} (${error?.message}) and not ${statuses.join(' or ')}`
  const named = new Set(error?.details?.map(({ path }) => path))
  if (status === 400 && named.size === 0) return 'names no field'
  const isAsExpected =
    faults.length === 0 || (named.size === new Set(faults).size && faults.every((it) => named.has(it)))
  return isAsExpected ? null : `names ${[...named]} and not ${faults}`
}

test(`${PLANS} generated bodies of plans (seed ${seed}) have a plan, or an error that names the field`, {
  timeout: byForm(120_000, 3_600_000),
}, async () => {
  const wallets = worlds.flatMap(({ creator, lp, hedger }) =>
    [creator, lp, hedger].map(({ account }) => account.address),
  )
  const generated = fc.sample(plans([...new Set(wallets)]), { seed, numRuns: PLANS })
  const asked = new Set(generated.map(({ operation }) => operation))
  for (const path of planPaths) expect(asked).toContain(path)
  const failures: string[] = []
  let refused = 0
  const queue = generated.entries()
  const work = async (): Promise<void> => {
    for (const [at, it] of queue) {
      if (it.faults.length > 0) refused += 1
      const fault = await judge(it).catch((error: unknown) => String(error))
      if (fault !== null) failures.push(`request ${at}: ${fault}\n${JSON.stringify(it.request).slice(0, 2_000)}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  console.log(`TEST_SEED=${seed}: ${PLANS} bodies of plans, ${refused} with a fault`)
  expect(failures.slice(0, 5), `TEST_SEED=${seed}`).toEqual([])
})
