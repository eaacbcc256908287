import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { z } from 'zod'
import { errorText } from '../../../src/lib/errors.ts'
import { createRandom } from '../../../src/sandbox/story/random.ts'
import { type Index, openIndex } from '../rig.ts'
import { startApi } from '../service.ts'
import type { Failure, Target } from '../target.ts'

const STEPS = 12
const WITHIN_MS = 45_000

const Page = z.object({
  data: z.array(z.object({ wallet: z.string().optional(), eventId: z.int().optional() })),
  meta: z.object({
    nextCursor: z.string(),
    hasMore: z.boolean(),
    resets: z.array(z.object({ chainId: z.int(), reason: z.string() })),
  }),
})
const Portfolio = z.object({ data: z.record(z.string(), z.unknown()) })
const Activity = z.object({ data: z.array(z.unknown()) })
const Rows = z.object({ data: z.array(z.object({ id: z.int() })) })

/** The rows of all tables at one moment. */
const readTables = async (client: Client): Promise<Map<string, unknown[]>> => {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  const { rows } = await client.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
  )
  const tables = new Map<string, unknown[]>()
  for (const { name } of rows) {
    const found = await client.query<{ row: unknown }>(`SELECT to_json(it)::text AS row FROM "${name}" AS it`)
    tables.set(
      name,
      found.rows.map(({ row }) => row),
    )
  }
  await client.query('COMMIT')
  return tables
}

/** Restores the rows of all tables, as a backup of the database does. */
const restoreTables = async (client: Client, tables: ReadonlyMap<string, readonly unknown[]>): Promise<void> => {
  await client.query('BEGIN')
  // Triggers that clear texts are not part of a restore.
  await client.query('SET LOCAL session_replication_role = replica')
  await client.query(`TRUNCATE ${[...tables.keys()].map((name) => `"${name}"`).join()}`)
  for (const [name, rows] of tables)
    await client.query(
      `INSERT INTO "${name}" OVERRIDING SYSTEM VALUE SELECT (json_populate_record(NULL::"${name}", row::json)).* FROM unnest($1::text[]) AS row`,
      [rows],
    )
  await client.query('COMMIT')
}

/** A client that keeps a copy of wallets and events by the feed alone. */
const createCopy = (wallets: readonly string[]) => {
  const held = new Map<string, string>()
  const reasons = new Map<string, number>()
  let cursor = ''

  type Get = Awaited<ReturnType<typeof startApi>>['get']
  const ask = async <T>(get: Get, path: string, schema: z.ZodType<T>): Promise<T> => {
    const { status, body } = await get(path)
    if (status !== 200) throw new Error(`${path} answered ${status}: ${body.slice(0, 200)}`)
    return schema.parse(JSON.parse(body))
  }
  const walletNow = async (get: Get, wallet: string): Promise<string> => {
    const { data } = await ask(get, `/v1/wallets/${wallet}/portfolio?chainId=8453&state=all`, Portfolio)
    const activity = await ask(get, `/v1/activity?chainId=8453&limit=200&wallet=${wallet}`, Activity)
    return JSON.stringify({ ...data, chains: null, activity: activity.data })
  }
  const eventNow = async (get: Get, id: number): Promise<string | null> => {
    const { data } = await ask(get, `/v1/hedge/events?chainId=8453&ids=${id}&include=stats,utilization`, Rows)
    const activity = await ask(get, `/v1/activity?chainId=8453&limit=200&eventId=${id}`, Activity)
    return data.length === 0 ? null : JSON.stringify([...data, activity.data])
  }
  const everything = async (get: Get): Promise<Map<string, string>> => {
    const all = new Map<string, string>()
    for (const wallet of wallets) all.set(wallet, await walletNow(get, wallet))
    for (let after = '', hasMore = true; hasMore; ) {
      const page = await ask(get, `/v1/hedge/events?chainId=8453&limit=200${after}`, Rows.extend({ meta: Cursor }))
      for (const { id } of page.data) all.set(String(id), (await eventNow(get, id)) ?? '')
      hasMore = page.meta.nextCursor !== null
      after = `&cursor=${page.meta.nextCursor}`
    }
    return all
  }
  return {
    held,
    reasons,
    everything,
    /** Walks to the end of the feed. Throws when a request fails; the cursor then stays before what was not copied. */
    async follow(get: Get): Promise<void> {
      for (let hasMore = true; hasMore; ) {
        const since = cursor === '' ? '' : `&since=${cursor}`
        const { data, meta } = await ask(get, `/v1/changes?chainId=8453&limit=20${since}`, Page)
        for (const { reason } of meta.resets) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
        if (meta.resets.length > 0) {
          const all = await everything(get)
          held.clear()
          for (const [key, state] of all) held.set(key, state)
        }
        for (const { wallet, eventId } of data) {
          const state =
            wallet === undefined
              ? eventId === undefined
                ? null
                : await eventNow(get, eventId)
              : await walletNow(get, wallet)
          const key = wallet ?? String(eventId)
          if (state === null) held.delete(key)
          else if (wallet === undefined || wallets.includes(wallet)) held.set(key, state)
        }
        cursor = meta.nextCursor
        hasMore = meta.hasMore
      }
    },
  }
}

const Cursor = z.object({ nextCursor: z.string().nullable() })

type Running = { worker: Awaited<ReturnType<Index['start']>>; api: Awaited<ReturnType<typeof startApi>> }

/**
 * Kills the worker and the API, reorganises the chain, and restores older rows, at random, while a client follows the
 * feed. After each step in which nothing fails any more, its copy must equal a full fetch.
 */
export const feed: Target = {
  claim: 'a copy kept by the feed of changes, under kill -9 of worker and API, reorgs and restored backups',
  figure: 'equal to a full fetch, every reset with its reason',
  async run({ store, chains, seeds }) {
    const { traffic } = chains
    const failures: Failure[] = []
    const counts = { steps: 0, kills: 0, reorgs: 0, restores: 0 }
    const reasons = new Map<string, number>()
    for (const seed of seeds) {
      traffic.reseed(seed)
      const random = createRandom(seed)
      const index = await openIndex({ store, chains, seed, ledger: 'all' })
      const client = new Client(index.database.url)
      await client.connect()
      try {
        const wallets = traffic.wallets.slice(0, 6)
        const copy = createCopy(wallets)
        const start = async (): Promise<Running> => ({
          worker: await index.start('worker'),
          api: await startApi(index),
        })
        let running = await start()
        let backup: Map<string, unknown[]> = new Map()
        const check = async (what: string): Promise<void> => {
          await index.untilExact(await traffic.mine(1), WITHIN_MS)
          // Observations follow the facts; the copy is right once both are complete.
          const deadline = Date.now() + WITHIN_MS
          for (let wrong: string[] = []; ; await sleep(200)) {
            try {
              await copy.follow(running.api.get)
              const all = await copy.everything(running.api.get)
              wrong = [...new Set([...all.keys(), ...copy.held.keys()])].filter(
                (key) => all.get(key) !== copy.held.get(key),
              )
              if (wrong.length === 0 && (await isObserved(client))) return
            } catch (fault) {
              wrong = [errorText(fault)]
            }
            if (Date.now() > deadline) throw new Error(`${what}: ${wrong.slice(0, 3).join('; ')} differ`)
          }
        }
        await traffic.mine(5)
        await check('at the start')
        backup = await readTables(client)
        for (let step = 1; step <= STEPS; step += 1) {
          counts.steps += 1
          await traffic.mine(random.int(1, 4))
          const action = random.pick(['kill worker', 'kill API', 'reorg', 'back up', 'restore', 'traffic'] as const)
          if (action === 'kill worker') {
            counts.kills += 1
            await running.worker.kill()
            await traffic.mine(2)
            running = { ...running, worker: await index.start('worker') }
          } else if (action === 'kill API') {
            counts.kills += 1
            await running.api.process.kill()
            await traffic.mine(2)
            running = { ...running, api: await startApi(index) }
          } else if (action === 'reorg') {
            counts.reorgs += 1
            const replace = await traffic.fork()
            for (let depth = random.int(1, 5); depth > 0; depth -= 1) await traffic.mine(random.int(0, 3))
            if (random.int(0, 1) === 0) await copy.follow(running.api.get).catch(() => {})
            index.proxy.hold()
            await replace().finally(() => index.proxy.release())
          } else if (action === 'back up') {
            backup = await readTables(client)
          } else if (action === 'restore') {
            counts.restores += 1
            await copy.follow(running.api.get).catch(() => {})
            await Promise.all([running.worker.kill(), running.api.process.kill()])
            await restoreTables(client, backup)
            running = await start()
          }
          if (random.int(0, 2) > 0) await check(`step ${step}, after ${action}`)
        }
        await check('at the end')
        for (const [reason, count] of copy.reasons) reasons.set(reason, (reasons.get(reason) ?? 0) + count)
      } catch (fault) {
        failures.push({ seed, what: errorText(fault) })
      } finally {
        await client.end()
        await index.close()
      }
    }
    const resets = [...reasons].map(([reason, count]) => `${count} ${reason}`).join(', ')
    return {
      measured: `${counts.steps} steps (${counts.kills} kills, ${counts.reorgs} reorgs, ${counts.restores} restores), ${failures.length} wrong copies, resets: ${resets}`,
      met: failures.length === 0,
      failures,
    }
  },
}

/** Whether no entity waits to be observed. */
const isObserved = async (client: Client): Promise<boolean> =>
  (await client.query('SELECT FROM refresh_queue WHERE chain_id = 8453 AND from_block IS NOT NULL LIMIT 1')).rows
    .length === 0
