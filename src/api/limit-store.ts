import { Redis } from 'ioredis'
import { errorText } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { LimitStore } from './plugins/rate-limit.ts'

/** Longest a request waits to be counted, in milliseconds: it is not counted then. */
const COUNTED_WITHIN_MS = 200

/** A connection that says nothing for so long, in milliseconds, while it is asked, is given up. */
const SILENT_MS = 1_000

/**
 * Opens the Redis on which the processes of a service count requests together. One out of reach is logged, once until it is back, and holds
 * nobody up.
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
  })
  let isLost = false
  redis.on('ready', () => {
    isLost = false
  })
  redis.on('error', (fault) => {
    if (!isLost) log.warn({ fault: errorText(fault) }, 'requests are not counted: their Redis is out of reach')
    isLost = true
  })
  return { redis, prefix, close: () => redis.disconnect() }
}
