import { randomBytes } from 'node:crypto'
import { Client, DatabaseError } from 'pg'
import { inject } from 'vitest'
import { sleep } from '../../src/lib/lifecycle.ts'

/** Longer than clients wait for a connection. */
const CONNECT_WITHIN_MS = 1_200

/** A statement on the server, as its superuser. */
type Run = (statement: string) => Promise<void>

type Refusal = {
  /** SQLSTATE that a new connection is refused with. */
  readonly code: string
  /** A part of the advice to the operator. */
  readonly advice: string
  begin(run: Run, names: Names): Promise<void>
  end(run: Run, names: Names): Promise<void>
}

type Names = { readonly database: string; readonly role: string; readonly password: string; readonly template: string }

const noConnections = (run: Run, { database }: Names): Promise<void> =>
  run(`ALTER DATABASE ${database} ALLOW_CONNECTIONS false`)

const endSessions = (run: Run, { database }: Names): Promise<void> =>
  run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`)

const OBJECT_IN_USE = '55006'

/** Runs a statement that takes a database without sessions: again while one that was being authenticated has opened. */
const runAlone = async (run: Run, names: Names, statement: string): Promise<void> => {
  await noConnections(run, names)
  for (let left = 10; ; left -= 1) {
    await endSessions(run, names)
    try {
      return await run(statement)
    } catch (fault) {
      if (left === 0 || !(fault instanceof DatabaseError) || fault.code !== OBJECT_IN_USE) throw fault
    }
  }
}

/** Ways in which a server that runs refuses a process its database, and what ends each. */
export const refusals = {
  'ALLOW_CONNECTIONS false': {
    code: '55000',
    advice: 'ALLOW_CONNECTIONS true',
    begin: noConnections,
    end: (run, { database }) => run(`ALTER DATABASE ${database} ALLOW_CONNECTIONS true`),
  },
  'another password': {
    code: '28P01',
    advice: 'the password is wrong',
    begin: (run, { role }) => run(`ALTER ROLE ${role} PASSWORD 'another'`),
    end: (run, { role, password }) => run(`ALTER ROLE ${role} PASSWORD '${password}'`),
  },
  NOLOGIN: {
    code: '28000',
    advice: 'the role may not log in',
    begin: (run, { role }) => run(`ALTER ROLE ${role} NOLOGIN`),
    end: (run, { role }) => run(`ALTER ROLE ${role} LOGIN`),
  },
  'a connection limit': {
    code: '53300',
    advice: 'no connection left',
    begin: (run, { role }) => run(`ALTER ROLE ${role} CONNECTION LIMIT 0`),
    end: (run, { role }) => run(`ALTER ROLE ${role} CONNECTION LIMIT -1`),
  },
  'a revoked CONNECT': {
    code: '42501',
    advice: 'lacks a privilege',
    begin: (run, { database, role }) => run(`REVOKE CONNECT ON DATABASE ${database} FROM PUBLIC, ${role}`),
    end: (run, { database, role }) => run(`GRANT CONNECT ON DATABASE ${database} TO PUBLIC, ${role}`),
  },
  'another name': {
    code: '3D000',
    advice: 'the database does not exist',
    begin: (run, names) => runAlone(run, names, `ALTER DATABASE ${names.database} RENAME TO ${names.database}_old`),
    async end(run, { database }) {
      await run(`ALTER DATABASE ${database}_old RENAME TO ${database}`)
      await run(`ALTER DATABASE ${database} ALLOW_CONNECTIONS true`)
    },
  },
  'DROP DATABASE': {
    code: '3D000',
    advice: 'the database does not exist',
    async begin(run, names) {
      // What is restored below, as from a backup.
      await runAlone(run, names, `CREATE DATABASE ${names.database}_backup TEMPLATE ${names.database}`)
      await run(`DROP DATABASE ${names.database} WITH (FORCE)`)
    },
    end: (run, { database, role }) =>
      run(`ALTER DATABASE ${database}_backup RENAME TO ${database}; GRANT CONNECT ON DATABASE ${database} TO ${role}`),
  },
} as const satisfies Record<string, Refusal>

export type RefusalName = keyof typeof refusals

export const refusalNames = Object.keys(refusals) as RefusalName[]

/**
 * A migrated database with its own role, which it can be made to refuse. `refuse` ends the open sessions, so that no
 * client continues with an old one.
 */
export const createRefusingDatabase = async () => {
  const [id, password] = [randomBytes(6).toString('hex'), randomBytes(12).toString('hex')]
  const names: Names = {
    database: `fx_refusing_${id}`,
    role: `fx_role_${id}`,
    password,
    template: inject('templateDatabase'),
  }
  const { database, role, template } = names
  const admin = new Client(inject('postgresUrl'))
  await admin.connect()
  const run: Run = async (statement) => void (await admin.query(statement))
  await run(`CREATE DATABASE ${database} TEMPLATE ${template}`)
  await run(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`)
  await run(`ALTER DATABASE ${database} OWNER TO ${role}`)
  const url = new URL(inject('postgresUrl'))
  url.pathname = database
  const owner = new Client(url.href)
  await owner.connect()
  await owner.query(`GRANT ALL ON SCHEMA public, drizzle TO ${role}; GRANT ALL ON ALL TABLES IN SCHEMA public, drizzle TO ${role};
    GRANT ALL ON ALL SEQUENCES IN SCHEMA public, drizzle TO ${role}`)
  await owner.end()
  url.username = role
  url.password = password
  return {
    url: url.href,
    role,
    password,
    run,
    async refuse(name: RefusalName) {
      await refusals[name].begin(run, names)
      await endSessions(run, names)
      // A session that was being authenticated just now still opens, within what its client waits for it.
      await sleep(CONNECT_WITHIN_MS)
      await endSessions(run, names)
    },
    accept: (name: RefusalName) => refusals[name].end(run, names),
    async close() {
      await run(`DROP DATABASE ${database} WITH (FORCE)`)
      await run(`DROP ROLE ${role}`)
      await admin.end()
    },
  }
}
