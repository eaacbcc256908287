import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Redis as Client } from 'ioredis'
import { startChild } from './child.ts'
import { onFreePort } from './ports.ts'

export type Redis = {
  readonly url: string
  /** Prefix of this run's keys, because another sandbox may use the same server. */
  readonly prefix: string
  /** The origin of the server, for the log. */
  readonly origin: 'REDIS_URL' | 'private redis-server'
  /** Removes this run's keys, and stops the server if the sandbox started it. */
  readonly close: () => Promise<void>
}

const exec = promisify(execFile)

const isInstalled = async (): Promise<boolean> => {
  try {
    await exec('redis-server', ['--version'])
    return true
  } catch {
    return false
  }
}

/** Starts a private `redis-server` from PATH without persistence. Throws when it does not start. */
const startRedis = async (prefix: string, port: number): Promise<Redis> => {
  const dir = await mkdtemp(join(tmpdir(), 'fx-redis-'))
  const child = await startChild({
    name: 'Redis',
    command: 'redis-server',
    // BullMQ requires noeviction, because a queue must not lose jobs.
    args: [
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'no'],
      ...['--maxmemory-policy', 'noeviction'],
    ],
    scratch: [dir],
  })
  try {
    await child.waitForLine(/ready to accept connections/i, 20_000)
  } catch (error) {
    await child.stop()
    throw error
  }
  return { url: `redis://127.0.0.1:${port}`, prefix, origin: 'private redis-server', close: child.stop }
}

/** Removes every key with the prefix, if the server still answers. */
const removeKeys = async (url: string, prefix: string): Promise<void> => {
  const client = new Client(url, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    let cursor = '0'
    do {
      const [next, keys] = await client.scan(cursor, 'MATCH', `${prefix}:*`, 'COUNT', 1_000)
      if (keys.length > 0) await client.unlink(keys)
      cursor = next
    } while (cursor !== '0')
  } catch {
    // A Redis that is gone is no reason for the sandbox not to stop in order.
  } finally {
    client.disconnect()
  }
}

/**
 * The Redis for jobs: the given one, or a private instance of the `redis-server` on PATH. Null when there is neither:
 * jobs then run in process.
 *
 * @example const redis = await findRedis({ redisUrl: undefined })
 */
export const findRedis = async (options: { readonly redisUrl?: string | undefined }): Promise<Redis | null> => {
  const prefix = `fx-sandbox-${randomBytes(6).toString('hex')}`
  const url = options.redisUrl
  if (url !== undefined) return { url, prefix, origin: 'REDIS_URL', close: () => removeKeys(url, prefix) }
  return (await isInstalled()) ? onFreePort((port) => startRedis(prefix, port)) : null
}
