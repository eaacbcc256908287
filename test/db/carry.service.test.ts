import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { carry } from '../../src/db/carry/carry.ts'
import { finalizeSettlements, newestNotFinal } from '../../src/db/index/settlements.ts'
import { releaseLease, takeLease } from '../../src/db/index/work/lease.ts'
import { createQueries } from '../../src/db/queries/entities.ts'
import { webhookTypes } from '../../src/db/schema/webhooks.ts'
import { addEndpoint, changeEndpoint } from '../../src/db/webhooks/endpoints.ts'
import { knownTokens } from '../../src/protocol/tokens.ts'
import { fillDeliveries } from '../../src/webhooks/fill.ts'
import { createTestDatabase } from '../support/database.ts'
import { openIndexSteps } from '../support/index-steps.ts'
import { rowsOf } from '../support/index-writes.ts'
import { openDatabase } from '../support/open-database.ts'
import { startWorld } from '../support/world.ts'

/* An index with clients, and a second one of the same chain that takes its place. */

type Steps = Awaited<ReturnType<typeof openIndexSteps>>

const CHAIN = 8453
const DAY = 86_400
const USDC = 10n ** 6n
const tokens = knownTokens([])

const world = await startWorld()
const { actions, creator, hedger, lp, owner, upward } = world
let previous: Steps
let rebuilt: Steps
/** The block up to which the index was when the endpoint was added. */
let added: bigint

const update = async (steps: Steps): Promise<void> => {
  await steps.index()
  await steps.observeAll()
  // The worker stops.
  await rowsOf(steps.database, 'UPDATE leases SET expires_at = now()')
}

const fill = async ({ database }: Steps): Promise<void> => {
  while (await fillDeliveries({ database, tokens }, 'we_1', new Date()));
}

const all = (steps: Steps, table: string, order: string) =>
  rowsOf(steps.database, `SELECT to_jsonb(it) AS row FROM ${table} AS it ORDER BY ${order}`)

/** Creates an event with a position and lets it expire. Returns its id. */
const expired = async (): Promise<bigint> => {
  const { eventId } = await actions.createEvent(creator, { ...upward, expiry: (await actions.now()) + DAY })
  await actions.setPool(creator, eventId, true, true)
  await actions.buy(hedger, eventId, 100n * USDC)
  await actions.node.increaseTime({ seconds: DAY + 1 })
  await actions.node.mine({ blocks: 1 })
  return eventId
}

/** Removes the newest blocks with their transactions. */
const removeBlocks = async (many: number): Promise<void> => {
  await actions.node.request({ method: 'anvil_reorg', params: [many, []] } as never)
}

beforeAll(async () => {
  previous = await openIndexSteps(world, world.anvil.url)
  rebuilt = await openIndexSteps(world, world.anvil.url)
  await update(previous)
  added = (await createQueries(previous.database).indexed(CHAIN))?.number ?? 0n
  await rowsOf(previous.database, "INSERT INTO api_keys VALUES ('key_1', 'Ada', 'ff', now())")
  const filters = { apiKey: 'key_1', chainIds: null, wallets: null, eventIds: null }
  const chosen = { id: 'we_1', url: 'https://receiver.example/', types: [...webhookTypes], ...filters }
  await addEndpoint(previous.database, { ...chosen, secret: 'encrypted', createdAt: new Date() }, 10)
  await rowsOf(previous.database, `INSERT INTO calibrations (model, pairs) VALUES (1, '{"a":1}'), (1, '{"a":2}')`)
  await rowsOf(rebuilt.database, `INSERT INTO calibrations (model, pairs) VALUES (1, '{"b":1}')`)
})
afterAll(async () => {
  await previous?.close()
  await rebuilt?.close()
  await world?.close()
})

type Numbered = { readonly seq: number | null }
type Settled = { readonly event_id: number; readonly block_hash: string }

const urls = () => ({ previous: previous.url, rebuilt: rebuilt.url })

/** What the command changes. */
const contents = async (steps: Steps) => ({
  settlements: await all(steps, 'settlements', 'seq'),
  calibrations: await all(steps, 'calibrations', 'version'),
  rollbacks: await all(steps, 'rollbacks', 'seq'),
  keys: await all(steps, 'api_keys', 'id'),
  endpoints: await all(steps, 'webhook_endpoints', 'id'),
  deliveries: await all(steps, 'deliveries', 'id'),
  reversals: await all(steps, 'ledger_reversals', 'seq'),
  numbers: await all(steps, 'ledger', 'block_number, log_index'),
  counter: await all(steps, 'change_counter', 'one'),
  epochs: await all(steps, 'feed_epochs', 'epoch'),
})

const Message = (body: string) =>
  JSON.parse(body) as { type: string; data: { eventId?: number; txHash?: string; logIndex?: number } }

/** The messages of the endpoint, in the order in which they are sent. */
const messages = async (steps: Steps) => {
  const rows = await rowsOf(steps.database, 'SELECT id, body FROM deliveries ORDER BY seq, id')
  return rows.map((row) => ({ id: String(row.id), ...Message(String(row.body)) }))
}

test('an index that is not ready to take the place of another one changes nothing', async () => {
  const before = await contents(rebuilt)
  await expect(carry(urls())).rejects.toThrow(
    /^chain 8453: the rebuilt index is at block none, the previous one at \d+: run its worker until it has caught up$/,
  )
  await update(rebuilt)
  const ready = await contents(rebuilt)
  expect(ready).not.toEqual(before)
  for (const [steps, name] of [
    [previous, 'previous'],
    [rebuilt, 'rebuilt'],
  ] as const) {
    const lease = await takeLease(steps.database, CHAIN, 'running', 60_000)
    await expect(carry(urls())).rejects.toThrow(`a worker of the ${name} database has the lease of chain 8453 until`)
    if (lease !== null) await releaseLease(steps.database, lease)
  }
  const gap = 'INSERT INTO log_gaps (chain_id, from_block, to_block, unread_to) VALUES (8453, 1, 2, 2)'
  await rowsOf(rebuilt.database, gap)
  await expect(carry(urls())).rejects.toThrow('chain 8453: the rebuilt index still reads logs')
  await rowsOf(rebuilt.database, 'DELETE FROM log_gaps')
  await expect(carry({ previous: previous.url, rebuilt: previous.url })).rejects.toThrow('both databases have the same')
  const nowhere = 'postgres://127.0.0.1:9/fx'
  await expect(carry({ previous: nowhere, rebuilt: rebuilt.url })).rejects.toThrow(
    /^the previous database is out of reach .* PREVIOUS_DATABASE_URL points to it$/,
  )
  await rowsOf(previous.database, 'CREATE TABLE kept AS SELECT * FROM drizzle.__drizzle_migrations')
  await rowsOf(previous.database, 'DELETE FROM drizzle.__drizzle_migrations')
  await expect(carry(urls())).rejects.toThrow('the previous database: ')
  await rowsOf(previous.database, 'INSERT INTO drizzle.__drizzle_migrations SELECT * FROM kept')
  expect(await contents(rebuilt)).toEqual(ready)
})

test('receivers get what they lack, once, and numbers, versions and cursors keep their meaning', async () => {
  const [first, second, third, fourth] = [await expired(), await expired(), await expired(), await expired()]
  await update(previous)
  await actions.settle(owner, first, 14_000_000n)
  await update(previous)
  const settled = await newestNotFinal(previous.database, CHAIN)
  if (settled !== null) await finalizeSettlements(previous.database, CHAIN, settled)
  await actions.settle(owner, fourth, 9_000_000n)
  await update(previous)
  await actions.buy(hedger, 1n, 1_000n * USDC)
  await update(previous)
  await fill(previous)
  const sent = await messages(previous)
  expect(sent.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['settlement.settled', 'settlement.finalized', 'activity.recorded', 'wallet.changed']),
  )
  await changeEndpoint(previous.database.handle, 'we_1', { failure: 'slow', failingSince: new Date() })

  // A reorg that the previous index follows, which its receivers do not know yet.
  await removeBlocks(1)
  await actions.deposit(lp, 1n, 2_000n * USDC)
  await update(previous)
  const reset = (await world.newest()).block
  // The rebuilt index follows the chain meanwhile, and numbers what is new to it.
  await update(rebuilt)
  await actions.settle(owner, second, 9_000_000n)
  await actions.buy(hedger, 1n, 3_000n * USDC)
  await update(rebuilt)
  await update(previous)
  // A row of the past, because the feed was reset, and a wrong one.
  await rowsOf(previous.database, `UPDATE ledger SET seq = NULL WHERE block_number = ${reset}`)
  const wrong = 'block_number, block_hash, block_timestamp, log_index + 100, tx_hash, topics, data, type, wallet, seq'
  await rowsOf(
    previous.database,
    `INSERT INTO ledger (chain_id, ${wrong.replace(' + 100', '')}) SELECT chain_id, ${wrong} FROM ledger WHERE seq = (SELECT min(seq) FROM ledger)`,
  )

  // A settlement of a block that was replaced while no worker ran.
  const block = (of: Awaited<ReturnType<typeof contents>>) =>
    of.settlements.flatMap(({ row }) =>
      (row as Settled).event_id === Number(fourth) ? [(row as Settled).block_hash] : [],
    )
  await rowsOf(previous.database, `UPDATE settlements SET block_hash = '\\xab' WHERE event_id = ${fourth}`)

  // One that only the rebuilt index follows: a settlement and a position are gone.
  await removeBlocks(2)
  await actions.settle(owner, third, 14_000_000n)
  await actions.buy(hedger, 1n, 4_000n * USDC)
  await actions.buy(hedger, 1n, 5_000n * USDC)
  await update(rebuilt)

  // The clock of the previous server was an hour ahead.
  await rowsOf(previous.database, 'UPDATE change_counter SET last = last + 3600000000, fed = fed + 3600000000')
  const before = await contents(previous)
  const own = await contents(rebuilt)
  const lines: string[] = []
  const carried = await carry(urls(), (line) => lines.push(line))
  expect(lines).toHaveLength(3)
  const after = await contents(rebuilt)
  expect(carried).toMatchObject({
    keys: 1,
    endpoints: 1,
    deliveries: before.deliveries.length,
    calibrations: 2,
    events: 2,
  })
  expect(carried).toMatchObject({ settlements: before.settlements.length, reversals: 2, news: 2 })
  for (const table of ['calibrations', 'keys', 'endpoints', 'deliveries'] as const)
    expect(after[table]).toEqual(before[table])
  expect(await contents(previous)).toEqual(before)
  expect(block(after)).toEqual(block(own))
  expect(block(after)).not.toEqual(block(before))

  // Both indexes have the same chain in the end, so the rebuilt one has what a third one would have.
  await rebuilt.observeAll()
  await rebuilt.expectObserved()
  await fill(rebuilt)
  const found = await messages(rebuilt)
  const ids = new Set(found.map(({ id }) => id))
  const changes = (id: string) => /^(wallet|event)\.changed/.test(id)
  expect(sent.filter(({ id }) => !ids.has(id) && !changes(id))).toEqual([])
  expect(found.filter(({ type }) => type === 'changes.reset').map(({ data }) => data)).toEqual([
    { resets: [{ chainId: CHAIN, reason: 'rebuilt' }] },
  ])
  const records = await rowsOf(
    rebuilt.database,
    'SELECT type, event_id::integer AS id, finalized_seq IS NOT NULL AS final FROM settlements WHERE event_id > 2 ORDER BY seq',
  )
  expect(records).toEqual([
    { type: 'settled', id: Number(first), final: true },
    { type: 'settled', id: Number(fourth), final: false },
    { type: 'settled', id: Number(second), final: false },
    ...[
      { type: 'reverted', id: Number(second), final: false },
      { type: 'settled', id: Number(third), final: false },
    ],
  ])
  const settlements = found.filter(({ type }) => /^settlement\.(settled|reverted)/.test(type))
  expect(settlements.map(({ type, data }) => [type, data.eventId])).toEqual([
    ['settlement.settled', Number(first)],
    ['settlement.settled', Number(fourth)],
    ['settlement.settled', Number(second)],
    ['settlement.reverted', Number(second)],
    ['settlement.settled', Number(third)],
  ])

  // Messages in their order lead to the activity since the endpoint was added. One may be reverted before it was sent.
  const activity: string[] = []
  for (const { type, data } of found) {
    const log = `${data.txHash} ${data.logIndex}`
    if (type === 'activity.recorded') activity.push(log)
    const at = activity.indexOf(log)
    if (type === 'activity.reverted' && at !== -1) activity.splice(at, 1)
  }
  const logs = await rowsOf(
    rebuilt.database,
    `SELECT '0x' || encode(tx_hash, 'hex') || ' ' || log_index AS log FROM ledger WHERE block_number > ${added} AND block_number <> ${reset} AND wallet IS NOT NULL`,
  )
  expect(activity.toSorted()).toEqual(logs.map(({ log }) => log).toSorted())

  // Cursors of lists name rollbacks, and every row of these may be another one now.
  const rollbacks = after.rollbacks.map(
    ({ row }) => row as { seq: number; ancestor_number: number; last_request: number },
  )
  const earlier = before.rollbacks.map(({ row }) => (row as { seq: number }).seq)
  expect(rollbacks.map(({ seq }) => seq).slice(0, -1)).toEqual(earlier)
  const requests = own.rollbacks.map(({ row }) => (row as { last_request: number }).last_request)
  expect(rollbacks.map((row) => row.last_request)).toEqual([...earlier.map(() => 0), Math.max(...requests)])
  expect(Math.max(...requests)).toBeGreaterThan(0)
  expect(rollbacks.at(-1)).toMatchObject({ ancestor_number: -1 })
  const [counter, old, behind] = [after, before, own].map(
    (of) => of.counter[0]?.row as { last: number; epoch: string } | undefined,
  )
  expect(counter?.last).toBeGreaterThan(Math.max(old?.last ?? Infinity, behind?.last ?? Infinity))
  // What is announced has numbers of its own, one for the reset of the chain.
  const known = new Set([...before.numbers, ...before.reversals].map(({ row }) => (row as Numbered).seq))
  const announced = [...after.numbers, ...after.reversals].flatMap(({ row }) => {
    const { seq } = row as Numbered
    return seq === null || known.has(seq) ? [] : [seq - (old?.last ?? 0)]
  })
  expect(announced.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4])
  expect(after.epochs.map(({ row }) => row)).toContainEqual({ epoch: old?.epoch, last: old?.last })
  const insert = `INSERT INTO calibrations (model, pairs) VALUES (1, '{}') RETURNING version`
  expect(await rowsOf(rebuilt.database, insert)).toEqual([{ version: '3' }])

  const done = await contents(rebuilt)
  await rowsOf(previous.database, 'DROP FUNCTION refuse_carried CASCADE')
  expect(await carry(urls())).toBeNull()
  expect(await contents(rebuilt)).toEqual(done)
  await expect(rowsOf(previous.database, 'DELETE FROM api_keys')).rejects.toMatchObject({ message: /MV001/ })
  await rowsOf(previous.database, 'UPDATE change_counter SET last = last + 1')
  await expect(carry(urls())).rejects.toThrow('the previous database has changed since it was carried over')
})

test('when the previous database is lost last, everything is in the rebuilt one, and a second run completes it', async () => {
  const [before, after] = [await createTestDatabase(), await createTestDatabase()]
  onTestFinished(async () => {
    await Promise.all([before, after].map((store) => store.close()))
  })
  const database = openDatabase(after.url)
  onTestFinished(() => database.close())
  await rowsOf(database, "INSERT INTO change_counter (one, last, before, epoch) VALUES (1, 0, 0, 'another')")
  // Ends the other session as the last thing before the commit.
  await rowsOf(
    database,
    `CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${new URL(before.url).pathname.slice(1)}';
      RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER lose AFTER INSERT ON feed_epochs DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION lose()`,
  )
  const given = { previous: before.url, rebuilt: after.url }
  await expect(carry(given)).rejects.toThrow(
    /^the rebuilt database has everything, .* run this again before any worker/,
  )
  expect(await rowsOf(database, "SELECT epoch FROM feed_epochs WHERE epoch = ''")).toHaveLength(1)
  expect(await carry(given)).toBeNull()
})

test('roles with time-outs migrate and carry all the same', async () => {
  const [before, after] = [await createTestDatabase(), await createTestDatabase()]
  onTestFinished(async () => {
    await Promise.all([before, after].map((store) => store.close()))
  })
  const timeouts = 'statement_timeout%3D300%20-c%20idle_in_transaction_session_timeout%3D300'
  const [previous, next] = [before, after].map(({ url }) => `${url}?options=-c%20${timeouts}`)
  const database = openDatabase(after.url)
  onTestFinished(() => database.close())
  await rowsOf(database, "INSERT INTO change_counter (one, last, before, epoch) VALUES (1, 0, 0, 'another')")
  await rowsOf(
    database,
    `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.6); RETURN NULL; END $$;
    CREATE TRIGGER wait AFTER INSERT ON feed_epochs FOR EACH STATEMENT EXECUTE FUNCTION wait()`,
  )
  expect(await carry({ previous: previous ?? '', rebuilt: next ?? '' })).not.toBeNull()
})

test('tables without a row are carried too, and their numbers begin with 1', async () => {
  const stores = [await createTestDatabase(), await createTestDatabase()] as const
  onTestFinished(async () => {
    await Promise.all(stores.map((store) => store.close()))
  })
  const [before, after] = stores
  const database = openDatabase(after.url)
  await rowsOf(database, "INSERT INTO change_counter (one, last, before, epoch) VALUES (1, 0, 0, 'another')")
  await carry({ previous: before.url, rebuilt: after.url })
  const added = await rowsOf(database, "INSERT INTO calibrations (model, pairs) VALUES (1, '{}') RETURNING version")
  await database.close()
  expect(added).toEqual([{ version: '1' }])
})
