import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApi } from '../../src/compose/api.ts'
import { createDrain } from '../../src/compose/drain.ts'
import { openWorker } from '../../src/compose/worker.ts'
import { environments } from '../../src/config/environments.ts'
import { load } from '../../src/config/load.ts'
import { readHeartbeat } from '../../src/db/index/work/heartbeat.ts'
import { type Closers, createClosers } from '../../src/lib/lifecycle.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { chainsAt } from '../support/environment.ts'
import { openDatabase } from '../support/open-database.ts'
import { useProtocol } from '../support/use-protocol.ts'

/* Processes as they are composed, in the process of the test, with one chain that answers. */

const protocol = await useProtocol()
const log = pino({ level: 'silent' })

let store: TestDatabase
let env: Record<string, string>
beforeAll(async () => {
  store = await createTestDatabase()
  const { diamond, usdc, startBlock } = protocol.deployment
  env = {
    DATABASE_URL: store.url,
    ...chainsAt({ 8453: protocol.url, 56: 'http://127.0.0.1:9' }, { diamond, usdc: usdc ?? '', startBlock }),
    ...{ HOST: '127.0.0.1', PORT: '0', METRICS_PORT: 'off', DRAIN_MS: '0' },
  }
})
afterAll(() => store?.close())

test.each<[string, (profile: string, closers: Closers) => Promise<void>]>([
  [
    'an API',
    (profile, closers) =>
      openApi(load(environments.api, { ...env, PROFILE_8453: profile }), createDrain({ ms: 0, log }), log, closers),
  ],
  [
    'a worker',
    (profile, closers) => openWorker(load(environments.worker, { ...env, PROFILE_8453: profile }), log, closers),
  ],
])('%s whose profile contradicts the diamond does not start', async (_, open) => {
  for (const [profile, fault] of [
    ['deployed', 'Set PROFILE_8453=reference.'],
    ['reference', null],
  ] as const) {
    const closers = createClosers()
    const started = await open(profile, closers).then(
      () => null,
      (error: Error) => error.message,
    )
    await closers.close()
    expect(started).toEqual(fault === null ? null : expect.stringContaining(fault))
  }
})

test('the heartbeat of a worker has the reason why its queue of jobs fails', async () => {
  const closers = createClosers()
  const database = openDatabase(store.url)
  await openWorker(load(environments.worker, { ...env, REDIS_URL: 'redis://127.0.0.1:9' }), log, closers)
  const fault = async () => (await database.run((handle) => readHeartbeat(handle, 8453)))?.jobsFault
  await expect.poll(fault, { timeout: 20_000 }).toBe('ECONNREFUSED')
  await closers.close()
  await database.close()
})
