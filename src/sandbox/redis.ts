import { execFile } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startChild } from './child.ts'
import { freePort } from './ports.ts'

export type Redis = {
  readonly url: string
  /** Where it came from, for whoever reads the log. */
  readonly origin: 'REDIS_URL' | 'private redis-server'
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

/** Starts a private `redis-server` from PATH that keeps nothing on disk. Throws when it does not come up. */
const startRedis = async (): Promise<Redis> => {
  const [port, dir] = [await freePort(), await mkdtemp(join(tmpdir(), 'fx-redis-'))]
  const child = await startChild({
    name: 'Redis',
    command: 'redis-server',
    // BullMQ requires noeviction: a queue must not forget.
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
  return { url: `redis://127.0.0.1:${port}`, origin: 'private redis-server', close: child.stop }
}

/**
 * The Redis the jobs run on: the given one, else a private instance of a `redis-server` on PATH, else null: jobs then run in process.
 *
 * @example const redis = await findRedis({ redisUrl: undefined })
 */
export const findRedis = async (options: { readonly redisUrl?: string | undefined }): Promise<Redis | null> => {
  if (options.redisUrl !== undefined) return { url: options.redisUrl, origin: 'REDIS_URL', close: async () => {} }
  return (await isInstalled()) ? startRedis() : null
}
