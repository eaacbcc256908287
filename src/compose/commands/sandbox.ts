import { environments } from '../../config/environments.ts'
import { inherited, load } from '../../config/load.ts'
import { npmOptions } from '../../config/npm.ts'
import { factsOf } from '../../config/parts.ts'
import { runSandbox as runEmbedded } from '../../sandbox/run.ts'

/**
 * Poll interval of the sandbox. Its nodes are local, so a short interval costs nothing and shows new rows immediately.
 */
const SANDBOX_POLL_MS = 200

/** Runs the whole system on embedded services until a signal. Its output is for a person at the terminal. */
export const runSandbox = async (flags: {
  readonly quiet: boolean
  readonly persist: string | undefined
}): Promise<void> => {
  const config = load(environments.sandbox)
  const npm = npmOptions()
  const print = (line: string): void => void process.stdout.write(`${line}\n`)
  if (npm.note !== undefined) print(`note: ${npm.note}`)
  await runEmbedded({
    apiPort: config.PORT,
    chains: config.chains.map((it) => ({ chainId: it.chainId, ...factsOf(it), rpcPort: it.SANDBOX_RPC_PORT })),
    persistDir: flags.persist ?? npm.persist,
    quiet: flags.quiet || npm.quiet,
    redisUrl: config.REDIS_URL,
    service: {
      command: process.execPath,
      // The services start like this process: from the build, or from the sources with a loader.
      args: [...process.execArgv, ...process.argv.slice(1, 2)],
      // Production rejects the sandbox's settings.
      env: {
        ...inherited(config.CHAINS),
        NODE_ENV: 'development',
        // Everything starts at once on one machine, so a healthy database may take seconds to answer.
        API_QUERY_TIMEOUT_MS: '10000',
        LOG_LEVEL: config.LOG_LEVEL,
        IDLE_POLL_MS: String(SANDBOX_POLL_MS),
        FAST_POLL_MS: String(SANDBOX_POLL_MS),
        DRAIN_MS: '0',
        METRICS_PORT: 'off',
      },
    },
    print,
  })
}
