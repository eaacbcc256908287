import { spawnSync } from 'node:child_process'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createJobs } from '../../src/jobs/run.ts'
import { findRedis } from '../../src/sandbox/parts/redis.ts'
import { startTestRedis } from '../support/services.ts'

const connect = async (url: string): Promise<Redis> => {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null })
  client.on('error', () => {})
  await client.connect()
  return client
}

const isOnPath = (command: string): boolean => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0

test('a configured Redis address is used unchanged', async () => {
  const redis = await findRedis({ redisUrl: 'redis://elsewhere:6379' })
  expect(redis).toMatchObject({ url: 'redis://elsewhere:6379', origin: 'REDIS_URL' })
})

test('two sandboxes on one Redis stay separate, and each removes its own keys', async () => {
  const service = await startTestRedis()
  const client = await connect(service.url)
  const log = pino({ level: 'silent' })
  const open = async () => {
    const redis = await findRedis({ redisUrl: service.url })
    if (redis === null) throw new Error('a given address was not used')
    const jobs = createJobs({ redisUrl: redis.url, prefix: redis.prefix, log })
    await jobs.repeat('sweep', { chainId: 56 }, 60_000)
    await jobs.close()
    return { close: redis.close, keys: () => client.keys(`${redis.prefix}:*`) }
  }
  const [one, other] = [await open(), await open()]
  const [mine, theirs] = [await one.keys(), await other.keys()]
  expect(mine.length).toBeGreaterThan(0)
  expect(theirs.filter((key) => mine.includes(key))).toEqual([])
  await one.close()
  expect(await one.keys()).toEqual([])
  expect((await other.keys()).sort()).toEqual(theirs.sort())
  await other.close()
  expect(await other.keys()).toEqual([])
  client.disconnect()
  await service.close()
})

test('an unreachable Redis does not delay the close', async () => {
  const redis = await findRedis({ redisUrl: 'redis://127.0.0.1:9' })
  await redis?.close()
})

test('a redis-server on PATH is started privately, never evicts a job, and stops with the sandbox', async () => {
  const service = await startTestRedis() // installs a server where that is permitted
  await service.close()
  const redis = await findRedis({})
  expect(redis !== null).toBe(isOnPath('redis-server'))
  if (redis === null) return
  expect(redis.origin).toBe('private redis-server')
  const client = await connect(redis.url)
  expect(await client.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction'])
  client.disconnect()
  await redis.close()
  await expect(connect(redis.url)).rejects.toThrow()
})
