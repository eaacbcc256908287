import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CHANNEL } from '../../src/db/changes/changes.ts'
import { createNotificationListener } from '../../src/db/changes/notification-listener.ts'
import type { Database } from '../../src/db/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { eventually } from '../support/process.ts'

const log = pino({ level: 'silent' })

let store: TestDatabase
let database: Database

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url, { maxConnections: 1 })
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})

const rows = (text: string) => database.rows({ text, values: [] })
const NAME = `application_name = 'fx-protection changes' AND datname = current_database()`
const connections = async (): Promise<number> =>
  Number((await rows(`SELECT count(*) FROM pg_stat_activity WHERE ${NAME}`))[0]?.[0])

test('a listener reports connects, notifications and checks, connects again, and ends with its connection', async () => {
  let notified = 0
  const listener = createNotificationListener({
    url: store.url,
    onNotify: () => {
      notified += 1
    },
    log,
  })
  expect(listener.since()).toBeNull()
  await eventually('it is connected', () => listener.since() !== null)
  expect(notified).toBe(1)
  const first = listener.since() ?? 0
  expect(first).toBeLessThanOrEqual(performance.now())
  await rows(`NOTIFY another`)
  for (let at = 0; at < 5; at += 1) await rows(`SELECT pg_notify('${CHANNEL}', '${at}')`)
  await eventually('five notifications have arrived', () => notified >= 6)
  const before = notified
  await eventually('the idle connection was checked', () => notified > before)
  expect(listener.since()).toBe(first)
  await rows(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${NAME}`)
  await eventually('it is connected again', () => (listener.since() ?? first) > first)
  await listener.close()
  expect(listener.since()).toBeNull()
  await eventually('its connection has ended', async () => (await connections()) === 0)
  const ended = notified
  await rows(`SELECT pg_notify('${CHANNEL}', '')`)
  expect(notified).toBe(ended)
})

test('a listener that reaches no database is not connected, and ends at once', async () => {
  const listener = createNotificationListener({ url: 'postgres://127.0.0.1:9/none', onNotify: () => {}, log })
  expect(listener.since()).toBeNull()
  await listener.close()
})
