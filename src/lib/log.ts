import { type Logger as PinoLogger, pino } from 'pino'

export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'child' | 'level'>

/** Keys whose values never reach a log line, at the top level or one below. */
const secrets = [
  'authorization',
  'cookie',
  'x-admin-token',
  'x-api-key',
  'databaseUrl',
  'redisUrl',
  'rpcUrls',
  'privateKey',
  'ENGINE_PRIVATE_KEY',
]

/**
 * The process's structured logger: one JSON object a line on stdout or on stderr (`fd` 2), ISO times, secrets removed by key.
 *
 * @example createLogger({ level: 'info', process: 'worker' }).info({ chainId: 8453 }, 'following')
 */
export const createLogger = (options: {
  readonly level: string
  readonly process: string
  readonly fd?: 1 | 2
}): PinoLogger =>
  pino(
    {
      level: options.level,
      base: { process: options.process, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: [...secrets, ...secrets.map((key) => `*["${key}"]`), 'req.headers.authorization'],
        remove: true,
      },
    },
    pino.destination(options.fd ?? 1),
  )
