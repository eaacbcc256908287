import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Client } from 'pg'
import { pino } from 'pino'
import { createTestClient, encodeDeployData, encodeFunctionData, http, publicActions, walletActions } from 'viem'
import { z } from 'zod'
import { migrate } from '../../src/db/migrate.ts'
import { createCast } from '../../src/sandbox/accounts.ts'
import { startAnvil } from '../../src/sandbox/anvil.ts'
import { artifact } from '../../src/sandbox/deploy.ts'
import { startPostgres } from '../../src/sandbox/postgres.ts'
import { Backfilled, type ToBackfill } from './backfill-index.ts'

/*
 * Logs a second from a local node into Postgres by the index's own steps, in a process of its own, and the memory that takes.
 *
 *   npm run bench:backfill                             a million logs, 500 a block
 *   LOGS=500 LOGS_A_BLOCK=2 GAP=9 LATENCY_MS=20 WIDTH=25 npm run bench:backfill
 *                                                      2,500 blocks, few of them with logs, behind 20 ms of latency, of a node that
 *                                                      gives the logs of 25 blocks at once
 */

const LOGS = Number(process.env.LOGS ?? 1_000_000)
const LOGS_A_BLOCK = Number(process.env.LOGS_A_BLOCK ?? 500)
/** Empty blocks after each block with logs. */
const GAP = Number(process.env.GAP ?? 0)
const LATENCY_MS = Number(process.env.LATENCY_MS ?? 0)
/** Most blocks that the node behind the latency gives the logs of at once. */
const WIDTH = Number(process.env.WIDTH ?? 10_000)

const [anvil, postgres] = await Promise.all([startAnvil({ chainId: 8453 }), startPostgres()])
const closers: (() => unknown)[] = [anvil.close, postgres.close]

/** A chain with the history in it; where its contract is. */
const makeChain = async () => {
  const node = createTestClient({ mode: 'anvil', transport: http(anvil.url, { timeout: 60_000 }) })
    .extend(publicActions)
    .extend(walletActions)
  const { abi, bytecode } = artifact('Archive')
  const { account } = createCast().owner
  const hash = await node.sendTransaction({ account, chain: null, data: encodeDeployData({ abi, bytecode }) })
  const { contractAddress, blockNumber } = await node.waitForTransactionReceipt({ hash, pollingInterval: 20 })
  if (!contractAddress) throw new Error('the archive was not created')
  const data = encodeFunctionData({ abi, functionName: 'create', args: [BigInt(LOGS_A_BLOCK)] })
  await node.setAutomine(false)
  for (let made = 0; made < LOGS; made += LOGS_A_BLOCK) {
    // Unsigned: a signature costs this process more than the logs cost the node.
    await node.sendUnsignedTransaction({ from: account.address, to: contractAddress, data, gas: 10_000_000n })
    await node.mine({ blocks: 1 + GAP })
    if (made % 10_000 === 0) process.stderr.write(`\rbuilding a chain of ${LOGS} logs: ${made}`)
  }
  process.stderr.write('\n')
  const count = await node.readContract({ address: contractAddress, abi, functionName: 'count' })
  if (count !== BigInt(LOGS)) throw new Error(`${count} logs were emitted and not ${LOGS}`)
  return {
    diamond: contractAddress,
    startBlock: Number(blockNumber),
    head: Number(await node.getBlockNumber({ cacheTime: 0 })),
  }
}

const Range = z.object({ fromBlock: z.string(), toBlock: z.string() })
const Batch = z.array(z.object({ id: z.number(), method: z.string(), params: z.array(z.unknown()) }))

/** The refusals of a batch that asks the logs of too many blocks; null when it does not. */
const refusals = (body: string) => {
  const asked = Batch.parse(JSON.parse(body))
  const isTooWide = asked.some(({ method, params }) => {
    if (method !== 'eth_getLogs') return false
    const { fromBlock, toBlock } = Range.parse(params[0])
    return toBlock.startsWith('0x') && Number(toBlock) - Number(fromBlock) >= WIDTH
  })
  const error = { code: -32_602, message: `block range is limited to ${WIDTH}` }
  return isTooWide ? JSON.stringify(asked.map(({ id }) => ({ jsonrpc: '2.0', id, error }))) : null
}

/** The node behind a line: each answer takes so much longer. */
const behindLatency = async (target: string): Promise<string> => {
  const server = createServer(async (asked, answer) => {
    const body = (await asked.toArray()).join('')
    await sleep(LATENCY_MS)
    const refused = refusals(body)
    if (refused !== null) return answer.end(refused)
    const relayed = request(target, { method: 'POST', headers: asked.headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(answer)
    })
    relayed.on('error', () => answer.destroy()).end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.unshift(() => server.close())
  const { port } = z.object({ port: z.number() }).parse(server.address())
  return `http://127.0.0.1:${port}`
}

/** Processor seconds of a process and its children so far. */
const spentBy = (pid: number): number => {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,time='], { encoding: 'utf8' }).trim().split('\n')
  const seconds = lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([own, parent]) => Number(own) === pid || Number(parent) === pid)
    .map(([, , time = '']) => time.split(/[-:]/).reduce((sum, part) => sum * 60 + Number(part), 0))
  return seconds.reduce((sum, each) => sum + each, 0)
}

/** Seconds that the database takes by itself to write the same rows under the same indexes once more, from nobody and in one statement. */
const writeAgain = async (): Promise<number> => {
  const client = new Client(postgres.url)
  await client.connect()
  try {
    await client.query('CREATE TABLE again (LIKE positions INCLUDING ALL)')
    const started = performance.now()
    await client.query('INSERT INTO again SELECT * FROM positions')
    return (performance.now() - started) / 1_000
  } finally {
    await client.end()
  }
}

/** The indexing process for a plain Node, as in production: what compiles TypeScript takes memory of its own. */
const built = async (): Promise<string> => {
  const outfile = fileURLToPath(new URL('../../dist/bench/backfill-index.js', import.meta.url))
  const entry = fileURLToPath(new URL('backfill-index.ts', import.meta.url))
  await build({ entryPoints: [entry], outfile, bundle: true, format: 'esm', platform: 'node', packages: 'external' })
  return outfile
}

/** What the indexing process tells, and the processor seconds of `beside` meanwhile. */
const index = async (task: ToBackfill, beside: readonly number[]) => {
  const before = beside.map(spentBy)
  const child = fork(await built(), [JSON.stringify(task)], { execArgv: [] })
  const [message] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error('the indexing process ended early'))),
  ])
  const spent = beside.map((pid, at) => spentBy(pid) - (before[at] ?? 0))
  child.disconnect()
  return { ...Backfilled.parse(message), spent }
}

try {
  const { diamond, startBlock, head } = await makeChain()
  await migrate({ databaseUrl: postgres.url, log: pino({ level: 'silent' }) })
  const rpcUrl = LATENCY_MS > 0 ? await behindLatency(anvil.url) : anvil.url
  const done = await index({ databaseUrl: postgres.url, rpcUrl, diamond, startBlock, head }, [postgres.pid, anvil.pid])
  if (done.logs !== LOGS) throw new Error(`${done.logs} logs were indexed and not ${LOGS}`)
  const [database = 0, node = 0] = done.spent

  const each = (seconds: number): string => `${((seconds * 1e6) / LOGS).toFixed(1)} us`
  const floor = (done.requests * LATENCY_MS) / 1_000
  console.log(`node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}`)
  console.log(`${LOGS} logs in ${head - startBlock} blocks indexed in ${done.seconds.toFixed(1)} s`)
  console.log(`  logs a second            ${Math.round(LOGS / done.seconds)}`)
  console.log(`  and a CPU second of ours ${Math.round(LOGS / done.cpuSeconds)}`)
  console.log(`  peak memory              ${done.peakMB} MB (${done.restMB} MB before the first range)`)
  console.log(
    `  processor time a log     ours ${each(done.cpuSeconds)}, Postgres ${each(database)}, node ${each(node)}`,
  )
  console.log(`  the database by itself   ${each(await writeAgain())}, for rows and indexes alone`)
  console.log(`  requests                 ${done.requests}`)
  if (floor > 0) {
    console.log(`  requests x latency       ${floor.toFixed(2)} s, ratio ${(done.seconds / floor).toFixed(2)}`)
  }
} finally {
  for (const close of closers) await close()
}
