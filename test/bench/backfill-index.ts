import { pino } from 'pino'
import { createChain } from '../../src/chain/chain.ts'
import { takeLease } from '../../src/db/index/work/lease.ts'
import { createDatabase } from '../../src/db/pool.ts'
import { createStep } from '../../src/indexer/step.ts'
import { factsOf } from '../support/known-chains.ts'
import { runTask } from './backfill-task.ts'

/*
 * The index's own steps.
 */

await runTask(async ({ databaseUrl, rpcUrl, diamond, startBlock, head }) => {
  const log = pino({ level: 'silent' })
  // A busy machine takes longer than the service waits.
  const patience = { statementTimeoutMs: 60_000, connectTimeoutMs: 60_000, idleInTransactionMs: 60_000 }
  const database = createDatabase({ url: databaseUrl, maxConnections: 4, ...patience, log })
  const chain = createChain({
    deployment: {
      chainId: 8453,
      ...factsOf(8453),
      profile: 'reference',
      diamond,
      usdc: diamond,
      usdt: null,
      publicRpcUrl: rpcUrl,
      startBlock: BigInt(startBlock),
    },
    rpcUrls: [rpcUrl],
    timeoutMs: 60_000,
    headMaxAgeMs: 100,
    log,
  })
  const lease = await takeLease(database, 8453, 'bench', 3_600_000)
  if (lease === null) throw new Error('another process has the lease')
  const step = createStep({ chain, database, leaseTtlMs: 3_600_000, log })
  return {
    async run() {
      for (let proven = -1n; proven < head; ) proven = (await step(lease)).proven?.number ?? -1n
    },
    close: () => Promise.all([chain.close(), database.close()]),
  }
})
