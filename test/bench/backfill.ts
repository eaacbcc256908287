import { pino } from 'pino'
import { createTestClient, encodeDeployData, encodeFunctionData, http, publicActions, walletActions } from 'viem'
import { createChain } from '../../src/chain/chain.ts'
import { takeLease } from '../../src/db/lease.ts'
import { migrate } from '../../src/db/migrate.ts'
import { createDatabase } from '../../src/db/pool.ts'
import { readProgress } from '../../src/db/progress.ts'
import { createStep } from '../../src/indexer/step.ts'
import { createCast } from '../../src/sandbox/accounts.ts'
import { startAnvil } from '../../src/sandbox/anvil.ts'
import { artifact } from '../../src/sandbox/deploy.ts'
import { startPostgres } from '../../src/sandbox/postgres.ts'

/*
 * Logs a second from a local node into Postgres, by the index's own steps, and the memory that takes. LOGS=… sets how many.
 */

const LOGS = Number(process.env.LOGS ?? 200_000)
const LOGS_A_BLOCK = 500

const log = pino({ level: 'silent' })
const [anvil, postgres] = await Promise.all([startAnvil({ chainId: 8453 }), startPostgres()])
const closers: (() => Promise<unknown>)[] = [anvil.close, postgres.close]

/** A chain with the history in it; where its contract is. */
const build = async () => {
  const node = createTestClient({ mode: 'anvil', transport: http(anvil.url, { timeout: 60_000 }) })
    .extend(publicActions)
    .extend(walletActions)
  const { abi, bytecode } = artifact('Archive')
  const { account } = createCast().owner
  const hash = await node.sendTransaction({ account, chain: null, data: encodeDeployData({ abi, bytecode }) })
  const { contractAddress, blockNumber } = await node.waitForTransactionReceipt({ hash, pollingInterval: 20 })
  if (!contractAddress) throw new Error('the archive was not created')
  const data = encodeFunctionData({ abi, functionName: 'create', args: [BigInt(LOGS_A_BLOCK)] })
  for (let made = 0; made < LOGS; made += LOGS_A_BLOCK) {
    const sent = await node.sendTransaction({ account, chain: null, to: contractAddress, data, gas: 10_000_000n })
    await node.waitForTransactionReceipt({ hash: sent, pollingInterval: 5 })
    if (made % 10_000 === 0) process.stderr.write(`\rbuilding a chain of ${LOGS} logs: ${made}`)
  }
  process.stderr.write('\n')
  return { diamond: contractAddress, startBlock: blockNumber, head: await node.getBlockNumber() }
}

try {
  const { diamond, startBlock, head } = await build()
  await migrate({ databaseUrl: postgres.url, log })
  const database = createDatabase({ url: postgres.url, maxConnections: 4, statementTimeoutMs: 60_000, log })
  closers.unshift(database.close)
  const deployment = {
    chainId: 8453,
    profile: 'reference',
    diamond,
    usdc: diamond,
    usdt: null,
    publicRpcUrl: anvil.url,
    startBlock,
  } as const
  const chain = createChain({ deployment, rpcUrls: [anvil.url], timeoutMs: 30_000, headMaxAgeMs: 100, log })
  closers.unshift(chain.close)
  const lease = await takeLease(database, 8453, 'bench', 600_000)
  if (lease === null) throw new Error('somebody else has the lease')
  const step = createStep({ chain, database, leaseTtlMs: 600_000, log })

  let peak = 0
  const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 50)
  const [started, cpu] = [performance.now(), process.cpuUsage()]
  for (;;) {
    await step(lease)
    const { cursor } = await readProgress(database, 8453)
    if (cursor !== null && cursor.number >= head) break
  }
  const seconds = (performance.now() - started) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  clearInterval(watch)
  const { last } = await readProgress(database, 8453)
  console.log(
    `backfill  ${last.position} logs in ${seconds.toFixed(1)} s: ${Math.round(LOGS / seconds)} logs a second, ` +
      `${Math.round((LOGS * 1e6) / (user + system))} a second of our processor time; peak ${Math.round(peak / 2 ** 20)} MB`,
  )
} finally {
  for (const close of closers) await close()
}
