import { type Logger, pino } from 'pino'
import type { Address } from 'viem'
import { buildApp } from '../../src/api/app.ts'
import { createChain } from '../../src/chain/chain.ts'
import { createDatabase } from '../../src/db/pool.ts'
import { createQueries } from '../../src/db/query.ts'
import { createClosers } from '../../src/lib/lifecycle.ts'
import { chainIds, type Deployment } from '../../src/protocol/chains.ts'
import type { Sources } from '../../src/reads/read.ts'
import { createClient } from './client.ts'

/** Nobody listens on the discard port: connections are refused at once. */
const NOWHERE = '127.0.0.1:9'

const nobody: Address = '0x000000000000000000000000000000000000dEaD'

type Options = {
  readonly databaseUrl?: string | undefined
  /** The deployment of each configured chain, and its node where one is in reach. */
  readonly nodes?: readonly { readonly url?: string; readonly deployment: Deployment }[]
  readonly log?: Logger
}

/** The app as the API process builds it; what is not given is out of reach. */
export const openApp = async ({ databaseUrl, nodes = [], log = pino({ level: 'silent' }) }: Options) => {
  const closers = createClosers()
  const chains = chainIds.map((chainId) => {
    const node = nodes.find(({ deployment }) => deployment.chainId === chainId)
    const deployment: Deployment = node?.deployment ?? {
      chainId,
      diamond: nobody,
      usdc: nobody,
      usdt: null,
      publicRpcUrl: 'http://node.example',
      startBlock: 0n,
      profile: 'reference',
    }
    const rpcUrls = [node?.url ?? `http://${NOWHERE}/private-key`]
    const chain = createChain({ deployment, rpcUrls, timeoutMs: 3_000, headMaxAgeMs: 50, log })
    return closers.add(`chain ${chainId}`, chain, (it) => it.close())
  })
  const database = createDatabase({
    url: databaseUrl ?? `postgres://user:secret-password@${NOWHERE}/none`,
    log,
    maxConnections: 4,
    statementTimeoutMs: 5_000,
  })
  closers.add('database', database, (it) => it.close())
  const sources: Sources = {
    chains: new Map(chains.map((chain) => [chain.chainId, chain])),
    queries: createQueries(database),
  }
  const app = await buildApp({ sources, defaultChainId: 8453, maxLagSeconds: 60, log })
  closers.add('app', app, (it) => it.close())
  return { ...createClient(app), app, sources, database, close: closers.close }
}
