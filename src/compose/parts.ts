import { type Chain, createChain, type Leader } from '../chain/chain.ts'
import type { environments } from '../config/environments.ts'
import type { ConfigOf } from '../config/load.ts'
import { chainsOf } from '../config/parts.ts'
import { createDatabase, type Database, type DatabaseOptions } from '../db/pool.ts'
import { requireVersionOnceReached } from '../db/versions.ts'
import { OperatorError, unavailable } from '../lib/errors.ts'
import type { Closers } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/observe/log.ts'
import { withTimeout } from '../lib/with-timeout.ts'
import type { ChainId } from '../protocol/chains.ts'
import { profileFault } from '../reads/health/checks.ts'

/** Opens the chains of an environment. They close with the process. */
export const openChains = (
  config: Pick<ConfigOf<typeof environments.audit>, 'chains' | 'NODE_TIMEOUT_MS' | 'HEAD_MAX_AGE_MS'>,
  log: Logger,
  closers: Closers,
  leaderOf?: (chainId: ChainId) => Leader,
): Map<ChainId, Chain> =>
  new Map(
    chainsOf(config).map(({ deployment, rpcUrls }) => {
      const { NODE_TIMEOUT_MS: timeoutMs, HEAD_MAX_AGE_MS: headMaxAgeMs } = config
      const leader = leaderOf?.(deployment.chainId)
      const chain = createChain({ deployment, rpcUrls, timeoutMs, headMaxAgeMs, leader, log })
      return [deployment.chainId, closers.add(`chain ${deployment.chainId}`, chain, (it) => it.close())]
    }),
  )

/** Maximum milliseconds of a statement of the worker or a command. */
export const WORK_WITHIN_MS = 10_000

/** The times of a command's database. It waits long for a connection, because no client waits for the answer. */
export const COMMAND_TIMES = { statementTimeoutMs: WORK_WITHIN_MS, connectTimeoutMs: 10_000 } as const

/** Opens a database that closes with the process. */
export const openDatabase = (options: DatabaseOptions, closers: Closers): Database =>
  closers.add('database', createDatabase(options), (it) => it.close())

/** Resolves when the database serves this version, or cannot be reached: see `requireVersionOnceReached`. */
export const requireVersionOf = (database: Database, log: Logger, closers: Closers): Promise<void> => {
  const { signal } = closers.add('version', new AbortController(), (it) => it.abort())
  return requireVersionOnceReached({ database, log, signal })
}

/** How long a start waits for a diamond, in milliseconds. */
const PROFILE_WITHIN_MS = 3_000

/**
 * Throws an OperatorError when a diamond contradicts the configured kind of its deployment, because amounts would have
 * another meaning. A diamond that is out of reach is not waited for: the check `profile` reports it later.
 */
export const requireProfiles = async (chains: Iterable<Chain>): Promise<void> => {
  const late = () => unavailable('the diamond does not answer')
  const read = (chain: Chain) => withTimeout(() => profileFault(chain), { ms: PROFILE_WITHIN_MS, late })
  const faults = await Promise.all([...chains].map((chain) => read(chain).catch(() => null)))
  const found = faults.filter((fault) => fault !== null)
  if (found.length > 0) throw new OperatorError(found.join(' '))
}
