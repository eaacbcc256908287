import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { afterEach, beforeEach, expect, inject, test } from 'vitest'
import { migrate } from '../../src/db/migrate.ts'
import { openApp } from '../support/app.ts'
import { catalogueOf } from '../support/catalogue.ts'
import { cloneDatabase } from '../support/clone-database.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { randomRows, writeRandomRows } from '../support/random-rows.ts'
import { release, turnIntoRelease } from '../support/release-0.1.0.ts'
import { seedDeployment } from '../support/seed-index.ts'

/* The way of a database of release 0.1.0 to this version. */

let former: TestDatabase

beforeEach(async () => {
  former = await cloneDatabase(inject('postgresUrl'), 'template0')
})
afterEach(() => former.close())

/** What a database that comes from 0.1.0 has more than a new one, for processes of 0.1.0. The next release drops it. */
const forRelease = [
  'column deposit_observations.render_flip boolean null: f identity:  default: false',
  'column deposit_observations.render_key bigint null: t identity:  default: ',
  'column deposit_observations.row_text text null: t identity:  default: ',
  'column event_observations.inclusions text null: t identity:  default: ',
  'column event_observations.render_flip boolean null: f identity:  default: false',
  'column event_observations.render_key bigint null: t identity:  default: ',
  'column event_observations.row_text text null: t identity:  default: ',
  'column position_observations.render_flip boolean null: f identity:  default: false',
  'column position_observations.render_key bigint null: t identity:  default: ',
  'column position_observations.row_text text null: t identity:  default: ',
  'column rollbacks.last_note bigint null: t identity:  default: ',
  'function clear_row_text()',
  'function keep_last_note()',
  'function keep_payment_token()',
  'trigger clear_row_text on deposit_observations',
  'trigger clear_row_text on event_observations',
  'trigger clear_row_text on position_observations',
  'trigger keep_changed_payment_token on event_observations',
  'trigger keep_last_note on rollbacks',
  'trigger keep_payment_token on event_observations',
  'view looks',
  'view unobserved',
]

test('a database of 0.1.0 gets the schema of a new one, and keeps what 0.1.0 needs', async () => {
  const current = await createTestDatabase()
  await migrate({ databaseUrl: former.url, folder: release })
  await migrate({ databaseUrl: former.url })
  const [came, fresh] = [await catalogueOf(former.url), await catalogueOf(current.url)]
  await current.close()
  expect(fresh.filter((line) => !came.includes(line))).toEqual([])
  expect(came.filter((line) => !fresh.includes(line))).toEqual(forRelease)
  expect([...new Set(fresh.map((line) => line.split(' ')[0]))]).toEqual([
    'column',
    'constraint',
    'index',
    'sequence',
    'table',
  ])
})

test('0.1.0 accepts the database, and its migrate changes nothing', async () => {
  await migrate({ databaseUrl: former.url, folder: release })
  await migrate({ databaseUrl: former.url })
  const before = await catalogueOf(former.url)
  await migrate({ databaseUrl: former.url, folder: release })
  expect(await catalogueOf(former.url)).toEqual(before)
})

test('the migration gives way to a transaction that uses its tables in another order', async () => {
  await migrate({ databaseUrl: former.url, folder: release })
  const other = new Client(former.url)
  await other.connect()
  await other.query('BEGIN; SELECT FROM position_observations')
  const migrated = migrate({ databaseUrl: former.url })
  await sleep(50)
  await other.query('INSERT INTO unobserved (chain_id, subject, id) SELECT 8453, $1, 1 FROM cursors', ['event'])
  await other.query('COMMIT')
  await migrated
  await other.end()
})

test('the migration gives up on a table that stays in use, and changes nothing', async () => {
  await migrate({ databaseUrl: former.url, folder: release })
  const before = await catalogueOf(former.url)
  const other = new Client(former.url)
  await other.connect()
  await other.query('BEGIN; SELECT FROM position_observations')
  await expect(migrate({ databaseUrl: former.url })).rejects.toThrow(/in use.*nothing was migrated/)
  await other.end()
  expect(await catalogueOf(former.url)).toEqual(before)
})

test('lists and portfolios are the same at once, whatever texts the rows had', async () => {
  const deployment = seedDeployment(8453)
  const rows = randomRows(deployment, 60, 9)
  const current = await createTestDatabase()
  await migrate({ databaseUrl: former.url })
  for (const { url } of [former, current]) {
    const database = openDatabase(url)
    await writeRandomRows(database, deployment, rows)
    await database.close()
  }
  await turnIntoRelease(former.url, '{"id":0}')
  await migrate({ databaseUrl: former.url })
  const open = (databaseUrl: string) => openApp({ databaseUrl, nodes: [{ deployment }] })
  const [fresh, came] = [await open(current.url), await open(former.url)]
  const wallets = [...new Set(rows.positions.map(({ fact }) => fact.hedger))].slice(0, 5)
  const paths = [
    ...['events', 'deposits', 'positions'].flatMap((kind) => [
      `/v1/hedge/${kind}?chainId=8453&limit=200`,
      `/v1/hedge/${kind}?chainId=8453&limit=200&include=stats,utilization,range`,
    ]),
    ...wallets.map((wallet) => `/v1/wallets/${wallet}/portfolio?state=all&chainId=8453`),
  ]
  for (const url of paths) {
    const [expected, answer] = [await fresh.app.inject({ url }), await came.app.inject({ url })]
    const dataOf = (body: string) => body.replace(/"lagSeconds":\d+/g, '"lagSeconds":0')
    expect(answer.statusCode, answer.body).toBe(200)
    expect(dataOf(answer.body), url).toBe(dataOf(expected.body))
  }
  await Promise.all([fresh.close(), came.close()])
  await current.close()
})
