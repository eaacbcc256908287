import { z } from 'zod'
import type { Deployment } from '../../src/protocol/chains.ts'
import { chainOf } from '../../src/reads/read.ts'
import { openChains, openStore } from '../faults/rig.ts'
import { openApp } from '../support/app.ts'
import { cloneDatabase } from '../support/clone-database.ts'
import { indexAll } from '../support/index-all.ts'
import { factsOf } from '../support/known-chains.ts'
import { median } from './compare.ts'

/*
 * Measures what `at` costs: each read as of a block and without it, in turn, on a local chain whose events have about 25
 * logs each. The past is made from the logs of the ledger; single records without `at` are read from the node.
 *
 *   npm run bench:at
 *   TRANSACTIONS=2000 ROUNDS=50 npm run bench:at
 */

const TRANSACTIONS = Number(process.env.TRANSACTIONS ?? 1_000)
const ROUNDS = Number(process.env.ROUNDS ?? 200)
const WARM_UP = 10
const A_BLOCK = 20

const store = await openStore()
const chains = await openChains(1)
const database = await cloneDatabase(store.server, store.template)
const { chain, traffic } = chains
const [token] = chain.tokens
if (token === undefined) throw new Error('the chain has no payment token')
const deployment: Deployment = {
  ...factsOf(8453),
  chainId: 8453,
  diamond: chain.diamond,
  usdc: token.address,
  usdt: null,
  publicRpcUrl: chain.rpcUrl,
  startBlock: 0n,
  profile: 'reference',
}
const ours = await openApp({ databaseUrl: database.url, nodes: [{ url: chain.rpcUrl, deployment }] })

try {
  for (let sent = 0; sent < TRANSACTIONS; sent += A_BLOCK) await traffic.mine(A_BLOCK)
  const at = await traffic.mine()
  for (let blocks = 0; blocks < 10; blocks += 1) await traffic.mine(1)
  await indexAll({ chain: chainOf(ours.sources.chains, 8453), database: ours.database })
  const url = await ours.app.listen({ port: 0, host: '127.0.0.1' })
  const ask = async (path: string): Promise<number> => {
    const start = performance.now()
    const answer = await fetch(`${url}/v1${path}`)
    const body = await answer.text()
    const took = performance.now() - start
    if (answer.status !== 200) throw new Error(`${path}: status ${answer.status}: ${body.slice(0, 300)}`)
    if (answer.headers.has('etag')) throw new Error(`${path} has a tag, so it may come from the cache`)
    return took
  }
  const total = z.object({ data: z.number() }).parse(await (await fetch(`${url}/v1/hedge/events/8453/total`)).json())
  const middle = Math.ceil(total.data / 2)
  const [wallet] = traffic.wallets
  const paths = {
    'an event': `/hedge/events/8453/${middle}`,
    'a deposit': `/hedge/deposits/8453/${middle * 10}`,
    'a position': `/hedge/positions/8453/${middle * 10}`,
    'the position ids of an event': `/hedge/events/8453/${middle}/positions`,
    'the deposit ids of a wallet': `/hedge/deposits/8453/wallet/${wallet}`,
    'the positions of an event': `/hedge/positions?chainId=8453&eventId=${middle}&include=payout`,
    'a portfolio': `/wallets/${wallet}/portfolio?chainId=8453&state=all`,
  }
  console.log(`${TRANSACTIONS} transactions, ${total.data} events, ${ROUNDS} rounds`)
  const reads = Object.entries(paths).map(([name, path]) => ({
    ...{ name, now: path, past: `${path}${path.includes('?') ? '&' : '?'}at=${at}` },
    times: { now: [] as number[], past: [] as number[] },
  }))
  for (let round = 0; round < ROUNDS + WARM_UP; round += 1)
    for (const { times, ...read } of reads)
      for (const when of ['now', 'past'] as const) {
        const took = await ask(read[when])
        if (round >= WARM_UP) times[when].push(took)
      }
  for (const { name, times } of reads) {
    const [now, past] = [median(times.now), median(times.past)]
    console.log(
      `  ${name.padEnd(30)} p50 ${past.toFixed(2)} ms with at, ${now.toFixed(2)} ms without, ratio ${(past / now).toFixed(2)}`,
    )
  }
} finally {
  await ours.close()
  await database.close()
  await chains.close()
  await store.close()
}
