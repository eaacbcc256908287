import { execFileSync } from 'node:child_process'
import { appendFileSync, chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { type Postgres, startPostgres } from '../../src/sandbox/parts/postgres.ts'
import { startLine } from './line.ts'

/** Runs a statement as the superuser on a connection of its own. Returns the rows. */
export const runOn = async (url: string, statement: string): Promise<Record<string, unknown>[]> => {
  const client = new Client(url)
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

/**
 * A durable PostgreSQL with a database `fx`, and a replica that streams from it through a line that can be cut. With
 * `synchronous`, a commit waits until the replica has it on disk. `kill` is a SIGKILL of the primary, and `freeze` stops
 * its processes: connections stay open, and nothing answers.
 */
export const startPostgresPair = async ({ synchronous }: { readonly synchronous: boolean }) => {
  const folder = mkdtempSync(join(tmpdir(), 'fx-pair-'))
  // The account of PostgreSQL has to reach its directories.
  chmodSync(folder, 0o755)
  const [first, second] = [join(folder, 'first'), join(folder, 'second')]
  const servers: Postgres[] = []
  const start = async (dir: string): Promise<Postgres> => {
    const server = await startPostgres({ dir })
    servers.push(server)
    return server
  }
  const initial = await start(first)
  await runOn(initial.url, 'CREATE DATABASE fx')
  // A copy of a server that was stopped in order is a base backup.
  await initial.close()
  execFileSync('cp', ['-a', first, second])
  const primary = await start(first)
  const replication = await startLine(primary.url)
  const { hostname, port, password } = new URL(replication.url)
  const connection = `host=${hostname} port=${port} user=postgres password=${password} application_name=second`
  appendFileSync(join(second, 'data/postgresql.auto.conf'), `primary_conninfo = '${connection}'\n`)
  writeFileSync(join(second, 'data/standby.signal'), '')
  const replica = await start(second)
  if (synchronous) {
    await runOn(primary.url, "ALTER SYSTEM SET synchronous_standby_names = 'second'")
    await runOn(primary.url, 'SELECT pg_reload_conf()')
  }
  /** The processes that were stopped. Those of PostgreSQL are in process groups of their own. */
  let frozen: readonly number[] = []
  const ofDatabase = ({ url }: Postgres): string => url.replace(/postgres$/, 'fx')
  return {
    primary: ofDatabase(primary),
    replica: ofDatabase(replica),
    /** Rows that are committed from then on reach the primary only. */
    cutReplication: replication.cut,
    async kill(): Promise<void> {
      process.kill(primary.pid, 'SIGKILL')
      await primary.exited
    },
    async freeze(): Promise<void> {
      const children = readFileSync(`/proc/${primary.pid}/task/${primary.pid}/children`, 'utf8')
      frozen = [primary.pid, ...children.trim().split(' ').map(Number)]
      for (const pid of frozen) process.kill(pid, 'SIGSTOP')
    },
    promote: () => runOn(replica.url, 'SELECT pg_promote()'),
    async close(): Promise<void> {
      for (const pid of frozen) process.kill(pid, 'SIGCONT')
      await replication.close()
      for (const server of servers) await server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
