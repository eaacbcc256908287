import { environments } from '../config/environments.ts'
import { inherited, load } from '../config/load.ts'
import { runSandbox as runEmbedded } from '../sandbox/run.ts'

/** The sandbox's nodes are local: looking often costs nothing and shows a new row at once. */
const SANDBOX_POLL_MS = 200

/** The whole system on embedded parts until a signal; what it prints is for the person at the terminal. */
export const runSandbox = async (flags: {
  readonly quiet: boolean
  readonly persist: string | undefined
}): Promise<void> => {
  const config = load(environments.sandbox)
  await runEmbedded({
    ports: { api: config.PORT, rpc8453: config.SANDBOX_RPC_PORT_8453, rpc56: config.SANDBOX_RPC_PORT_56 },
    persistDir: flags.persist,
    quiet: flags.quiet,
    redisUrl: config.REDIS_URL,
    service: {
      command: process.execPath,
      // As we were started ourselves: from the build, or from the sources with a loader.
      args: [...process.execArgv, ...process.argv.slice(1, 2)],
      // What a sandbox has, production refuses.
      env: {
        ...inherited(),
        NODE_ENV: 'development',
        // Everything starts at once on one machine: a healthy database may take seconds to answer then.
        API_QUERY_TIMEOUT_MS: '10000',
        LOG_LEVEL: config.LOG_LEVEL,
        POLL_MS: String(SANDBOX_POLL_MS),
        DRAIN_MS: '0',
        METRICS_PORT: 'off',
      },
    },
    print: (line) => void process.stdout.write(`${line}\n`),
  })
}
