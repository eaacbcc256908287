import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { createTestClient, type Hex, http, publicActions, walletActions } from 'viem'
import { aggregateBytecode } from '../../src/abi/aggregate.generated.ts'
import { createChain } from '../../src/chain/chain.ts'
import { createClosers } from '../../src/lib/lifecycle.ts'
import { call } from '../../src/protocol/abi/outputs.ts'
import { createAccounts } from '../../src/sandbox/story/accounts.ts'
import { openChain } from '../faults/chain.ts'
import { startFaultProxy } from '../faults/proxy.ts'
import { quantile } from '../faults/target.ts'
import { createTraffic } from '../faults/traffic.ts'
import { factsOf } from '../support/known-chains.ts'

/*
 * Measures the upstream requests of a thousand readers. Each reads two views of its own entity twice a second, while a
 * block is mined every 0.2 s. A proxy in front of a real node counts the calls, compared with one `eth_call` per view.
 * A second round has all readers read one event.
 */

const READERS = 1_000
const ROUNDS = 3
const READS = 8
const EVERY_MS = 500
const BLOCK_MS = 200

const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11'

const closers = createClosers()
const log = pino({ level: 'silent' })
const { chain: sandbox } = closers.add('node', await openChain(8453, 'reference'), (it) => it.close())
const proxy = closers.add('proxy', await startFaultProxy({ target: sandbox.rpcUrl, seed: 1 }), (it) => it.close())
const traffic = await createTraffic({ chain: sandbox, seed: 1 })
const [token] = sandbox.tokens
if (token === undefined) throw new Error('the chain has no payment token')
const deployment = {
  chainId: sandbox.chainId,
  ...factsOf(sandbox.chainId),
  diamond: sandbox.diamond,
  usdc: token.address,
  usdt: null,
  publicRpcUrl: sandbox.rpcUrl,
  startBlock: 0n,
  profile: 'reference',
} as const

type Figures = { readonly views: number; readonly calls: number; readonly requests: number; readonly p99: number }

/** One round of all readers over a gateway with empty caches. */
const run = async (idOf: (reader: number) => bigint): Promise<Figures> => {
  const chain = createChain({ deployment, rpcUrls: [proxy.url], timeoutMs: 10_000, headMaxAgeMs: BLOCK_MS, log })
  try {
    // The way to batch views at the node is detected once.
    await chain.pinned((block) => chain.readAt(block, [call('isPaused'), call('getOracles')]))
    proxy.counts()
    const took: number[] = []
    const read = async (reader: number): Promise<void> => {
      await sleep((reader * EVERY_MS) / READERS)
      for (let nth = 0; nth < READS; nth += 1) {
        const started = performance.now()
        const id = idOf(reader)
        await chain.pinned((block) =>
          chain.readAt(block, [call('getHedgeEventCore', [id]), call('getHedgeEventStats', [id])]),
        )
        took.push(performance.now() - started)
        await sleep(Math.max(0, EVERY_MS - (performance.now() - started)))
      }
    }
    await Promise.all(Array.from({ length: READERS }, (_, reader) => read(reader)))
    const { requests, methods } = proxy.counts()
    return { views: 2 * took.length, calls: methods.get('eth_call') ?? 0, requests, p99: quantile(took, 0.99) }
  } finally {
    await chain.close()
  }
}

const scenarios: Readonly<Record<string, (reader: number) => bigint>> = {
  'each its own': (reader) => BigInt(reader + 1),
  'all one event': () => 1n,
}

const median = (all: readonly Figures[], of: (figures: Figures) => number): number => quantile(all.map(of), 0.5)

const measure = async (form: string): Promise<void> => {
  const rounds = new Map<string, Figures[]>(Object.keys(scenarios).map((name) => [name, []]))
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [name, idOf] of Object.entries(scenarios)) rounds.get(name)?.push(await run(idOf))
  for (const [name, all] of rounds) {
    const perCall = median(all, ({ views, calls }) => views / calls)
    const perRequest = median(all, ({ views, requests }) => views / requests)
    const p99 = median(all, (figures) => figures.p99)
    console.log(
      `  ${form}, ${name}: ${perCall.toFixed(0)} views an eth_call (ratio ${(1 / perCall).toFixed(4)}), ${perRequest.toFixed(0)} an HTTP request, p99 ${p99.toFixed(0)} ms`,
    )
  }
}

/** Sets the code of the batched calls at the address that Multicall3 has on public chains. */
const placeMulticall = async (): Promise<void> => {
  const node = createTestClient({ mode: 'anvil', transport: http(sandbox.rpcUrl) })
    .extend(publicActions)
    .extend(walletActions)
  const { address } = createAccounts().owner.account
  const hash: Hex = await node.sendTransaction({ account: address, data: aggregateBytecode, chain: null })
  await node.mine({ blocks: 1 })
  const { contractAddress } = await node.waitForTransactionReceipt({ hash, pollingInterval: 20 })
  const bytecode = contractAddress ? await node.getCode({ address: contractAddress }) : undefined
  if (bytecode === undefined) throw new Error('the code was not created')
  await node.setCode({ address: MULTICALL3, bytecode })
  await node.mine({ blocks: 1 })
}

const withBlocks = async (work: () => Promise<void>): Promise<void> => {
  const stop = new AbortController()
  const running = traffic.run({ everyMs: BLOCK_MS, perSecond: 0, signal: stop.signal })
  try {
    await work()
  } finally {
    stop.abort()
    await running
  }
}

try {
  for (let made = 0; made < 10; made += 1) await traffic.mine(5)
  console.log(
    `node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}, ${READERS} readers, medians of ${ROUNDS} rounds`,
  )
  await withBlocks(() => measure('without Multicall3'))
  await placeMulticall()
  await withBlocks(() => measure('through Multicall3'))
} finally {
  await closers.close()
}
