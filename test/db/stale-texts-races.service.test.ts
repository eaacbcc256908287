import { drizzle } from 'drizzle-orm/node-postgres'
import { Client } from 'pg'
import { getAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { putFact } from '../../src/db/index/facts.ts'
import { lockRefreshQueue } from '../../src/db/index/refresh-queue.ts'
import { storeTokens } from '../../src/db/index/tokens.ts'
import { deleteSomeObservations, rollBack } from '../../src/db/index/write.ts'
import type { Database, Handle } from '../../src/db/pool.ts'
import { createRenderer } from '../../src/db/rendering.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { eventually } from '../support/process.ts'
import { observeRandomRows, randomRows, writeRandomRows } from '../support/random-rows.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { blockOf, seedDeployment } from '../support/seed-index.ts'
import { staleTexts } from '../support/stale-texts.ts'

const chainId = 8453
const deployment = seedDeployment(chainId)
const renderer = createRenderer(deployment)

const made = randomRows(deployment, 3, 5)
const tokens = made.tokens.slice(1, 3)
const [token, other] = tokens.map((it) => getAddress(it.token))
if (token === undefined || other === undefined) throw new Error('two tokens are needed')
const rows = {
  ...made,
  tokens,
  events: made.events.map((it) => ({ ...it, seen: { ...it.seen, paymentToken: token } })),
}
const bytea = (address: string): string => `'\\x${address.slice(2)}'`

let store: TestDatabase
let database: Database
/** Two concurrent clients of the database. */
let one: Client
let two: Client
/** The process ids of the two connections on the server. */
let pids: readonly [number, number]

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
  await writeRandomRows(database, deployment, rows)
  ;[one, two] = [new Client(store.url), new Client(store.url)]
  await Promise.all([one.connect(), two.connect()])
  pids = [await pidOf(one), await pidOf(two)]
})
afterAll(async () => {
  await Promise.all([one?.end(), two?.end(), database?.close()])
  await store?.close()
})

type Step = (handle: Handle) => Promise<unknown>
type Work = { readonly name: string; readonly begin?: string; readonly steps: readonly Step[] }

const run =
  (statement: string): Step =>
  (handle) =>
    handle.execute(statement)

const observe =
  (of: typeof rows): Step =>
  (handle) =>
    observeRandomRows(handle, deployment, of, renderer)
const withToken = (address: typeof token) => ({
  ...rows,
  events: rows.events.map((it) => ({ ...it, seen: { ...it.seen, paymentToken: address } })),
})
const only = (kind: 'events' | 'deposits' | 'positions', of: typeof rows = rows) => ({
  ...{ tokens, events: [], deposits: [], positions: [] },
  [kind]: of[kind],
})
const hold: Step = (handle) => lockRefreshQueue(handle, chainId)

/** The renderers. Each one holds the chain's lock from its first step. */
const writers: readonly Work[] = [
  { name: 'the worker observes everything', steps: [hold, observe(rows)] },
  { name: 'the worker observes events with another token', steps: [hold, observe(only('events', withToken(other)))] },
  { name: 'the worker observes deposits', steps: [hold, observe(only('deposits'))] },
  { name: 'the worker observes positions', steps: [hold, observe(only('positions'))] },
  {
    name: 'the worker observes events that it has forgotten, then members',
    steps: [
      hold,
      run('DELETE FROM event_observations'),
      observe(only('events', withToken(other))),
      observe(only('positions')),
    ],
  },
]

const kept = (table: string, set: string): Step[] => [
  run(`DELETE FROM ${table}`),
  run(`INSERT INTO ${table} SELECT * FROM kept_${table}`),
  run(`UPDATE ${table} SET ${set}`),
]

/** The writers, which change the inputs of texts, in plain SQL or as the service does. */
const changers: readonly Work[] = [
  { name: 'a fact is updated', steps: [run('UPDATE events SET strike = 1 + strike % 9')] },
  { name: 'a deposit is updated', steps: [run('UPDATE deposits SET amount = 1 + amount % 9')] },
  { name: 'a position is updated', steps: [run('UPDATE positions SET notional = 1 + notional % 9, event_id = 1')] },
  { name: 'facts are deleted', steps: [run('DELETE FROM deposits'), run('DELETE FROM positions')] },
  { name: 'events are deleted and inserted again, changed', steps: kept('events', 'strike = 1 + strike % 9') },
  { name: 'deposits are deleted and inserted again, changed', steps: kept('deposits', 'amount = 1 + amount % 9') },
  { name: 'events are inserted again without their token', steps: kept('events', 'payment_token = NULL') },
  { name: 'facts are truncated', steps: [run('TRUNCATE positions')] },
  { name: 'a symbol changes', steps: [run(`UPDATE tokens SET symbol = 'changed'`)] },
  { name: 'tokens are deleted and inserted again, changed', steps: kept('tokens', `symbol = 'changed'`) },
  { name: 'tokens are truncated', steps: [run('TRUNCATE tokens')] },
  {
    name: 'an event is observed with another token',
    steps: [run(`UPDATE event_observations SET payment_token = ${bytea(other)}`)],
  },
  { name: 'the kept token changes', steps: [run(`UPDATE events SET payment_token = ${bytea(other)}`)] },
  { name: 'event observations go', steps: [run('DELETE FROM event_observations')] },
  {
    name: 'event observations come in by COPY of another table, without texts',
    steps: [
      run('DELETE FROM event_observations'),
      run(`INSERT INTO event_observations SELECT * FROM kept_event_observations`),
    ],
  },
  {
    name: 'the service stores another symbol',
    steps: [(it) => storeTokens(it, chainId, [{ token, symbol: 'other', decimals: 18 }])],
  },
  {
    name: 'the service repairs a fact',
    steps: [
      hold,
      (it) => putFact(it, chainId, { ...(rows.events[0]?.fact as never as { kind: 'event' }), strike: 77n } as never),
    ],
  },
  { name: 'the service forgets', steps: [(it) => deleteSomeObservations(it, chainId, blockOf(500n))] },
  { name: 'the service rolls back', steps: [(it) => rollBack(it, chainId, blockOf(500n))] },
]

/** The same changes in transactions that keep their first snapshot, as a database client may open them. */
const snapshots: readonly Work[] = changers
  .filter(({ steps }) => steps.length < 3)
  .map(({ name, steps }) => ({
    name: `${name}, in a snapshot`,
    begin: 'BEGIN ISOLATION LEVEL REPEATABLE READ',
    steps: [run('SELECT count(*) FROM event_observations'), ...steps],
  }))

const tables = [
  'events',
  'deposits',
  'positions',
  'event_observations',
  'deposit_observations',
  'position_observations',
  'tokens',
]

const inTurn = (handle: Handle, statements: readonly string[]): Promise<unknown> =>
  statements.reduce<Promise<unknown>>(
    (before, statement) => before.then(() => handle.execute(statement)),
    Promise.resolve(),
  )

/** Restores the first state. Without `hasObservations` there are no observations yet, so they are inserted. */
const reset = (hasObservations: boolean): Promise<unknown> =>
  database.transaction(async (handle) => {
    await inTurn(
      handle,
      tables.map((table) => `DELETE FROM ${table}`),
    )
    await inTurn(
      handle,
      ['events', 'deposits', 'positions', 'tokens'].map((table) => `INSERT INTO ${table} SELECT * FROM kept_${table}`),
    )
    await inTurn(handle, ['UPDATE events SET payment_token = NULL'])
    await inTurn(handle, ['DELETE FROM anchors', 'INSERT INTO anchors SELECT * FROM kept_anchors'])
    if (hasObservations) await observe(rows)(handle)
  })

/**
 * A transaction on a connection, step by step. It is over when the server aborts it (a deadlock or an old snapshot).
 */
const begin = async (client: Client, { begin: statement = 'BEGIN', steps }: Work) => {
  const handle = drizzle(client) as unknown as Handle
  await client.query(statement)
  let isOver = false
  const ends = ['40P01', '40001', '0A000', '23505']
  const step = async (at: number): Promise<void> => {
    if (isOver) return
    try {
      await steps[at]?.(handle)
    } catch (fault) {
      const cause = (fault as { cause?: { code?: string } }).cause ?? fault
      if (!ends.includes(String((cause as { code?: string }).code))) throw fault
      isOver = true
      await client.query('ROLLBACK')
    }
  }
  return {
    step,
    steps: steps.length,
    commit: async (): Promise<void> => {
      if (!isOver) await client.query('COMMIT')
    },
  }
}

/** Resolves when the work is over or waits for a lock. */
const overOrWaiting = async (work: Promise<void>, pid: number): Promise<void> => {
  let isOver = false
  const mark = (): void => {
    isOver = true
  }
  work.then(mark, mark)
  await eventually('over or waiting', async () => {
    if (isOver) return true
    const { rows: found } = await database.run((handle) =>
      handle.execute<{ waits: boolean }>(
        `SELECT wait_event_type = 'Lock' AS waits FROM pg_stat_activity WHERE pid = ${pid}`,
      ),
    )
    return found[0]?.waits === true
  })
}

const pidOf = async (client: Client): Promise<number> =>
  (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid ?? 0

/**
 * Runs two transactions: the second does all its steps after `before` steps of the first, which then does the rest.
 * Neither sees uncommitted changes of the other. The one that does not wait for a lock commits first.
 */
const interleave = async (first: Work, second: Work, before: number): Promise<void> => {
  const [firstPid, secondPid] = pids
  const [a, b] = [await begin(one, first), await begin(two, second)]
  for (let at = 0; at < before; at += 1) await a.step(at)
  const all = async (of: typeof a, from: number): Promise<void> => {
    for (let at = from; at < of.steps; at += 1) await of.step(at)
  }
  const doingB = all(b, 0).then(() => b.commit())
  await overOrWaiting(doingB, secondPid)
  const doingA = all(a, before).then(() => a.commit())
  await overOrWaiting(doingA, firstPid)
  await Promise.all([doingA, doingB])
}

describe.each([true, false])('two concurrent transactions, with observations before: %s', (hasObservations) => {
  beforeAll(async () => {
    if (!hasObservations) return
    for (const table of [...tables, 'anchors']) {
      await database.run((handle) => handle.execute(`CREATE TABLE kept_${table} AS SELECT * FROM ${table}`))
      if (table.endsWith('observations'))
        await database.run((handle) => handle.execute(`UPDATE kept_${table} SET row_text = NULL`))
    }
  })

  test.each(writers)(
    '$name while something that it renders from changes: no text is stale',
    async (writer) => {
      // An update makes a transaction with an older snapshot fail; an insert does not.
      const all = hasObservations ? changers : [...changers, ...snapshots]
      // By default each change meets one of the writers, and the seed chooses which.
      const some = all.filter((_, at) => (seed + writers.indexOf(writer) + at) % writers.length === 0)
      for (const [position, changer] of byForm(some, all).entries()) {
        const orders = [
          ...[1, writer.steps.length].map((before) => [writer, changer, before] as const),
          [changer, writer, changer.steps.length] as const,
        ]
        // By default one of the three, and the seed chooses which.
        const at = (seed + writers.indexOf(writer) + position) % orders.length
        for (const [first, second, before] of byForm(orders.slice(at, at + 1), orders)) {
          await reset(hasObservations)
          await interleave(first, second, before)
          const found = await database.run((handle) => staleTexts(handle, chainId, renderer))
          expect(found, `TEST_SEED=${seed}: ${first.name} (${before} steps), then ${second.name}`).toEqual([])
        }
      }
    },
    byForm(120_000, 900_000),
  )
})
