import { readFileSync } from 'node:fs'
import { migrate } from '../../../src/db/migrate.ts'
import type { Closers } from '../../../src/lib/lifecycle.ts'
import type { ChainId } from '../../../src/protocol/chains.ts'
import { chainVariables, deployOn, type SandboxChain } from '../../../src/sandbox/chain.ts'
import { startAnvil } from '../../../src/sandbox/parts/anvil.ts'
import { claimPorts } from '../../../src/sandbox/parts/ports.ts'
import { startPostgres } from '../../../src/sandbox/parts/postgres.ts'
import { findRedis } from '../../../src/sandbox/parts/redis.ts'
import { createAccounts } from '../../../src/sandbox/story/accounts.ts'
import { startProcess } from '../../faults/process.ts'
import { factsOf } from '../../support/known-chains.ts'
import { eventually, untilLive } from '../../support/process.ts'
import { startCountingProxy } from './counting-proxy.ts'
import { callsOf, type Phase } from './figures.ts'
import { createTrader, type Trader } from './trader.ts'

/** Seconds between two blocks. Base makes one each 0.2 s; 2 s is what it and others made before. */
export const blockSeconds: Readonly<Record<ChainId, number>> = { 8453: 0.2, 56: 2 }

/** The chain begins in the past, because deploying in many blocks moves its clock ahead. */
const HEAD_START_SECONDS = 3_600

/** Blocks that make everything before them final: two of anvil's epochs, and some more. */
const FINAL_AFTER = 70

const READY_WITHIN_MS = 120_000

type Member = { readonly name: string; readonly command: 'api' | 'worker' | 'engine' }

const members: readonly Member[] = [
  { name: 'worker 1', command: 'worker' },
  { name: 'worker 2', command: 'worker' },
  { name: 'API 1', command: 'api' },
  { name: 'API 2', command: 'api' },
  { name: 'engine', command: 'engine' },
]

/** The default pause between two polls of an idle chain, which a commit documents under one of two names. */
export const idleIntervalMs = (): number => {
  const text = readFileSync(new URL('../../../.env.example', import.meta.url), 'utf8')
  const [, found] = /^IDLE_POLL_MS=(\d+)$/m.exec(text) ?? /^POLL_MS=(\d+)$/m.exec(text) ?? []
  if (found === undefined) throw new Error('.env.example has neither IDLE_POLL_MS nor POLL_MS')
  return Number(found)
}

const openChain = async (chainId: ChainId, closers: Closers): Promise<{ chain: SandboxChain; trader: Trader }> => {
  const genesisTimestamp = Math.floor(Date.now() / 1_000) - HEAD_START_SECONDS
  const anvil = await startAnvil({ chainId, blockTime: blockSeconds[chainId] ?? 2, genesisTimestamp })
  closers.add(`node ${chainId}`, anvil, (it) => it.close())
  const chain = await deployOn(anvil.url, { chainId, ...factsOf(chainId) }, createAccounts())
  const trader = await createTrader(chain)
  await trader.mine(FINAL_AFTER)
  return { chain, trader }
}

/**
 * The service as it is deployed, with default settings: two API processes, two workers and an engine, over two chains.
 * Each process reaches each chain through a proxy of its own. Resolves when both API processes are ready.
 */
export const openDeployment = async (closers: Closers, say: (line: string) => void) => {
  const chainIds = Object.keys(blockSeconds).map(Number)
  const postgres = closers.add('PostgreSQL', await startPostgres(), (it) => it.close())
  const redis = closers.add('Redis', await findRedis({}), (it) => it?.close())
  await migrate({ databaseUrl: postgres.url })
  say(`PostgreSQL, ${redis === null ? 'no Redis (jobs run in the workers)' : 'Redis'}`)
  const chains = await Promise.all(chainIds.map((chainId) => openChain(chainId, closers)))
  say('two chains with the protocol')

  const wanted = ['PORT 1', 'PORT 2', 'ENGINE_PORT'].map((variable) => ({ variable, port: 0 }))
  const [first = 0, second = 0, enginePort = 0] = await claimPorts(wanted)
  const urls = [first, second].map((port) => `http://127.0.0.1:${port}`)
  const portsOf: Readonly<Record<string, number>> = { 'API 1': first, 'API 2': second }
  const common = {
    DATABASE_URL: postgres.url,
    REDIS_URL: redis?.url ?? '',
    ...(redis !== null && { JOBS_PREFIX: redis.prefix }),
    ...{ CHAINS: chainIds.join(), HOST: '127.0.0.1', METRICS_PORT: 'off' },
    ...{ ENGINE_URL: `http://127.0.0.1:${enginePort}`, ENGINE_PORT: String(enginePort) },
    ...Object.assign({}, ...chains.map(({ chain }) => chainVariables(chain))),
  }
  const started = await Promise.all(
    members.map(async ({ name, command }) => {
      const proxies = await Promise.all(
        chains.map(async ({ chain: { chainId, rpcUrl } }) => {
          const proxy = await startCountingProxy(rpcUrl)
          closers.add(`proxy of ${name}`, proxy, (it) => it.close())
          return { chainId, ...proxy }
        }),
      )
      const child = await startProcess(command, {
        ...common,
        ...Object.fromEntries(proxies.map(({ chainId, url }) => [`RPC_URLS_${chainId}`, url])),
        ...(command === 'engine' && { ENGINE_PRIVATE_KEY: createAccounts().engine.privateKey }),
        ...(command === 'api' && { PORT: String(portsOf[name]) }),
      })
      closers.add(name, child, (it) => it.stop())
      return { name, proxies, child }
    }),
  )
  const check = (): void => {
    const ended = started.find(({ child }) => child.hasExited())
    if (ended !== undefined) throw new Error(`${ended.name} ended: ${ended.child.tail()}`)
  }
  await untilLive(common.ENGINE_URL)
  const isReady = (url: string): Promise<boolean> =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  for (const url of urls)
    await eventually(
      `${url}/readyz answers 200`,
      () => {
        check()
        return isReady(url)
      },
      READY_WITHIN_MS,
      500,
    )
  say('two API processes, two workers and an engine; the index is ready')

  /** What passed since the last call of this function. The worker that reads the logs of a chain leads it. */
  const take = (seconds: number): Phase => {
    check()
    const all = started.map(({ name, proxies }) => ({
      name,
      byChain: new Map(proxies.map(({ chainId, take }) => [chainId, take()])),
    }))
    const ofChain = (chainId: number) => {
      const passed = all.flatMap(({ name, byChain }) => {
        const found = byChain.get(chainId)
        return found === undefined ? [] : [{ name, ...found }]
      })
      const [leader, standby] = passed
        .filter(({ name }) => name.startsWith('worker'))
        .toSorted(
          (a, b) =>
            callsOf(b.counts, 'eth_getLogs') - callsOf(a.counts, 'eth_getLogs') ||
            callsOf(b.counts) - callsOf(a.counts),
        )
      const nameOf = (name: string): string =>
        name === leader?.name ? 'leader worker' : name === standby?.name ? 'standby worker' : name
      const perSecond = new Map<number, number>()
      for (const each of passed)
        for (const [second, calls] of each.perSecond) perSecond.set(second, (perSecond.get(second) ?? 0) + calls)
      return {
        processes: Object.fromEntries(passed.map(({ name, counts }) => [nameOf(name), counts])),
        peakPerSecond: Math.max(0, ...perSecond.values()),
      }
    }
    return { seconds, chains: Object.fromEntries(chainIds.map((chainId) => [chainId, ofChain(chainId)])) }
  }
  return { chains, urls, take }
}
