import { type Logger as PinoLogger, pino } from 'pino'
import { createScrub } from './secrets.ts'

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
  'signedTx',
]

/**
 * The process's structured logger: one JSON object a line on stdout or on stderr (`fd` 2), ISO times. Secrets are removed by key, and those
 * that are known by `secrets` wherever they stand: a driver's error may hold the URL it was given.
 *
 * @example createLogger({ level: 'info', process: 'worker' }).info({ chainId: 8453 }, 'following')
 */
export const createLogger = (options: {
  readonly level: string
  readonly process: string
  /** Texts that no line may hold. */
  readonly secrets?: readonly string[]
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
      hooks: { streamWrite: createScrub(options.secrets ?? []) },
    },
    pino.destination(options.fd ?? 1),
  )
