import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CHANNEL } from '../../src/db/changes/channel.ts'
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

/** A listener that checks its connection so often, and the number of its calls. */
const listen = (checkEveryMs: number) => {
  const calls = { count: 0 }
  const onNotify = (): void => {
    calls.count += 1
  }
  return {
    calls,
    listener: createNotificationListener({ url: store.url, channel: CHANNEL, onNotify, log, checkEveryMs }),
  }
}

test('a listener reports connects and notifications, connects again, and ends with its connection', async () => {
  const { calls, listener } = listen(600_000)
  expect(listener.since()).toBeNull()
  await eventually('it is connected', () => listener.since() !== null)
  expect(calls.count).toBe(1)
  const first = listener.since() ?? 0
  expect(first).toBeLessThanOrEqual(performance.now())
  await rows('NOTIFY another')
  for (let at = 0; at < 5; at += 1) await rows(`SELECT pg_notify('${CHANNEL}', '${at}')`)
  await eventually('five notifications have arrived', () => calls.count >= 6)
  expect([calls.count, listener.since()]).toEqual([6, first])
  await rows(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${NAME}`)
  await eventually('it is connected again', () => (listener.since() ?? first) > first)
  expect(calls.count).toBe(7)
  await listener.close()
  expect(listener.since()).toBeNull()
  await eventually('its connection has ended', async () => (await connections()) === 0)
  await rows(`SELECT pg_notify('${CHANNEL}', '')`)
  expect(calls.count).toBe(7)
})

test('a listener reports each check of its idle connection', async () => {
  const { calls, listener } = listen(5)
  await eventually('the connection was checked', () => calls.count > 3)
  await listener.close()
})

test('a listener that reaches no database is not connected, and ends at once', async () => {
  const listener = createNotificationListener({
    url: 'postgres://127.0.0.1:9/none',
    channel: CHANNEL,
    onNotify: () => {},
    log,
  })
  expect(listener.since()).toBeNull()
  await listener.close()
})

test('a listener has ended when its close resolves, also while a server does not answer it', async () => {
  let open = 0
  const server = createServer((socket) => {
    open += 1
    socket.on('error', () => {})
    socket.on('close', () => {
      open -= 1
    })
    socket.resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const listener = createNotificationListener({
    url: `postgres://127.0.0.1:${port}/none`,
    channel: CHANNEL,
    onNotify: () => {},
    log,
  })
  await eventually('it connects', () => open === 1)
  await listener.close()
  await new Promise((resolve) => setImmediate(resolve))
  expect(open).toBe(0)
  server.close()
  await once(server, 'close')
})
