import { type Logger as PinoLogger, pino } from 'pino'
import { createScrub } from './secrets.ts'

export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'child' | 'level'>

/** Keys whose values are removed from every log line, at the top level and one level below. */
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
 * The process's structured logger: one JSON object per line on stdout or on stderr (`fd` 2), with ISO times. Secrets
 * are removed by key. The texts in `secrets` are removed wherever they occur, because a driver's error may contain its
 * URL.
 *
 * @example createLogger({ level: 'info', process: 'worker' }).info({ chainId: 8453 }, 'following')
 */
export const createLogger = (options: {
  readonly level: string
  readonly process: string
  /** Texts that are removed from every line. */
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
