import { Redis } from 'ioredis'
import type { Logger } from '../lib/log.ts'
import { createOutageLog } from '../lib/outage-log.ts'
import { createReconnectOnError } from '../lib/redis.ts'
import type { LimitStore } from './rate-limit.ts'

/** Longest a request waits to be counted with other processes, in milliseconds: this process then counts it on its own. */
const COUNTED_WITHIN_MS = 200

/** A connection that says nothing for so long, in milliseconds, while it is asked, is given up. */
const SILENT_MS = 1_000

/**
 * Opens the Redis on which the processes of a service count requests together. While it is out of reach or refuses writes, which is logged,
 * each process counts on its own.
 */
export const createLimitStore = (options: {
  readonly redisUrl: string
  /** What the keys begin with. */
  readonly prefix: string
  readonly log: Logger
}): LimitStore & { close(): void } => {
  const { redisUrl, prefix, log } = options
  const redis = new Redis(redisUrl, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COUNTED_WITHIN_MS,
    // One that hangs must not gather what it was asked.
    socketTimeout: SILENT_MS,
    autoResendUnfulfilledCommands: false,
    reconnectOnError: createReconnectOnError(),
  })
  const outages = createOutageLog({
    log,
    down: 'this process counts requests on its own: their Redis is out of order',
    up: 'requests are counted with the other processes again',
  })
  redis.on('error', outages.failed)
  return { redis, prefix, outages, close: () => redis.disconnect() }
}
