import { pino } from 'pino'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { openApi } from '../../src/compose/api.ts'
import { createDrain } from '../../src/compose/drain.ts'
import { openWorker } from '../../src/compose/worker.ts'
import { environments } from '../../src/config/environments.ts'
import { load } from '../../src/config/load.ts'
import { migrate } from '../../src/db/migrate.ts'
import { createClosers } from '../../src/lib/lifecycle.ts'
import { freePort } from '../../src/sandbox/parts/ports.ts'
import { startLine } from '../support/line.ts'
import { runOn, startPostgresPair } from '../support/postgres-pair.ts'
import { eventually } from '../support/process.ts'
import { startWorld } from '../support/world.ts'

/*
 * A failover of PostgreSQL: the primary is killed, its replica is promoted, and the address in DATABASE_URL leads to it.
 * docs/operations/failover.md has the times that this prints.
 */

const CHAIN = 8453
const USDC = 10n ** 6n
const POSITIONS = `/v1/hedge/positions?chainId=${CHAIN}&limit=100`

const world = await startWorld(CHAIN)
const { actions, hedger } = world
afterAll(() => world.close())

const log = pino({ level: 'silent' })

type Page = {
  readonly data: readonly unknown[]
  readonly meta: { readonly nextCursor: string; readonly resets: readonly { readonly reason: string }[] }
}

const openService = async (synchronous: boolean) => {
  const pair = await startPostgresPair({ synchronous })
  await migrate({ databaseUrl: pair.primary })
  const address = await startLine(pair.primary)
  const { deployment, anvil } = world
  const port = await freePort()
  const { diamond, usdc, startBlock, profile, publicRpcUrl } = deployment
  // No node of the other chain answers.
  const ofChain = (id: number) => ({
    ...{ [`RPC_URLS_${id}`]: id === CHAIN ? anvil.url : 'http://127.0.0.1:9', [`PUBLIC_RPC_URL_${id}`]: publicRpcUrl },
    ...{ [`DIAMOND_ADDRESS_${id}`]: diamond, [`USDC_ADDRESS_${id}`]: usdc },
    ...{ [`START_BLOCK_${id}`]: `${startBlock}`, [`PROFILE_${id}`]: profile },
  })
  const env = {
    ...{ DATABASE_URL: address.url, METRICS_PORT: 'off', HOST: '127.0.0.1', PORT: `${port}` },
    ...{ IDLE_POLL_MS: '250', DRAIN_MS: '0', RATE_LIMIT_PER_MINUTE: '0', ...ofChain(CHAIN), ...ofChain(56) },
  }
  const closers = createClosers()
  onTestFinished(async () => {
    await closers.close()
    await address.close()
    await pair.close()
  })
  await openWorker(load(environments.worker, env), log, closers)
  await openApi(load(environments.api, env), createDrain({ ms: 0, log }), log, closers)
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    return { status: response.status, body: (await response.json()) as unknown }
  }
  return { pair, address, get }
}

type Service = Awaited<ReturnType<typeof openService>>

/** A log with the number that receivers of webhooks have for it. */
type Numbered = { readonly log: string; readonly seq: number }

const numbered = async (url: string): Promise<Numbered[]> => {
  const text =
    "SELECT block_number || ' ' || log_index AS log, seq::float FROM ledger WHERE seq IS NOT NULL ORDER BY seq"
  return (await runOn(url, text)) as Numbered[]
}

/** The block up to which a database has the index. */
const reached = async (url: string): Promise<bigint> => {
  const [row] = await runOn(url, `SELECT block_number FROM cursors WHERE chain_id = ${CHAIN}`)
  return BigInt(String(row?.block_number ?? -1))
}

/** Buys a position. Returns the block once the database has it. */
const buy = async (url: string): Promise<bigint> => {
  await actions.buy(hedger, 1n, 10n * USDC)
  const { block } = await world.newest()
  await eventually(`block ${block} is indexed`, async () => (await reached(url)) >= block)
  return block
}

/** Asks until it is stopped, and counts the statuses. */
const poll = ({ get }: Service, path: string) => {
  const counts = new Map<number, number>()
  let stopped = false
  const done = (async () => {
    while (!stopped) {
      const { status } = await get(path)
      counts.set(status, (counts.get(status) ?? 0) + 1)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  })()
  return async () => {
    stopped = true
    await done
    return counts
  }
}

const textOf = (counts: ReadonlyMap<number, number>): string =>
  [...counts].map(([status, count]) => `${count} × ${status}`).join(', ')

/** Follows the feed of changes from a cursor to its end. Returns the new cursor, and the reasons of resets. */
const follow = async ({ get }: Service, since: string) => {
  const { body } = await get(`/v1/changes?chainId=${CHAIN}&since=${since}`)
  const { meta, data } = body as Page
  return { cursor: meta.nextCursor, reasons: meta.resets.map(({ reason }) => reason), count: data.length }
}

/** The cursor behind the changes after a cursor, once there are any. */
const untilNews = async (service: Service, since: string): Promise<string> => {
  let found = { cursor: since, count: 0 }
  await eventually('the feed has news', async () => {
    found = await follow(service, since)
    return found.count > 0
  })
  return found.cursor
}

/** Resolves when lists have every block up to one. */
const untilListed = ({ get }: Service, block = 0n): Promise<void> =>
  eventually('lists answer', async () => (await get(`${POSITIONS}&minBlock=${block}`)).status === 200)

/** Ends the primary and lets the address lead to the promoted replica. Measures until the index continues there. */
const failOver = async (service: Service, name: string, end: () => Promise<void>) => {
  const { pair, address } = service
  const [single, list] = [poll(service, `/v1/hedge/events/${CHAIN}/1`), poll(service, POSITIONS)]
  const ended = performance.now()
  await end()
  await pair.promote()
  const promoted = performance.now()
  address.leadTo(pair.replica)
  const block = await buy(pair.replica)
  const indexed = performance.now()
  await untilListed(service, block)
  const listed = performance.now()
  const [singles, lists] = [await single(), await list()]
  const ms = (to: number): string => (to - ended).toFixed(0)
  console.log(
    `${name}: ms after its end: promoted ${ms(promoted)}, new block indexed ${ms(indexed)}, listed ${ms(listed)}; ` +
      `single reads ${textOf(singles)}; lists ${textOf(lists)}`,
  )
  // Single reads come from the chain meanwhile.
  expect([...singles.keys()]).toEqual([200])
  expect([...lists.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([])
}

/** Whether the index has each log of the chain once, and a list its position. */
const expectComplete = async ({ get }: Service, url: string): Promise<void> => {
  const logs = await actions.client.getLogs({
    address: world.deployment.diamond,
    fromBlock: world.deployment.startBlock,
  })
  expect(await runOn(url, 'SELECT count(*)::integer AS logs FROM ledger')).toEqual([{ logs: logs.length }])
  const [row] = await runOn(url, 'SELECT count(*)::integer AS many FROM positions')
  const { body } = await get(POSITIONS)
  expect((body as Page).data).toHaveLength(Number(row?.many))
}

test.each([
  ['is killed', 'kill'],
  ['hangs', 'freeze'],
] as const)(
  'a failover from a primary that %s to its synchronous replica loses no row and no number, and resets no client',
  async (name, way) => {
    const service = await openService(true)
    const { pair } = service
    await buy(pair.primary)
    await untilListed(service)
    const { cursor: start } = await follow(service, 'now')
    await buy(pair.primary)
    const cursor = await untilNews(service, start)
    const before = await numbered(pair.primary)
    await failOver(service, `${name}, synchronous`, pair[way])
    const after = await numbered(pair.replica)
    expect(after.slice(0, before.length)).toEqual(before)
    expect(after.length).toBeGreaterThan(before.length)
    await untilNews(service, cursor)
    expect((await follow(service, cursor)).reasons).toEqual([])
    await expectComplete(service, pair.replica)
  },
  300_000,
)

test('after a failover to a replica that lags, the worker indexes what was lost again, and clients that had it are reset', async () => {
  const service = await openService(false)
  const { pair } = service
  await buy(pair.primary)
  await untilListed(service)
  const kept = await numbered(pair.primary)
  const { cursor: early } = await follow(service, 'now')
  await eventually('the replica has it', async () => (await numbered(pair.replica)).length === kept.length)
  pair.cutReplication()
  await buy(pair.primary)
  await buy(pair.primary)
  const lost = (await numbered(pair.primary)).slice(kept.length)
  expect(lost.length).toBeGreaterThan(0)
  const late = await untilNews(service, early)
  await failOver(service, 'killed, asynchronous', service.pair.kill)
  const after = await numbered(pair.replica)
  expect(after.slice(0, kept.length)).toEqual(kept)
  // Each lost log is there again, with a number that nothing had before.
  const found = new Map(after.map(({ log: it, seq }) => [it, seq]))
  const newest = Math.max(...lost.map(({ seq }) => seq))
  for (const { log: it } of lost) expect(found.get(it)).toBeGreaterThan(newest)
  expect((await follow(service, early)).reasons).toEqual([])
  expect((await follow(service, late)).reasons).toEqual(['other_history'])
  await expectComplete(service, pair.replica)
}, 300_000)
