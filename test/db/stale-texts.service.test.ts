import { getTableColumns, getTableName, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { getAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asRows } from '../../src/db/bulk.ts'
import { putFact } from '../../src/db/index/facts.ts'
import { observationRows } from '../../src/db/index/observations.ts'
import { storeTokens } from '../../src/db/index/tokens.ts'
import { deleteSomeObservations, rollBack } from '../../src/db/index/write.ts'
import type { Database, Handle } from '../../src/db/pool.ts'
import { createRenderer } from '../../src/db/rendering.ts'
import * as t from '../../src/db/schema.ts'
import { uniforms } from '../../src/lib/random.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { observedBlock, observeRandomRows, randomRows, writeRandomRows } from '../support/random-rows.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { blockOf, seedDeployment } from '../support/seed-index.ts'
import { staleTexts } from '../support/stale-texts.ts'

const chainId = 8453
const deployment = seedDeployment(chainId)
const renderer = createRenderer(deployment)
const COUNT = 6

/** Few tokens, so that events share them; none is configured. */
const made = randomRows(deployment, COUNT, 7)
const tokens = made.tokens.slice(1, 4)
const rows = {
  ...made,
  tokens,
  events: made.events.map((it, at) => ({
    ...it,
    seen: { ...it.seen, paymentToken: tokens[at % 2]?.token ?? it.seen.paymentToken },
  })),
}
const otherToken = getAddress(tokens[2]?.token ?? deployment.usdc)

let store: TestDatabase
let database: Database

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
  await writeRandomRows(database, deployment, rows)
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})

class Undo extends Error {}

/** Runs work in a transaction and rolls it back. */
const tried = (work: (handle: Handle) => Promise<void>): Promise<void> =>
  database
    .transaction(async (handle) => {
      await work(handle)
      throw new Undo()
    })
    .catch((fault: unknown) => {
      if (!(fault instanceof Undo)) throw fault
    })

const stale = (handle: Handle) => staleTexts(handle, chainId, renderer)
const run = (handle: Handle, statement: string) => handle.execute(sql.raw(statement))

/** The number of texts. */
const countTexts = async (handle: Handle): Promise<number> => {
  const { rows: found } = await run(
    handle,
    `SELECT (SELECT count(row_text) FROM event_observations) + (SELECT count(row_text) FROM deposit_observations)
      + (SELECT count(row_text) FROM position_observations) AS texts`,
  )
  return Number(found[0]?.texts)
}

const tables = [
  t.events,
  t.deposits,
  t.positions,
  t.eventObservations,
  t.depositObservations,
  t.positionObservations,
  t.tokens,
] as const

/** SQL of another value of a column, from its current value. */
const other = (column: PgColumn): string => {
  const { name } = column
  const type = column.getSQLType()
  if (type === 'boolean') return `NOT ${name}`
  if (name === 'chain_id') return '56'
  // An address that is a token's, and no text's.
  if (name === 'payment_token') return `'\\x${otherToken.slice(2)}'`
  if (type === 'bytea')
    return `CASE WHEN length(${name}) > 0 THEN set_byte(${name}, 0, (get_byte(${name}, 0) + 1) % 128) ELSE 'x' END`
  if (type === 'text') return `${name} || 'x'`
  if (name === 'id') return `${name} + 1000`
  return `(coalesce(${name}, 0) + 1) % 255`
}

const columns = tables.flatMap((table) =>
  Object.values<PgColumn>(getTableColumns<PgTable>(table)).map((column) => ({
    table: getTableName(table),
    column,
    name: `${getTableName(table)}.${column.name}`,
  })),
)

test('after the worker has written there is a text for each entity, and none is stale', async () => {
  expect(await database.run(countTexts)).toBe(3 * COUNT)
  expect(await database.run(stale)).toEqual([])
})

/** Each column, in one row and in every row; by default in one of the two ways, and the seed chooses which. */
const updates = columns.flatMap((column, at) => {
  const both = [
    { ...column, which: 'one row', where: ` WHERE ctid = (SELECT ctid FROM ${column.table} ORDER BY 1 LIMIT 1)` },
    { ...column, which: 'every row', where: '' },
  ]
  const first = (seed + at) % both.length
  return byForm(both.slice(first, first + 1), both)
})

test.each(updates)('after an update of $name of $which by plain SQL no text is stale', async (update) => {
  await tried(async (handle) => {
    await run(handle, `UPDATE ${update.table} SET ${update.column.name} = ${other(update.column)}${update.where}`)
    expect(await stale(handle)).toEqual([])
  })
})

/** The statement with which the previous release stores observations: it does not know the columns of texts. */
const upsertOfTheReleaseBefore = async (handle: Handle, blockNumber: bigint, change: bigint): Promise<void> => {
  const { events, deposits, positions } = rows
  const block = { ...observedBlock, number: blockNumber }
  const seen = observationRows(chainId, block, {
    events: events.map((it) => ({ ...it.seen, stats: { ...it.seen.stats, totalPremiums: change } })),
    deposits: deposits.map((it) => ({ ...it.seen, pending: change })),
    positions: positions.map((it) => ({ position: { ...it.seen.position, payoutAmount: change, status: 4 } })),
    protocol: null,
  })
  for (const [table, of] of [
    [t.eventObservations, seen.events],
    [t.depositObservations, seen.deposits],
    [t.positionObservations, seen.positions],
  ] as const) {
    const { names, source } = asRows(table, of)
    const given = Object.keys(of[0] ?? {})
    const replaced = Object.entries<PgColumn>(getTableColumns<PgTable>(table)).flatMap(([field, { name }]) =>
      given.includes(field) ? [sql`${sql.identifier(name)} = excluded.${sql.identifier(name)}`] : [],
    )
    const all = sql.join([...names], sql`, `)
    await handle.execute(sql`WITH given (${all}) AS (SELECT * FROM ${source})
      INSERT INTO ${table} (${all}) SELECT * FROM given ON CONFLICT (chain_id, id) DO UPDATE SET ${sql.join(replaced, sql`, `)}
      WHERE excluded.block_number >= ${table.blockNumber}`)
  }
}

test('an observation that the previous release stores clears the texts', async () => {
  await tried(async (handle) => {
    await upsertOfTheReleaseBefore(handle, observedBlock.number + 1n, 5n)
    expect(await stale(handle)).toEqual([])
    expect(await countTexts(handle)).toBe(0)
  })
})

test('an older observation that the previous release tries to store keeps the texts', async () => {
  await tried(async (handle) => {
    await upsertOfTheReleaseBefore(handle, observedBlock.number - 1n, 5n)
    expect(await stale(handle)).toEqual([])
    expect(await countTexts(handle)).toBe(3 * COUNT)
  })
})

const restore = (handle: Handle) => observeRandomRows(handle, deployment, rows, renderer)

/** Sequences of steps, each of which ends without a stale text; `again` renders all rows. */
const sequences: Readonly<Record<string, readonly string[]>> = {
  'an event that leaves its id and comes back with other terms': [
    'UPDATE events SET id = 1000 WHERE id = 1',
    'UPDATE events SET strike = strike + 1 WHERE id = 1000',
    'UPDATE events SET id = 1 WHERE id = 1000',
  ],
  'facts that are deleted and inserted again with other columns': [
    'CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM events',
    'DELETE FROM events',
    'INSERT INTO events SELECT * FROM kept',
    'UPDATE events SET strike = strike + 1',
  ],
  'events that are deleted, have their token changed and are inserted again': [
    'CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM events',
    'DELETE FROM events',
    `UPDATE tokens SET symbol = 'other'`,
    'INSERT INTO events SELECT * FROM kept',
  ],
  'events that are inserted again without the token that they were observed with': [
    'CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM events',
    'DELETE FROM events',
    'UPDATE kept SET payment_token = NULL',
    'INSERT INTO events SELECT * FROM kept',
    'again',
    `UPDATE tokens SET symbol = 'other'`,
  ],
  'an event whose kept token is changed by a person': [
    `UPDATE events SET payment_token = '\\x${otherToken.slice(2)}' WHERE id = 1`,
    'again',
    'CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM event_observations',
    'DELETE FROM event_observations',
    `UPDATE kept SET payment_token = '\\x${otherToken.slice(2)}', row_text = NULL WHERE id = 1`,
    'INSERT INTO event_observations SELECT * FROM kept',
  ],
  'the same while the event is not observed': [
    'CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM event_observations',
    'DELETE FROM event_observations',
    `UPDATE events SET payment_token = '\\x${otherToken.slice(2)}' WHERE id = 1`,
    `UPDATE kept SET payment_token = '\\x${otherToken.slice(2)}', row_text = NULL WHERE id = 1`,
    'INSERT INTO event_observations SELECT * FROM kept',
  ],
  'an event observation that takes the place of another': [
    'DELETE FROM event_observations WHERE id = 1',
    'UPDATE event_observations SET id = 1 WHERE id = 2',
  ],
  'tokens that are deleted and inserted again with other symbols': [
    'CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM tokens',
    'DELETE FROM tokens',
    `UPDATE kept SET symbol = 'other'`,
    'INSERT INTO tokens SELECT * FROM kept',
  ],
  'a token that gives its address to another': [
    `UPDATE tokens SET address = '\\x${'77'.repeat(20)}' WHERE address = '\\x${tokens[0]?.token.slice(2)}'`,
    `UPDATE tokens SET address = '\\x${tokens[0]?.token.slice(2)}' WHERE address = '\\x${otherToken.slice(2)}'`,
  ],
  'members that go to an event of another token': ['UPDATE deposits SET event_id = event_id % 6 + 1', 'again'],
  ...Object.fromEntries(
    ['events', 'deposits', 'positions', 'tokens', 'event_observations'].map((table) => [
      `${table} that are truncated and copied in again with other columns`,
      [
        `CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM ${table}`,
        `TRUNCATE ${table}`,
        `UPDATE kept SET ${{ events: 'strike = strike + 1', deposits: 'amount = amount + 1', positions: 'notional = notional + 1', tokens: "symbol = 'other'" }[table] ?? `payment_token = '\\x${otherToken.slice(2)}', row_text = NULL`}`,
        `INSERT INTO ${table} SELECT * FROM kept`,
      ],
    ]),
  ),
}

test.each(Object.entries(sequences))('no step leaves a stale text in the sequence: %s', async (_, steps) => {
  await tried(async (handle) => {
    for (const step of steps) {
      await (step === 'again' ? restore(handle) : run(handle, step))
      expect(await stale(handle), step).toEqual([])
    }
    // Only cleared texts are rendered again.
    await restore(handle)
    expect(await stale(handle)).toEqual([])
  })
})

describe('writes of the tables in any order leave no stale text', () => {
  const uniform = uniforms(seed)
  const below = (limit: number): number => Math.floor(uniform() * limit)
  const pick = <T>(values: readonly T[]): T => values[below(values.length)] as T
  const kept = [
    'events',
    'deposits',
    'positions',
    'event_observations',
    'deposit_observations',
    'position_observations',
    'tokens',
  ]

  /** Steps by plain SQL, by the previous release and by the service itself. */
  const actions: readonly (readonly [string, (handle: Handle) => Promise<unknown>])[] = [
    ...columns
      // Setting only a text by hand is covered above.
      .filter(({ column }) => !['row_text', 'render_key', 'inclusions', 'chain_id'].includes(column.name))
      .map(({ name, table, column }): [string, (handle: Handle) => Promise<unknown>] => [
        `update ${name}`,
        (handle) =>
          run(
            handle,
            `UPDATE ${table} SET ${column.name} = ${column.name === 'id' ? 'id + 7' : other(column)} WHERE ctid = (SELECT ctid FROM ${table} ORDER BY ctid OFFSET ${below(COUNT)} LIMIT 1)`,
          ),
      ]),
    ...Array.from({ length: 4 }, () => kept)
      .flat()
      .flatMap((table): [string, (handle: Handle) => Promise<unknown>][] => [
        [
          `delete ${table}`,
          (handle) =>
            run(handle, `DELETE FROM ${table} WHERE ctid IN (SELECT ctid FROM ${table} ORDER BY random() LIMIT 3)`),
        ],
        [
          `insert ${table}`,
          (handle) => run(handle, `INSERT INTO ${table} SELECT * FROM kept_${table} ON CONFLICT DO NOTHING`),
        ],
      ]),
    ...Array.from({ length: 12 }, (): [string, (handle: Handle) => Promise<unknown>] => ['observe', restore]),
    ...Array.from({ length: 4 }, (): [string, (handle: Handle) => Promise<unknown>] => [
      'release before',
      (handle) => upsertOfTheReleaseBefore(handle, observedBlock.number, BigInt(below(3))),
    ]),
    ...[0n, 500n, 999n].map((number): [string, (handle: Handle) => Promise<unknown>] => [
      `forget above ${number}`,
      (handle) => deleteSomeObservations(handle, chainId, blockOf(number)),
    ]),
    ['roll back to 500', (handle) => rollBack(handle, chainId, blockOf(500n))],
    [
      'store tokens',
      (handle) =>
        storeTokens(handle, chainId, [{ token: pick(tokens).token, symbol: pick(['a', 'b', null]), decimals: 6 }]),
    ],
    [
      'put fact',
      (handle) => {
        const { fact } = pick([...rows.events, ...rows.deposits, ...rows.positions])
        return putFact(handle, chainId, { ...fact, ...('strike' in fact ? { strike: BigInt(below(3)) } : {}) })
      },
    ],
    [
      'truncate',
      (handle) => run(handle, `TRUNCATE ${pick(['events', 'deposits', 'positions', 'tokens', 'event_observations'])}`),
    ],
  ]

  const RUNS = byForm(6, 400)

  test(`${RUNS} runs of 12 random steps each`, { timeout: byForm(120_000, 1_200_000) }, async () => {
    let texts = 0
    for (let at = 0; at < RUNS; at += 1) {
      await tried(async (handle) => {
        for (const table of kept) {
          await run(handle, `CREATE TEMP TABLE kept_${table} ON COMMIT DROP AS SELECT * FROM ${table}`)
          if (table.endsWith('observations')) await run(handle, `UPDATE kept_${table} SET row_text = NULL`)
        }
        const steps: string[] = []
        for (let step = 0; step < 12; step += 1) {
          const [name, act] = pick(actions)
          steps.push(name)
          await run(handle, 'SAVEPOINT step')
          try {
            await act(handle)
          } catch {
            // The step failed without a change, for example because an id is taken.
            await run(handle, 'ROLLBACK TO step')
          }
          expect(await stale(handle), `TEST_SEED=${seed}: ${steps.join('; ')}`).toEqual([])
          // The last steps may empty the tables.
          texts += await countTexts(handle)
        }
      })
    }
    // There were texts that could have been stale.
    expect(texts).toBeGreaterThan(RUNS)
  })
})
