import { cpus } from 'node:os'
import Fastify from 'fastify'
import { Pool } from 'pg'
import { pino } from 'pino'
import { zeroAddress } from 'viem'
import { z } from 'zod'
import { listingEnvelope } from '../../src/api/envelope.ts'
import type { Deployment } from '../../src/protocol/chains.ts'
import { listings } from '../../src/reads/listings.ts'
import { openApp } from '../support/app.ts'
import { walletOf } from '../support/seed-index.ts'
import { compare, type Figure } from './compare.ts'
import { chainId, from, ROWS, startMillion, token } from './million.ts'

/*
 * Pages of lists and portfolios on a million positions, against a bare Fastify route over one named statement that gives the same body. One
 * process serves both in turn; the load comes from another.
 *
 *   npm run bench:pages
 *   ROWS=100000 SECONDS=2 npm run bench:pages
 */

const SECONDS = Number(process.env.SECONDS ?? 5)
const ROUNDS = 3
const LIMIT = 50
const PAGE = Math.min(10_000, Math.floor(ROWS / LIMIT / 2))

const postgres = await startMillion()
const deployment: Deployment = {
  ...{ chainId, diamond: zeroAddress, usdc: token, usdt: null, publicRpcUrl: 'http://node.example', startBlock: 0n },
  profile: 'reference',
}
// Logging as in production, to where it costs nobody a terminal.
const ours = await openApp({
  ...{
    databaseUrl: postgres.url,
    nodes: [{ deployment }],
    log: pino({ level: 'info' }, pino.destination('/dev/null')),
  },
})

/** The limit: what a handler over one statement does that trusts its caller and knows no chain but this. */
const bare = async () => {
  const pool = new Pool({ connectionString: postgres.url, max: 4 })
  const app = Fastify()
  const data = listings.find(({ kind }) => kind === 'position')?.data ?? z.array(z.unknown())
  const schema = {
    response: { 200: z.toJSONSchema(listingEnvelope(data), { target: 'draft-7', metadata: z.registry() }) },
  }
  const text = `SELECT f.id, f.event_id AS "eventId", '0x' || encode(f.hedger, 'hex') AS hedger, f.notional, f.premium_paid AS "premiumPaid",
      f.platform_fee AS "platformFeePaid", s.payout_amount AS "payoutAmount", s.status, s.claimed, f.chain_id AS "chainId",
      f.block_number AS "createdBlock", '0x' || encode(f.tx_hash, 'hex') AS "createdTx", '0x' || encode(e.payment_token, 'hex') AS token,
      'USDC' AS symbol, 6 AS decimals
    FROM positions f JOIN position_observations s USING (chain_id, id)
      JOIN event_observations e ON e.chain_id = f.chain_id AND e.id = f.event_id
    WHERE f.chain_id = $1 AND f.hedger = $2 ORDER BY f.id DESC LIMIT $3`
  app.get<{ Querystring: { wallet: string } }>('/positions', { schema }, async ({ query }) => {
    const wallet = Buffer.from(query.wallet.slice(2), 'hex')
    const { rows } = await pool.query({ name: 'page', text, values: [chainId, wallet, LIMIT] })
    return { data: rows, meta: { limit: LIMIT, hasMore: true, nextCursor: null, asOf: [] } }
  })
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => Promise.all([app.close(), pool.end()]) }
}

const limit = await bare()

const show = (what: string, one: Figure, limit: Figure, bar: number, isMet: (ratio: number) => boolean): void => {
  for (const [unit, key] of [
    ['a second', 'perSecond'],
    ['a CPU second', 'perCpuSecond'],
  ] as const) {
    const ratio = one[key] / limit[key]
    const figures = `${one[key].toFixed(0)} against ${limit[key].toFixed(0)} requests ${unit}`
    console.log(
      `  ${what.padEnd(34)} ${figures}, ratio ${ratio.toFixed(2)} (bar ${bar} ${isMet(ratio) ? 'met' : 'missed'})`,
    )
  }
}

/** Milliseconds within which 95 of 100 answers came, one after the other. */
const p95 = async (times: number, ask: (at: number) => Promise<Response>): Promise<number> => {
  const taken: number[] = []
  for (let at = 0; at < times + 20; at += 1) {
    const start = performance.now()
    const answer = await ask(at)
    await answer.arrayBuffer()
    if (answer.status !== 200) throw new Error(`status ${answer.status}`)
    if (at >= 20) taken.push(performance.now() - start)
  }
  return taken.sort((a, b) => a - b)[Math.floor(taken.length * 0.95)] ?? Number.NaN
}

const Page = z.object({ data: z.array(z.unknown()), meta: z.object({ nextCursor: z.string() }) })

try {
  console.log(
    `node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}, medians of ${ROUNDS} rounds of ${SECONDS} s`,
  )
  const url = await ours.app.listen({ port: 0, host: '127.0.0.1' })

  const wallet = walletOf(77)
  const positions = `${url}/v1/hedge/positions?chainId=${chainId}`
  const [page, plain] = await compare(
    [{ url: `${positions}&wallet=${wallet}` }, { url: `${limit.url}/positions?wallet=${wallet}` }],
    {
      ...{ rounds: ROUNDS, seconds: SECONDS },
    },
  )
  if (page && plain) show('wallet page of 50 rows, bare', page, plain, 0.9, (ratio) => ratio >= 0.9)

  let cursor = ''
  for (let passed = 0; passed < (PAGE - 1) * LIMIT; passed += 200) {
    const answer: unknown = await (await fetch(`${positions}&limit=200${cursor && `&cursor=${cursor}`}`)).json()
    cursor = Page.parse(answer).meta.nextCursor
  }
  const [first, late] = await compare([{ url: positions }, { url: `${positions}&cursor=${cursor}` }], {
    rounds: ROUNDS,
    seconds: SECONDS,
  })
  if (first && late) show(`page 1 against page ${PAGE}`, first, late, 1.3, (ratio) => ratio <= 1.3)

  const one = await p95(500, (at) => fetch(`${url}/v1/wallets/${walletOf(at)}/portfolio?chainId=${chainId}&state=all`))
  console.log(`  portfolio of a wallet              p95 ${one.toFixed(1)} ms (bar 15 ${one <= 15 ? 'met' : 'missed'})`)
  const hundred = await p95(60, (at) =>
    fetch(`${url}/v1/wallets/portfolio`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ wallets: from(at * 100, 100).map(walletOf), chainIds: [chainId], state: 'all' }),
    }),
  )
  console.log(
    `  portfolios of 100 wallets          p95 ${hundred.toFixed(1)} ms (bar 120 ${hundred <= 120 ? 'met' : 'missed'})`,
  )
  console.log(`  memory                             ${Math.round(process.memoryUsage().rss / 1_048_576)} MB`)
} finally {
  await limit.close()
  await ours.close()
  await postgres.close()
}
