import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrate } from '../../src/db/migrate.ts'
import { requireVersionOnceReached } from '../../src/db/versions.ts'
import { OperatorError } from '../../src/lib/errors.ts'
import { openDatabase } from '../support/open-database.ts'
import { eventually } from '../support/process.ts'
import { createRefusingDatabase, refusalNames, refusals } from '../support/refusing-database.ts'
import { byForm } from '../support/repetitions.ts'

let store: Awaited<ReturnType<typeof createRefusingDatabase>>
beforeAll(async () => {
  store = await createRefusingDatabase()
})
afterAll(() => store.close())

/** The codes have tests without a server: by default there is one of each kind. */
test.each(refusalNames.filter((_, at) => byForm(at % 3 === 0, true)))(
  'a process that starts while PostgreSQL refuses (%s) logs advice without a stack, as the migration does',
  async (name) => {
    const { code, advice } = refusals[name]
    const lines: string[] = []
    const log = pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
    const database = openDatabase(store.url, { log })
    const stop = new AbortController()
    await store.refuse(name)
    try {
      await requireVersionOnceReached({ database, log, signal: stop.signal })
      const logged = lines.filter((line) => line.includes(`"fault":"${code} `))
      expect(logged).toEqual([expect.stringContaining(advice)])
      expect(lines.join('')).not.toMatch(/"stack"|Failed query/)
      const refused = await migrate({ databaseUrl: store.url }).catch((fault: unknown) => fault)
      expect(refused).toBeInstanceOf(OperatorError)
      expect(refused).toMatchObject({ message: expect.stringMatching(new RegExp(`${code} .*${advice}`)) })
    } finally {
      stop.abort()
      await store.accept(name)
      await database.close()
    }
  },
)

test('of two connections, one that the server accepts is not held when it refuses the other', async () => {
  const database = openDatabase(store.url)
  const limit = (most: number) => store.run(`ALTER ROLE ${store.role} CONNECTION LIMIT ${most}`)
  await limit(1)
  try {
    await expect(database.sharesSessions()).rejects.toMatchObject({ code: 'service_unavailable' })
    const isAccepted = () =>
      database
        .run((handle) => handle.execute('SELECT 1'))
        .then(
          () => true,
          () => false,
        )
    await eventually('the first connection has ended', isAccepted)
  } finally {
    await limit(-1)
    await database.close()
  }
})
