import { Redis } from 'ioredis'
import type { Logger } from '../../lib/observe/log.ts'
import { createOutageLog } from '../../lib/observe/outage-log.ts'
import { createReconnectOnError } from '../../lib/redis.ts'
import type { LimitStore } from './rate-limit.ts'

/** How long a request may wait for the shared count, in milliseconds. After that, this process counts it on its own. */
const COMMAND_TIMEOUT_MS = 200

/** How long Redis may send no data while a command is pending, in milliseconds, before the connection is closed. */
const SOCKET_TIMEOUT_MS = 1_000

/** Opens the Redis in which the processes of a service count requests together. Its outages are logged. */
export const createLimitStore = (options: {
  readonly redisUrl: string
  /** The prefix of the keys. */
  readonly prefix: string
  readonly log: Logger
}): LimitStore & { close(): void } => {
  const { redisUrl, prefix, log } = options
  const redis = new Redis(redisUrl, {
    // Its answer would take the place of the reason for which Redis refuses a connection.
    disableClientInfo: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT_MS,
    // A connection that hangs must not queue commands.
    socketTimeout: SOCKET_TIMEOUT_MS,
    autoResendUnfulfilledCommands: false,
    reconnectOnError: createReconnectOnError(),
  })
  const outages = createOutageLog({
    log,
    down: 'this process counts requests on its own: the shared Redis does not count',
    up: 'requests are counted with the other processes again',
  })
  redis.on('error', outages.failed)
  return { redis, prefix, outages, close: () => redis.disconnect() }
}
