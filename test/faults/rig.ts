import { Client } from 'pg'
import { appendSet, newestSet } from '../../src/db/calibrations.ts'
import { migrate } from '../../src/db/migrate.ts'
import { createDatabase } from '../../src/db/pool.ts'
import { comparePasts } from '../../src/indexer/audit/pasts.ts'
import { createClosers } from '../../src/lib/lifecycle.ts'
import { createLogger } from '../../src/lib/observe/log.ts'
import { createCalibrator } from '../../src/pricing/calibration-sets.ts'
import { openMarket } from '../../src/pricing/market/open-market.ts'
import { chainVariables } from '../../src/sandbox/chain.ts'
import { startPostgres } from '../../src/sandbox/parts/postgres.ts'
import { cloneDatabase } from '../support/clone-database.ts'
import { openChain } from './chain.ts'
import { recordCommits } from './commits.ts'
import type { ComparedLogs } from './creations.ts'
import { type Process, startProcess } from './process.ts'
import { startFaultProxy } from './proxy.ts'
import { recordStatus } from './status-log.ts'
import { createTraffic, type Traffic } from './traffic.ts'
import { type Variant, variants } from './variant.ts'
import { createVerifier, describe, isExact, type Verdict, type Verifier } from './verifier.ts'

/** A server and a migrated template on it. */
export type Store = { readonly server: string; readonly template: string }

/** More events than the traffic of a target creates. */
const MAX_EVENTS = 1_000

/** How often the worker polls a chain that has nothing new, in milliseconds: the sandbox's value. */
const POLL_MS = 200

const calibrate = async (url: string): Promise<void> => {
  const log = createLogger({ level: 'warn', process: 'rig' })
  const database = createDatabase({ url, maxConnections: 1, statementTimeoutMs: 10_000, log })
  const rates = { ratesFolder: undefined, ecbUrl: undefined, fredUrl: undefined, synthetic: false }
  await createCalibrator({
    market: openMarket({ ...rates, now: Date.now, log }),
    find: (model) => newestSet(database, model),
    append: (model, pairs) => appendSet(database, model, pairs),
    log,
  })()
  await database.close()
}

/**
 * A PostgreSQL server with a migrated and calibrated template, so that workers do not calibrate while they are
 * measured.
 */
export const openStore = async (): Promise<Store & { readonly close: () => Promise<void> }> => {
  const postgres = await startPostgres()
  const template = 'fx_template'
  const client = new Client(postgres.url)
  await client.connect()
  await client.query(`CREATE DATABASE ${template}`)
  await client.end()
  const url = new URL(postgres.url)
  url.pathname = template
  await migrate({ databaseUrl: url.href })
  await calibrate(url.href)
  return { server: postgres.url, template, close: postgres.close }
}

/**
 * The chains of the rig. Chain 8453 has seeded traffic, and the targets measure it; chain 56 is idle. One of each
 * serves all seeds.
 */
export const openChains = async (seed: number, variant: Variant = variants.reference) => {
  const closers = createClosers()
  const [subject, quiet] = await Promise.all([openChain(8453, variant.profile), openChain(56, variant.profile)])
  for (const each of [subject, quiet]) closers.add(`node ${each.chain.chainId}`, each, (it) => it.close())
  const traffic: Traffic = await createTraffic({ chain: subject.chain, seed })
  return { chain: subject.chain, quiet: quiet.chain, traffic, variant, close: closers.close }
}

export type Chains = Awaited<ReturnType<typeof openChains>>

const comparedLogs = ({ logs, always }: Variant, asked: ComparedLogs = 'creations'): ComparedLogs => {
  if (!logs) return null
  return always.some(({ fault }) => fault === 'creationsOnly') ? 'creations' : asked
}

/**
 * One index for the verifier and the targets: a database, proxies in front of the node, and the processes between them.
 */
export const openIndex = async (options: {
  readonly store: Store
  readonly chains: Chains
  readonly seed: number
  /** Proxies in front of the one node, in the service's order of preference. */
  readonly nodes?: number
  /**
   * The logs whose rows in the ledger are compared: those of creations unless given. A log of another kind that all nodes
   * leave out is found by the audit, and not at once.
   */
  readonly ledger?: ComparedLogs
}) => {
  const { store, chains, seed } = options
  const closers = createClosers()
  const ledger = comparedLogs(chains.variant, options.ledger)
  const database = closers.add('database', await cloneDatabase(store.server, store.template), (it) => it.close())
  const proxies = await Promise.all(
    Array.from({ length: options.nodes ?? 1 }, (_, at) =>
      startFaultProxy({
        target: chains.chain.rpcUrl,
        seed: seed * 31 + at,
        always: chains.variant.always,
        turns: chains.traffic.turns,
      }),
    ),
  )
  for (const proxy of proxies) closers.add('proxy', proxy, (it) => it.close())
  const verifier: Verifier = closers.add(
    'verifier',
    await createVerifier({
      databaseUrl: database.url,
      rpcUrl: chains.chain.rpcUrl,
      chainId: chains.chain.chainId,
      diamond: chains.chain.diamond,
      logs: chains.variant.logs,
      ledger,
    }),
    (it) => it.close(),
  )
  const commits = closers.add('commits', await recordCommits(database.url, chains.chain.chainId), (it) => it.close())
  const statusLog = closers.add('status log', await recordStatus(database.url, chains.chain.chainId), (it) =>
    it.close(),
  )
  const env = {
    ...chainVariables(chains.chain),
    ...chainVariables(chains.quiet),
    [`RPC_URLS_${chains.chain.chainId}`]: proxies.map(({ url }) => url).join(),
    ...Object.fromEntries(
      [chains.chain, chains.quiet].map(({ chainId }) => [`PROFILE_${chainId}`, chains.variant.profile]),
    ),
    IDLE_POLL_MS: String(POLL_MS),
    FAST_POLL_MS: String(POLL_MS),
    LOG_LEVEL: 'info',
    METRICS_PORT: 'off',
  }
  const processes = new Set<Process>()
  const start = async (
    command: 'worker' | 'api' | 'engine',
    name: string = command,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Process> => {
    // The connections of a process carry its name, so that the recorded commits name their writer.
    const DATABASE_URL = `${database.url}?application_name=${name}`
    const started = await startProcess(command, { ...env, DATABASE_URL, ...more })
    processes.add(started)
    return started
  }
  closers.add('processes', processes, (all) => Promise.all([...all].map((each) => each.kill())))

  /**
   * Compares until the index is exact at `block` or above; returns the milliseconds it took, or throws the last
   * difference.
   */
  const untilExact = async (block: number, withinMs: number): Promise<number> => {
    const started = performance.now()
    for (;;) {
      const verdict = await verifier.compare()
      const took = performance.now() - started
      if (isExact(verdict) && verdict.cursor !== null && verdict.cursor.number >= block) return took
      if (took > withinMs) throw new NotExact(verdict, block, withinMs)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  /**
   * Compares until the views that the index stored are what its ledger leads to, for each event and its members; throws
   * the last differences. Observations follow their logs.
   */
  const untilFolded = async (withinMs: number): Promise<void> => {
    if (ledger !== 'all') return
    const { variant, chain } = chains
    const log = createLogger({ level: 'warn', process: 'rig' })
    const patience = { statementTimeoutMs: 60_000, connectTimeoutMs: 60_000 }
    const opened = createDatabase({ url: database.url, maxConnections: 1, ...patience, log })
    try {
      for (const started = performance.now(); ; await new Promise((resolve) => setTimeout(resolve, 200))) {
        const deps = { chain: { chainId: chain.chainId, deployment: variant }, database: opened, random: Math.random }
        const { compared, differences } = await comparePasts(deps, MAX_EVENTS)
        if (compared > 0 && differences.length === 0) return
        if (performance.now() - started > withinMs)
          throw new Error(
            `of ${compared} events, ${differences.length} values differ from the ledger: ${differences[0]}`,
          )
      }
    } finally {
      await opened.close()
    }
  }
  const [proxy] = proxies
  if (proxy === undefined) throw new RangeError('an index needs a node')
  return {
    database,
    proxies,
    proxy,
    verifier,
    commits,
    statusLog,
    start,
    untilExact,
    untilFolded,
    close: closers.close,
  }
}

export type Index = Awaited<ReturnType<typeof openIndex>>

/** The index did not become equal to the chain. */
class NotExact extends Error {
  override readonly name = 'NotExact'

  constructor(verdict: Verdict, block: number, withinMs: number) {
    super(`not exact at block ${block} within ${withinMs / 1000} s: ${describe(verdict)}`)
  }
}
