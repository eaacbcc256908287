import { readFileSync } from 'node:fs'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { carry } from '../../src/db/carry/carry.ts'
import { saveHeartbeat } from '../../src/db/index/work/heartbeat.ts'
import { createQueries } from '../../src/db/queries/entities.ts'
import { openApp } from '../support/app.ts'
import { openIndexSteps } from '../support/index-steps.ts'
import type { World } from '../support/indexing.ts'
import { startWorld } from '../support/world.ts'

/* The procedures of docs/operations/reindex.md are run as they are written there, for the chain of the test. */

let world: World
let steps: Awaited<ReturnType<typeof openIndexSteps>>
let client: Client

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world?.close())
beforeEach(async () => {
  steps = await openIndexSteps(world, world.anvil.url)
  client = new Client(steps.url)
  await client.connect()
  await steps.index()
  await steps.observeAll()
})
afterEach(async () => {
  await client?.end()
  await steps?.close()
})

const section = (heading: string): string => {
  const page = readFileSync('docs/operations/reindex.md', 'utf8')
  const [, found] = page.split(`## ${heading}\n`)
  if (found === undefined) throw new Error(`docs/operations/reindex.md has no section ${heading}`)
  return found.split(/\n## /)[0] ?? ''
}

/** The SQL of a section, for chain 8453 instead of 56. */
const documentedSql = (heading: string): string => {
  const [, sql] = /```sql\n([\s\S]*?)```/.exec(section(heading)) ?? []
  if (sql === undefined) throw new Error(`the section ${heading} has no SQL`)
  return sql.replace(/\b56\b/g, '8453')
}

const settlements = async (from: Client) =>
  (await from.query('SELECT seq, type, event_id, settled_at, settlement_price FROM settlements ORDER BY seq')).rows

const openApi = (databaseUrl: string) =>
  openApp({ databaseUrl, nodes: [{ url: world.anvil.url, deployment: world.deployment }] })

type Api = Awaited<ReturnType<typeof openApi>>

/** Reads while a worker reports that the index is near the head: only then does an API process give and honor tags. */
const readNearHead = async ({ app }: Api, { chain, database, readIndex }: typeof steps, url: string, tag = '') => {
  const { cursor: head } = await readIndex()
  const seen = { head, proven: head, isQuiet: false, source: 'logs', problem: null, nodes: chain.status() } as const
  await database.run((handle) => saveHeartbeat(handle, 8453, seen))
  return app.inject({ url, headers: { 'if-none-match': tag } })
}

const tagOf = async (api: Api, index: typeof steps, url: string): Promise<string> => {
  let tag: unknown
  await expect
    .poll(async () => {
      tag = (await readNearHead(api, index, url)).headers.etag
      return tag
    })
    .toBeDefined()
  return String(tag)
}

const withApi = async <T>(databaseUrl: string, use: (api: Api) => Promise<T>) => {
  const api = await openApi(databaseUrl)
  try {
    return await use(api)
  } finally {
    await api.close()
  }
}

test('the documented statements have every entity of every chain read again, which replaces wrong observations', async () => {
  const payoutOf = async () => (await createQueries(steps.database).position(8453, 1n))?.position.payoutAmount
  const correct = await payoutOf()
  await client.query('UPDATE position_observations SET payout_amount = payout_amount + 1')
  expect(await payoutOf()).not.toBe(correct)

  await client.query('INSERT INTO cursors SELECT (json_populate_record(cursors, \'{"chain_id":56}\')).* FROM cursors')
  await client.query(documentedSql('Read every entity again'))
  const queued = await client.query('SELECT DISTINCT chain_id, subject FROM refresh_queue ORDER BY chain_id, subject')
  expect(queued.rows.map(({ chain_id, subject }) => `${chain_id} ${subject}`)).toEqual([
    '56 chain',
    ...['chain', 'deposit', 'event', 'position'].map((subject) => `8453 ${subject}`),
  ])
  await steps.observeAll()
  expect(await payoutOf()).toBe(correct)
  await steps.expectObserved()
})

test('a chain that is rebuilt in place has the same rows and settlements, and no cached answer survives', async () => {
  await withApi(steps.url, async (api) => {
    const url = '/v1/hedge/positions?chainId=8453&limit=2'
    const ids = '/v1/hedge/events/8453/1/positions'
    const tag = await tagOf(api, steps, ids)
    const tagged = { url: ids, headers: { 'if-none-match': tag } }
    await expect.poll(async () => (await readNearHead(api, steps, ids, tag)).statusCode).toBe(304)
    const { body } = await api.app.inject(ids)
    const page = (await api.app.inject(url)).json()
    const [facts, settled] = [await steps.readIndex(), await settlements(client)]
    expect(settled).not.toEqual([])

    await client.query(documentedSql('Rebuild one chain in place'))
    await expect.poll(async () => (await api.app.inject(tagged)).headers['x-data-source']).toBe('chain')
    expect((await api.app.inject(tagged)).body).toBe(body)
    expect((await api.app.inject(url)).statusCode).toBe(503)

    await steps.index()
    await steps.observeAll()
    await steps.expectObserved()
    const { events, deposits, positions } = await steps.readIndex()
    expect({ events, deposits, positions }).toEqual({
      events: facts.events,
      deposits: facts.deposits,
      positions: facts.positions,
    })
    expect(await settlements(client)).toEqual(settled)
    await expect.poll(async () => (await api.app.inject(url)).json().data).toEqual(page.data)
    const next = await api.app.inject(`${url}&cursor=${page.meta.nextCursor}`)
    expect(next.json().meta.asOf).toMatchObject([{ chainId: 8453, reorgedSince: true }])
  })
})

test('a rebuilt database has the same rows, repeats no settlement and honors no old tag', async () => {
  const settled = await settlements(client)
  expect(settled).not.toEqual([])
  const url = '/v1/hedge/events/8453/1/positions'
  const next = await openIndexSteps(world, world.anvil.url)
  const other = new Client(next.url)
  await other.connect()
  try {
    await next.index()
    await next.observeAll()
    // The clock of the previous server was an hour ahead.
    await client.query('UPDATE change_counter SET before = last, last = last + 3600000000, fed = fed + 3600000000')
    const tag = await withApi(steps.url, (old) => tagOf(old, steps, url))
    for (const stopped of [client, other]) await stopped.query('UPDATE leases SET expires_at = now()')
    expect(await carry({ previous: steps.url, rebuilt: next.url })).toMatchObject({ events: 0 })
    await next.observeAll()
    await next.expectObserved()
    const { cursor: _, ...facts } = await next.readIndex()
    expect(await steps.readIndex()).toMatchObject(facts)
    expect(await settlements(other)).toEqual(settled)
    await withApi(next.url, async (api) => {
      const own = await tagOf(api, next, url)
      await expect.poll(async () => (await readNearHead(api, next, url, own)).statusCode).toBe(304)
      expect((await readNearHead(api, next, url, tag)).statusCode).toBe(200)
    })
  } finally {
    await other.end()
    await next.close()
  }
})
