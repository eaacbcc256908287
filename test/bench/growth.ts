import { createListings } from '../../src/db/queries/listings.ts'
import { openApp } from '../support/app.ts'
import { openDatabase } from '../support/open-database.ts'
import { seedDeployment, walletOf } from '../support/seed-index.ts'
import { chainId, planOf, startFilled } from './million.ts'

/*
 * Measures how long a wallet's page of 50 positions takes as the index grows, and the bytes that its rows take.
 * Databases of several sizes on one server are read in turn, one request at a time, for random wallets.
 *
 *   npm run bench:growth                       10,000, 100,000 and 1,000,000 positions
 *   LONG=1 npm run bench:growth                and 10,000,000: up to 12 GB of disk
 *   SIZES=5000,10000 npm run bench:growth      these sizes
 */

const usual = [10_000, 100_000, 1_000_000, ...(process.env.LONG ? [10_000_000] : [])]
const sizes = process.env.SIZES?.split(',').map(Number) ?? usual
const ROUNDS = Number(process.env.ROUNDS ?? 20)
const REQUESTS = 100
const WARM_UP = 10
/** The largest allowed ratios of medians to those of the smallest database: of random wallets, and of one wallet. */
const MOST = { any: 2, one: 1.5 }

/** Throws unless a page has 50 rows, all of them from the index. */
const checkPage = async (url: string): Promise<void> => {
  const database = openDatabase(url)
  const query = { chainId, after: null, upTo: null, now: null, rollback: null }
  const { rows } = await createListings(database).page({
    ...{ kind: 'position', sort: 'created', order: 'desc', include: [], limit: 50, count: false },
    ...{ queries: [query], filters: { owners: [walletOf(77)] }, deployments: [] },
  })
  await database.close()
  const whole = rows.filter(({ views, token }) => views !== null && token !== null)
  if (whole.length !== 50) throw new Error(`the index has ${whole.length} of the 50 rows of a page`)
}

const filled = await startFilled(sizes)
const contestants = await Promise.all(
  filled.urls.map(async (databaseUrl, at) => {
    await checkPage(databaseUrl)
    const ours = await openApp({ databaseUrl, nodes: [{ deployment: seedDeployment(chainId) }] })
    const url = await ours.app.listen({ port: 0, host: '127.0.0.1' })
    return { rows: sizes[at] ?? 0, ours, url, any: [] as number[], one: [] as number[] }
  }),
)

const ask = async (url: string, wallet: string): Promise<number> => {
  const start = performance.now()
  const answer = await fetch(`${url}/v1/hedge/positions?chainId=${chainId}&wallet=${wallet}`)
  await answer.arrayBuffer()
  if (answer.status !== 200) throw new Error(`status ${answer.status}`)
  return performance.now() - start
}

const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN

try {
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { rows, url, any, one } of contestants) {
      for (let at = 0; at < REQUESTS + WARM_UP; at += 1) {
        const took = await ask(url, walletOf(Math.floor(Math.random() * planOf(rows).wallets)))
        if (at >= WARM_UP) any.push(took)
      }
      for (let at = 0; at < REQUESTS; at += 1) one.push(await ask(url, walletOf(77)))
    }
  }
  console.log(`a wallet's page of 50 positions, ${ROUNDS} rounds of ${REQUESTS} requests; ratios of medians`)
  for (const { rows, any, one } of contestants) {
    const shown = Object.entries({ any, one }).map(([name, times]) => {
      const most = MOST[name as keyof typeof MOST]
      const ratio = quantile(times, 0.5) / quantile(contestants[0]?.[name as keyof typeof MOST] ?? [], 0.5)
      const [p50, p99] = [0.5, 0.99].map((share) => quantile(times, share).toFixed(2))
      return `${name} wallet p50 ${p50} ms, p99 ${p99} ms, ratio ${ratio.toFixed(2)} (target: at most ${most}, ${ratio <= most ? 'met' : 'MISSED'})`
    })
    console.log(`  ${String(rows).padStart(8)} positions: ${shown.join('; ')}`)
  }
} finally {
  for (const { ours } of contestants) await ours.close()
  await filled.close()
}
