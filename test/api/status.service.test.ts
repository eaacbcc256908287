import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { envelope } from '../../src/api/operation.ts'
import { Status } from '../../src/api/routes/health.ts'
import { type Heartbeat, readHeartbeat, saveHeartbeat } from '../../src/db/index/work/heartbeat.ts'
import { rollBack } from '../../src/db/index/write.ts'
import { createConfirm } from '../../src/indexer/audit/repair.ts'
import { auditSlice } from '../../src/indexer/audit/slice.ts'
import type { ChainId } from '../../src/protocol/chains.ts'
import { chainOf } from '../../src/reads/read.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { heartbeatAt } from '../support/healthy-index.ts'
import { indexAll } from '../support/index-all.ts'
import { startWorld } from '../support/world.ts'

const log = pino({ level: 'silent' })

let world: Awaited<ReturnType<typeof startWorld>>
let store: TestDatabase
let api: Awaited<ReturnType<typeof openApp>>
/** The same API without a database, and without a database and nodes. */
let alone: Awaited<ReturnType<typeof openApp>>
let lost: Awaited<ReturnType<typeof openApp>>

beforeAll(async () => {
  ;[world, store] = await Promise.all([startWorld(), createTestDatabase()])
  const nodes = [{ url: world.anvil.url, deployment: world.deployment }]
  ;[api, alone, lost] = await Promise.all([openApp({ nodes, databaseUrl: store.url }), openApp({ nodes }), openApp({})])
  await indexAll({ chain: chainOf(api.sources.chains, 8453), database: api.database })
})
afterAll(async () => {
  await Promise.all([api, alone, lost].map((it) => it?.close()))
  await Promise.all([store?.close(), world?.close()])
})

const indexed = async () => {
  const block = await api.sources.queries.indexed(8453)
  if (block === null) throw new Error('nothing is indexed')
  return block
}

/** Stores a heartbeat of the leader. */
const beat = async (chainId: ChainId, changed: Partial<Heartbeat> = {}): Promise<void> => {
  const block = await indexed()
  const nodes = chainOf(api.sources.chains, 8453).status()
  const heartbeat = heartbeatAt(block, { proven: block, nodes, ...changed })
  await api.database.run((handle) => saveHeartbeat(handle, chainId, heartbeat))
}

const run = (statement: string) => api.database.run((handle) => handle.execute(sql.raw(statement)))

beforeEach(async () => {
  // A request of the test before may have left a read in flight, which the next request for the same chain would share.
  await Promise.all(([8453, 56] as const).map((chainId) => api.sources.healthOf(chainId)))
  await run('DELETE FROM heartbeats')
  await run(`INSERT INTO cursors SELECT 56, block_number, block_hash, block_timestamp FROM cursors WHERE chain_id = 8453
    ON CONFLICT DO NOTHING`)
  await beat(8453)
  await beat(56)
})

/** What `/readyz` answers with 200. */
const ready = async (): Promise<{ degraded: boolean; problems: string[] }> => {
  const response = await api.app.inject('/readyz')
  expect(response.statusCode).toBe(200)
  const { degraded, problems } = response.json().data
  return { degraded, problems }
}

const status = async (app = api) => {
  const response = await app.app.inject('/status')
  expect(response.statusCode).toBe(200)
  const body = response.json()
  const { data } = envelope(Status).parse(body)
  expect(body).toEqual({ data })
  const of = (chainId: ChainId) => {
    const found = data.chains.find((chain) => chain.chainId === chainId)
    if (found === undefined) throw new Error(`no chain ${chainId}`)
    return found
  }
  return { base: of(8453), bnb: of(56) }
}

describe('readiness', () => {
  test('is complete while a worker reaches both chains and the indexes are at their heads', async () => {
    expect(await ready()).toEqual({ degraded: false, problems: [] })
  })

  test('is degraded for a worker that has not reached its chain for ten seconds, and returns with the next heartbeat', async () => {
    await run(`UPDATE heartbeats SET reported_at = now() - interval '5 seconds' WHERE chain_id = 56`)
    expect((await ready()).degraded).toBe(false)
    await run(`UPDATE heartbeats SET reported_at = now() - interval '12 seconds' WHERE chain_id = 56`)
    expect(await ready()).toEqual({ degraded: true, problems: ['the worker has not reached chain 56 for 12 s'] })
    await beat(56)
    expect((await ready()).degraded).toBe(false)
  })

  test('is degraded without a heartbeat', async () => {
    await run('DELETE FROM heartbeats WHERE chain_id = 8453')
    expect(await ready()).toEqual({ degraded: true, problems: ['the worker has not reached chain 8453 yet'] })
  })

  test('depends on the head that the worker saw, and sends no request to a node', async () => {
    const { number, hash, timestamp } = await indexed()
    await beat(8453, { head: { hash, number: number + 300n, timestamp: timestamp + 61n } })
    expect(await ready()).toEqual({ degraded: true, problems: ['the index of chain 8453 is 61 s behind'] })
    await beat(8453, { head: { hash, number: number + 300n, timestamp: timestamp + 60n } })
    expect((await ready()).degraded).toBe(false)
    expect(chainOf(api.sources.chains, 56).status().endpoints).toMatchObject([{ rank: 'unknown', height: null }])
  })
})

describe('/status', () => {
  test('names the release that the description names', async () => {
    const [{ data }, { info }] = [
      (await api.app.inject('/status')).json(),
      (await api.app.inject('/v1/openapi.json')).json(),
    ]
    expect(data.release).toMatch(/^\d+\.\d+\.\d+/)
    expect(info['x-release']).toBe(data.release)
  })

  test('shows the progress of worker, index and audit, and the nodes as seen by worker and API', async () => {
    const chain = chainOf(api.sources.chains, 8453)
    for (let runs = 0; runs < 3; runs += 1) {
      await auditSlice({ chain, database: api.database, confirm: createConfirm(chain), log })
    }
    const block = await indexed()
    const number = Number(block.number)
    const { base } = await status()
    expect(base).toMatchObject({
      state: 'following',
      head: { number, timestamp: Number(block.timestamp) },
      indexedBlock: number,
      lagSeconds: 0,
      proven: { number, ageSeconds: 0 },
      source: 'logs',
      problem: null,
      audit: { block: number, compared: 11, rounds: 1, differences: 0, repaired: 0, lastDifference: null },
      alarms: [],
    })
    expect(Math.abs((base.heartbeat?.at ?? 0) - Date.now() / 1_000)).toBeLessThan(60)
    for (const side of [base.endpoints.worker, base.endpoints.api]) {
      expect(side).toMatchObject([{ index: 0, rank: 'ok', fault: null }])
      expect(side[0]?.height).toBeGreaterThanOrEqual(number)
    }
  })

  test('shows the size of the refresh queue and the age of its oldest entry', async () => {
    await run(`DELETE FROM refresh_queue`)
    expect((await status()).base.observations).toEqual({ waiting: 0, oldestSeconds: null })
    await run(
      `INSERT INTO refresh_queue (chain_id, subject, id, since) VALUES (8453, 'event', 1, now() - interval '70 seconds')`,
    )
    const { base, bnb } = await status()
    expect(base.observations).toEqual({ waiting: 1, oldestSeconds: 70 })
    expect(base.alarms).toEqual([expect.stringContaining('wait to be refreshed')])
    expect(bnb.alarms).toEqual([])
  })

  test('shows the last difference that the audit found', async () => {
    await run('DELETE FROM positions WHERE id = 2')
    const chain = chainOf(api.sources.chains, 8453)
    for (let runs = 0; runs < 3; runs += 1) {
      await auditSlice({ chain, database: api.database, confirm: createConfirm(chain), log })
    }
    const { audit, alarms } = (await status()).base
    expect(audit).toMatchObject({ differences: 1, repaired: 1, lastDifference: 'positions 2 is missing in the index' })
    expect(alarms).toContainEqual(expect.stringContaining('positions 2 is missing in the index'))
  })

  test('is a 200 while readiness is degraded', async () => {
    await run(`UPDATE heartbeats SET reported_at = now() - interval '12 seconds' WHERE chain_id = 8453`)
    expect((await ready()).degraded).toBe(true)
    expect((await status()).base).toMatchObject({ state: 'stuck', heartbeat: { ageSeconds: 12 } })
  })

  test('shows its own nodes without the database, and is a 503 without database and nodes', async () => {
    expect((await alone.get('/hedge/events/8453/total')).status).toBe(200)
    const { base } = await status(alone)
    expect(base).toMatchObject({
      state: 'unknown',
      indexedBlock: null,
      endpoints: { worker: [], api: [{ rank: 'ok' }] },
    })
    expect(base.alarms).toEqual([expect.stringContaining('The database is out of reach')])
    const response = await lost.app.inject('/status')
    expect([response.statusCode, response.json().error.code]).toEqual([503, 'service_unavailable'])
  })

  test('never shows the URL of a node', async () => {
    const { body } = await lost.app.inject('/status')
    const { payload } = await api.app.inject('/status')
    expect(z.string().parse(body) + payload).not.toMatch(/127\.0\.0\.1|private-key|https?:|postgres:/)
  })
})

describe('the proved block', () => {
  const proven = async () => (await api.database.run((handle) => readHeartbeat(handle, 8453)))?.proven ?? null

  test('stays when a later heartbeat has no proof, and is removed when its block is rolled back', async () => {
    const block = await indexed()
    await beat(8453, { proven: null, problem: 'deposit 7 is missing' })
    expect(await proven()).toEqual(block)
    expect((await status()).base).toMatchObject({
      state: 'stuck',
      problem: 'deposit 7 is missing',
    })
    await api.database.transaction((handle) => rollBack(handle, 8453, block))
    expect(await proven()).toEqual(block)
    await api.database.transaction((handle) => rollBack(handle, 8453, { ...block, number: block.number - 1n }))
    expect(await proven()).toBeNull()
  })
})
