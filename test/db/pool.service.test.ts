import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { Client } from 'pg'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { limitConnections } from '../../src/db/limited.ts'
import { measureDatabases } from '../../src/db/metrics.ts'
import { createDatabase, type Database, type DatabaseOptions, databaseStatements } from '../../src/db/pool.ts'
import { haveOneSession } from '../../src/db/sessions.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { eventually } from '../support/process.ts'

let store: TestDatabase
let database: Database

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
  await run('CREATE TABLE things (id integer PRIMARY KEY)')
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})

const run = (statement: string) => database.run((handle) => handle.execute(sql.raw(statement)))
const count = async (): Promise<number> => Number((await run('SELECT count(*) AS it FROM things')).rows[0]?.it)

/** Runs work on a database of its own. */
const on = async (options: Partial<DatabaseOptions>, work: (own: Database) => Promise<void>): Promise<void> => {
  const log = pino({ level: 'silent' })
  const timeouts = { statementTimeoutMs: 20_000, connectTimeoutMs: 20_000, idleInTransactionMs: 20_000 }
  const own = createDatabase({ url: store.url, log, maxConnections: 1, ...timeouts, ...options })
  try {
    await work(own)
  } finally {
    await own.close()
  }
}

test('a transaction commits what it did, by statements and by COPY, and returns the result of its work', async () => {
  const result = await database.transaction(async (handle, copy) => {
    await handle.execute(sql`INSERT INTO things VALUES (1)`)
    await copy('COPY things FROM STDIN', [Buffer.from('2\n3\n')])
    expect(await count()).toBe(0)
    return 'done'
  })
  expect([result, await count()]).toEqual(['done', 3])
  await run('DELETE FROM things')
})

test('a transaction whose work throws is rolled back, and its connection is free again', async () => {
  const fault = new Error('no')
  await on({}, async (own) => {
    for (let at = 0; at < 3; at += 1) {
      const failed = own.transaction(async (handle, copy) => {
        await handle.execute(sql`INSERT INTO things VALUES (1)`)
        await copy('COPY things FROM STDIN', [Buffer.from('2\n')])
        throw fault
      })
      await expect(failed).rejects.toBe(fault)
    }
    const rejected = own.transaction((handle) => handle.execute(sql`SELECT 1/0`))
    await expect(rejected).rejects.toMatchObject({ message: expect.stringMatching(/^22012 /) })
    // The same connection, which was not lost.
    expect(own.connections()).toEqual({ total: 1, idle: 1, waiting: 0 })
    expect(await own.rows({ text: 'SELECT count(*) FROM things', values: [] })).toEqual([['0']])
  })
})

test('a COPY that fails rolls back its transaction', async () => {
  const failed = database.transaction(async (handle, copy) => {
    await handle.execute(sql`INSERT INTO things VALUES (1)`)
    await copy('COPY things FROM STDIN', [Buffer.from('1\n')])
  })
  await expect(failed).rejects.toMatchObject({ code: '23505' })
  expect(await count()).toBe(0)
})

test('a snapshot sees the database as of its first read and cannot write', async () => {
  await database.snapshot(async (handle) => {
    const seen = async () => Number((await handle.execute(sql`SELECT count(*) AS it FROM things`)).rows[0]?.it)
    expect(await seen()).toBe(0)
    await run('INSERT INTO things VALUES (1)')
    expect(await seen()).toBe(0)
  })
  const written = database.snapshot((handle) => handle.execute(sql`DELETE FROM things`))
  await expect(written).rejects.toMatchObject({ cause: { message: expect.stringMatching(/^25006 /) } })
  await run('DELETE FROM things')
})

test('a statement returns its rows as text, and is prepared once under its name', async () => {
  await on({}, async (own) => {
    const statement = { name: 'sum', text: 'SELECT $1::integer + 1, NULL, true, now() IS NULL', values: [4] }
    for (let at = 0; at < 2; at += 1) expect(await own.rows(statement)).toEqual([['5', null, 't', 'f']])
    await own.rows({ text: 'SELECT 1', values: [] })
    expect(await own.rows({ text: 'SELECT name FROM pg_prepared_statements', values: [] })).toEqual([['sum']])
  })
})

test('a fault of a statement has neither the statement nor its values', async () => {
  const failed = database.run((handle) => handle.execute(sql`SELECT ${'secret'}::integer`))
  await expect(failed).rejects.toMatchObject({ name: 'QueryError', message: expect.stringMatching(/^22P02/) })
})

test('the settings of the pool reach the server', async () => {
  const timeouts = { statementTimeoutMs: 7_000, idleInTransactionMs: 3_000 }
  await on(timeouts, async (own) => {
    const settings = {
      ...{ statement_timeout: '7s', idle_in_transaction_session_timeout: '3s', application_name: 'fx-protection' },
      ...{ client_connection_check_interval: '500ms', tcp_user_timeout: '25000' },
      ...{ tcp_keepalives_idle: '10', tcp_keepalives_interval: '5', tcp_keepalives_count: '3' },
    }
    const text = `SELECT ${Object.keys(settings).map((name) => `current_setting('${name}')`)}`
    expect(await own.rows({ text, values: [] })).toEqual([Object.values(settings)])
  })
  const own = createDatabase({
    ...{ url: store.url, log: pino({ level: 'silent' }), maxConnections: 1, statementTimeoutMs: 1_000 },
  })
  const text = `SELECT current_setting('idle_in_transaction_session_timeout')`
  expect(await own.rows({ text, values: [] })).toEqual([['2s']])
  await own.close()
})

test('a pool has at most its number of connections, and counts those that wait', async () => {
  await on({ maxConnections: 2 }, async (own) => {
    let release = (): void => {}
    const until = new Promise<void>((resolve) => {
      release = resolve
    })
    const works = [1, 2, 3].map(() => own.transaction(() => until))
    await eventually('both connections are used', () => own.connections().total === 2)
    expect(own.connections()).toEqual({ total: 2, idle: 0, waiting: 1 })
    release()
    await Promise.all(works)
    expect(own.connections()).toEqual({ total: 2, idle: 2, waiting: 0 })
  })
})

test('an aborted database begins no transaction, also one that waited for a connection, and reports no outage', async () => {
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line).msg) })
  const stop = new AbortController()
  await on({ signal: stop.signal, log }, async (own) => {
    let began = 0
    const first = own.transaction(async (handle) => {
      began += 1
      await handle.execute(sql`SELECT pg_sleep(30)`)
    })
    await eventually('the first one runs', () => began === 1)
    const second = own.transaction(async () => {
      began += 1
    })
    await eventually('the second one waits', () => own.connections().waiting === 1)
    stop.abort()
    await expect(first).rejects.toMatchObject({ code: 'service_unavailable' })
    await expect(second).rejects.toThrow(/aborted/)
    // It does not wait for the only connection either.
    const busy = own.rows({ text: 'SELECT pg_sleep(0.1)', values: [] })
    await eventually('the connection is used', () => own.connections().total > own.connections().idle)
    const third = own.transaction(async () => {
      began += 1
    })
    const refused = expect(third).rejects.toThrow(/aborted/)
    expect(own.connections().waiting).toBe(0)
    await busy
    await refused
    expect(began).toBe(1)
    // Reads go on.
    expect(await own.rows({ text: 'SELECT 1', values: [] })).toEqual([['1']])
    expect(lines).not.toContain('the database is out of reach')
  })
})

test('a connection stays open while it is idle', async () => {
  await on({}, async (own) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      await own.rows({ text: 'SELECT 1', values: [] })
      vi.advanceTimersByTime(3_600_000)
    } finally {
      vi.useRealTimers()
    }
    expect(own.connections()).toEqual({ total: 1, idle: 1, waiting: 0 })
  })
})

test('a connection that ends while it is idle is logged and replaced', async () => {
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line).msg) })
  await on({ log }, async (own) => {
    const [[pid] = []] = await own.rows({ text: 'SELECT pg_backend_pid()', values: [] })
    await run(`SELECT pg_terminate_backend(${pid})`)
    await eventually('the connection is gone', () => own.connections().total === 0)
    expect(lines).toContain('database connection lost')
    expect(await own.rows({ text: 'SELECT 1', values: [] })).toEqual([['1']])
  })
})

test('a transaction that is over has no more to do with the signal of its database', async () => {
  const stop = new AbortController()
  await on({ signal: stop.signal }, async (own) => {
    await own.transaction(async () => {})
    stop.abort()
    await sleep(20)
    expect(own.connections()).toEqual({ total: 1, idle: 1, waiting: 0 })
    expect(await own.rows({ text: 'SELECT 1', values: [] })).toEqual([['1']])
  })
})

test('an outage is logged with its pool and advice', async () => {
  const lines: { readonly msg: string }[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) })
  const url = new URL(store.url)
  url.pathname = '/none'
  await on({ url: url.href, log, name: 'reads' }, async (own) => {
    const failed = own.run((handle) => handle.execute(sql`SELECT 1`))
    await expect(failed).rejects.toMatchObject({ code: 'service_unavailable' })
  })
  expect(lines).toEqual([
    expect.objectContaining({
      ...{ msg: 'the database is out of reach', pool: 'reads', fault: expect.stringMatching(/^3D000 /) },
      advice: expect.stringContaining('check its name'),
    }),
  ])
})

test('each query and each transaction is published once, with its pool and its name', async () => {
  const published: unknown[] = []
  const stop = databaseStatements.subscribe({
    onEnd: ({ pool, kind, name, error }) => published.push([pool, kind, name, error === undefined]),
  })
  try {
    await on({ name: 'own' }, async (own) => {
      await own.run((handle) => handle.execute(sql`SELECT 1`))
      await own.rows({ name: 'one', text: 'SELECT 1', values: [] })
      await own.snapshot((handle) => handle.execute(sql`SELECT 1`))
      await own.transaction((handle) => handle.execute(sql`SELECT 1/0`)).catch(() => {})
    })
  } finally {
    stop()
  }
  expect(published).toEqual([
    ['own', 'query', undefined, true],
    ['own', 'query', 'one', true],
    ['own', 'transaction', undefined, true],
    ['own', 'transaction', undefined, false],
  ])
})

test('the metrics have the durations, the failures by their reason, and the connections, until they are stopped', async () => {
  const metrics = new Registry()
  await on({ name: 'own' }, async (own) => {
    const stop = measureDatabases(metrics, { own })
    await own.run((handle) => handle.execute(sql`SELECT pg_sleep(0.01)`))
    await own.transaction((handle) => handle.execute(sql`SELECT 1/0`)).catch(() => {})
    await own.run((handle) => handle.execute(sql`SELECT pg_terminate_backend(pg_backend_pid())`)).catch(() => {})
    const text = await metrics.metrics()
    expect(text).toContain('fx_database_duration_seconds_count{kind="query"} 2')
    expect(text).toContain('fx_database_duration_seconds_count{kind="transaction"} 1')
    expect(text).toContain('fx_database_failures_total{pool="own",kind="transaction",reason="failed"} 1')
    expect(text).toContain('fx_database_failures_total{pool="own",kind="query",reason="unreachable"} 1')
    expect(text).not.toContain('kind="query",reason="failed"')
    expect(text).toMatch(/fx_database_connections\{pool="own",state="waiting"\} 0/)
    const sum = Number(/fx_database_duration_seconds_sum\{kind="query"\} (\S+)/.exec(text)?.[1])
    expect(sum).toBeGreaterThanOrEqual(0.01)
    expect(sum).toBeLessThan(20)
    stop()
    await own.run((handle) => handle.execute(sql`SELECT 1`))
    expect(await metrics.metrics()).toContain('fx_database_duration_seconds_count{kind="query"} 2')
  })
})

test('a limited database runs so much at once of every kind, and refuses when too much waits', async () => {
  let [running, most] = [0, 0]
  let release = (): void => {}
  const until = new Promise<void>((resolve) => {
    release = resolve
  })
  const named = (name: string) => async (): Promise<never> => {
    running += 1
    most = Math.max(most, running)
    await until
    running -= 1
    return name as never
  }
  const fake: Database = {
    ...{ handle: database.handle, run: named('run'), rows: named('rows') },
    ...{ transaction: named('transaction'), snapshot: named('snapshot') },
    ...{ sharesSessions: database.sharesSessions, connections: database.connections, close: async () => {} },
  }
  const limited = limitConnections(fake, 2, 3)
  const [run, statement] = [async () => {}, { text: '', values: [] }]
  const works = [
    limited.run(run),
    limited.rows(statement),
    limited.transaction(run),
    limited.snapshot(run),
    limited.run(run),
  ]
  await expect(limited.rows(statement)).rejects.toMatchObject({
    code: 'service_unavailable',
    message: 'too much work waits for the database',
  })
  const { waiting, ...connections } = database.connections()
  expect(limited.connections()).toEqual({ ...connections, waiting: waiting + 3 })
  release()
  expect(await Promise.all(works)).toEqual(['run', 'rows', 'transaction', 'snapshot', 'run'])
  expect([most, running]).toEqual([2, 0])
  expect(limited.connections()).toEqual(database.connections())
})

test('connections of a database have sessions of their own, also of a pool of one connection', async () => {
  await on({ maxConnections: 1 }, async (own) => {
    expect(await own.sharesSessions()).toBe(false)
    expect(own.connections().total).toBe(0)
  })
})

// A pooler with one session gives it to both connections, and one with several mostly the one that became free last.
test.each([0, 2])(
  'two connections that get one session, after %i other ones, are found to share it',
  async (others) => {
    const [shared, other] = [new Client(store.url), new Client(store.url)]
    await Promise.all([shared.connect(), other.connect()])
    try {
      let transactions = 0
      const query = (text: string) => {
        if (text === 'BEGIN') transactions += 1
        return (transactions > others ? shared : other).query(text)
      }
      expect(await haveOneSession(shared, { query } as Client)).toBe(true)
      expect(transactions).toBe(others + 1)
      expect(await haveOneSession(shared, other)).toBe(false)
    } finally {
      await Promise.all([shared.end(), other.end()])
    }
  },
)
