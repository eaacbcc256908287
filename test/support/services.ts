import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { startPostgres } from '../../src/sandbox/parts/postgres.ts'
import { findRedis } from '../../src/sandbox/parts/redis.ts'

/** A real service the tests run on, and how to end it. */
export type TestService = { readonly url: string; readonly close: () => Promise<void> }

const given = (variable: string): TestService | undefined => {
  const url = process.env[variable]
  return url === undefined || url === '' ? undefined : { url, close: async () => {} }
}

const succeeds = (command: string, ...args: string[]): boolean => {
  try {
    execFileSync(command, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const hasDocker = (): boolean => succeeds('docker', 'info')

const container = async (image: string, port: number, environment: Record<string, string>, ready: RegExp) => {
  const { GenericContainer, Wait } = await import('testcontainers')
  const started = await new GenericContainer(image)
    .withEnvironment(environment)
    .withExposedPorts(port)
    .withWaitStrategy(Wait.forLogMessage(ready))
    .start()
  const close = async (): Promise<void> => void (await started.stop())
  return { authority: `${started.getHost()}:${started.getMappedPort(port)}`, close }
}

/**
 * A PostgreSQL server: `TEST_DATABASE_URL` (a superuser), else the embedded binaries, else a container.
 * Throws an Error that names the packages to install when none of them works.
 */
export const startTestPostgres = async (): Promise<TestService> => {
  const address = given('TEST_DATABASE_URL')
  if (address) return address
  try {
    return await startPostgres()
  } catch (cause) {
    if (!hasDocker()) {
      throw new Error(
        'the tests need PostgreSQL: set TEST_DATABASE_URL, run npm ci (embedded binaries), or start Docker',
        { cause },
      )
    }
    const environment = { POSTGRES_PASSWORD: 'test' }
    // The image starts the server twice; only the second one listens on IPv4.
    const ready = /listening on IPv4 address/
    const { authority, close } = await container('postgres:18-alpine', 5432, environment, ready)
    return { url: `postgresql://postgres:test@${authority}/postgres`, close }
  }
}

/**
 * Installs Debian's package if the process is root. Prints a notice, because it changes the machine. Test files that
 * need Redis at the same time wait for the first: `apt-get update` fails while another one runs.
 */
const installRedis = (): void => {
  console.log('no Redis at hand: installing the Debian package redis-server (apt-get install redis-server)')
  const apt = 'apt-get -o DPkg::Lock::Timeout=120 -qq'
  const install = `${apt} update && ${apt} install -y --no-install-recommends redis-server`
  execFileSync('flock', ['/run/fx-install-redis.lock', 'sh', '-c', `command -v redis-server || { ${install}; }`], {
    // RUNLEVEL=1 keeps the package from starting a server of its own.
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
    stdio: 'inherit',
  })
}

const mayInstall = (): boolean => process.getuid?.() === 0 && existsSync('/etc/debian_version')

/** A Redis that is already given, or one of `startOwnRedis`. */
export const startTestRedis = async (): Promise<TestService> => given('TEST_REDIS_URL') ?? (await startOwnRedis())

/**
 * A Redis that no other test uses, so that a test may stop it: `redis-server` on PATH, else a container, else (root on
 * Debian) the package is installed. Throws an Error that names the packages to install when none of them works.
 */
export const startOwnRedis = async (): Promise<TestService> => {
  const redis = await findRedis({})
  if (redis) return redis
  if (hasDocker()) {
    const { authority, close } = await container('redis:7-alpine', 6379, {}, /Ready to accept connections/)
    return { url: `redis://${authority}`, close }
  }
  if (mayInstall()) installRedis()
  const installed = await findRedis({})
  if (installed) return installed
  throw new Error('the tests need Redis: set TEST_REDIS_URL, install redis-server, or start Docker')
}
