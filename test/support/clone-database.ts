import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'

export type TestDatabase = {
  readonly url: string
  /** Drops the database. Throws when a connection to it is still open: the test that opened it must close it. */
  readonly close: () => Promise<void>
}

/**
 * The connections to a database. A closed one is listed until its backend has exited, so this polls for up to a second.
 */
const lingering = async (client: Client, name: string): Promise<string[]> => {
  for (let attempt = 0; ; attempt += 1) {
    const found = await client.query<{ label: string }>(
      `SELECT format('%s %s: %s', application_name, state, left(query, 80)) AS label FROM pg_stat_activity WHERE datname = $1`,
      [name],
    )
    if (found.rows.length === 0 || attempt === 40) return found.rows.map((row) => row.label)
    await sleep(25)
  }
}

/** A clone of a template on a server that is reached as a superuser. */
export const cloneDatabase = async (server: string, template: string): Promise<TestDatabase> => {
  const asAdministrator = async <T>(run: (client: Client) => Promise<T>): Promise<T> => {
    const client = new Client(server)
    await client.connect()
    try {
      return await run(client)
    } finally {
      await client.end()
    }
  }
  const name = `fx_test_${randomBytes(6).toString('hex')}`
  // Copying the files of a small template takes a third of the time of writing its pages to the log.
  await asAdministrator((client) => client.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`))
  const url = new URL(server)
  url.pathname = name
  const close = (): Promise<void> =>
    asAdministrator(async (client) => {
      const left = await lingering(client, name)
      await client.query(`DROP DATABASE ${name} WITH (FORCE)`)
      if (left.length > 0) throw new Error(`the test left ${left.length} connections open:\n${left.join('\n')}`)
    })
  return { url: url.href, close }
}
