import { spawnSync } from 'node:child_process'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { findRedis } from '../../src/sandbox/redis.ts'
import { startTestRedis } from '../support/services.ts'

const connect = async (url: string): Promise<Redis> => {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null })
  client.on('error', () => {})
  await client.connect()
  return client
}

const isOnPath = (command: string): boolean => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0

test('an address that was given is used as it is', async () => {
  const redis = await findRedis({ redisUrl: 'redis://elsewhere:6379' })
  expect(redis).toMatchObject({ url: 'redis://elsewhere:6379', origin: 'REDIS_URL' })
})

test('a redis-server on PATH is started privately, never forgets a job, and ends when it is closed', async () => {
  const service = await startTestRedis() // installs one where it may
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
