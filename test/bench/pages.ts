import { deepStrictEqual } from 'node:assert'
import { cpus } from 'node:os'
import { pino } from 'pino'
import { z } from 'zod'
import { openApp } from '../support/app.ts'
import { chainIds } from '../support/known-chains.ts'
import { seedDeployment, walletOf } from '../support/seed-index.ts'
import { openBare } from './bare.ts'
import { compare, type Figure } from './compare.ts'
import { chainId, fill, ROWS, startMillion } from './million.ts'
import { pathsOf } from './paths.ts'
import { timePortfolios } from './portfolios.ts'

/*
 * Compares a page of a list on a million positions with a bare Fastify route over the same statement, portfolios with
 * one bare statement of their rows, and pages with each other. One process serves all in turn; another sends the load.
 * The index does not move, so no answer comes from the response cache.
 *
 *   npm run bench:pages
 *   ROWS=100000 SECONDS=2 ROUNDS=3 npm run bench:pages
 */

const SECONDS = Number(process.env.SECONDS ?? 5)
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const PAGE = Math.min(10_000, Math.floor(ROWS / 100))
/** Positions of the other chain, which only merged pages show. */
const OTHER = Math.min(ROWS, 100_000)

const Page = z.object({ data: z.array(z.record(z.string(), z.unknown())), meta: z.object({ nextCursor: z.string() }) })

const [other] = chainIds.filter((id) => id !== chainId)
if (other === undefined) throw new RangeError('there is one chain')
const wallet = walletOf(77)
const postgres = await startMillion()
await fill(postgres.url, other, OTHER)
const ours = await openApp({
  databaseUrl: postgres.url,
  nodes: chainIds.map((id) => ({ deployment: seedDeployment(id) })),
  // Logs as in production, but to /dev/null, so that no terminal slows it down.
  log: pino({ level: 'info' }, pino.destination('/dev/null')),
})
const url = await ours.app.listen({ port: 0, host: '127.0.0.1' })
const bare = await openBare(postgres.url, wallet)
const list = `${url}/v1/hedge/positions?chainId=${chainId}`
const page = `${list}&wallet=${wallet}`

const barePage = `${bare.url}/page?chainId=${chainId}&wallet=${wallet}`
/** The smallest share of the bare route's requests that the service must answer in the same time. */
const LEAST = 0.75

/** What the page shows in addition. It is measured in the same rounds as the page without it. */
const inclusions = ['event', 'stats']

/** Throws unless both contestants return the same rows, and the service does not return them from a cache. */
const checkBodies = async (): Promise<void> => {
  const answer = await fetch(page)
  if (answer.headers.has('etag')) throw new Error('the page has a tag, so it may come from the cache')
  const { data } = Page.parse(await answer.json())
  if (data.length !== 50) throw new Error(`the page has ${data.length} rows`)
  deepStrictEqual(Page.parse(await (await fetch(barePage)).json()).data, data)
}

const ratio = (one: number, other: number): string => (one / other).toFixed(2)

/** The width of a line's first part. */
const WIDTH = 40

const showTarget = (what: string, one: Figure, other: Figure): void => {
  for (const unit of ['perSecond', 'perCpuSecond'] as const) {
    const share = one[unit] / other[unit]
    const figures = `${one[unit].toFixed(0)} to ${other[unit].toFixed(0)} requests ${unit === 'perSecond' ? 'a second' : 'a CPU second'}`
    console.log(
      `  ${what.padEnd(WIDTH)} ${figures}, ratio ${share.toFixed(2)} (target: at least ${LEAST}, ${share >= LEAST ? 'met' : 'MISSED'})`,
    )
  }
}

/** A figure of another page, against that of the plain page. */
const againstPage = (figure: Figure, plain: Figure): string => {
  const [all, cpu] = [ratio(figure.perSecond, plain.perSecond), ratio(figure.perCpuSecond, plain.perCpuSecond)]
  return `${figure.perSecond.toFixed(0).padStart(5)} requests a second, ratio ${all}, per CPU second ${cpu}`
}

/** The cursor after a number of pages. */
const cursorAfter = async (pages: number): Promise<string> => {
  let cursor = ''
  for (let passed = 0; passed < pages * 50; passed += 200) {
    const answer: unknown = await (await fetch(`${list}&limit=200${cursor && `&cursor=${cursor}`}`)).json()
    cursor = Page.parse(answer).meta.nextCursor
  }
  return cursor
}

try {
  console.log(
    `node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}, medians of ${ROUNDS} rounds of ${SECONDS} s`,
  )
  await checkBodies()
  const included = inclusions.map((name) => ({ url: `${page}&include=${name}` }))
  const [plain, limit, ...others] = await compare([{ url: page }, { url: barePage }, ...included], {
    ...{ rounds: ROUNDS, seconds: SECONDS },
  })
  if (plain === undefined || limit === undefined) throw new RangeError('every contestant has a figure')
  console.log('wallet page of 50 positions')
  showTarget('against the bare route', plain, limit)
  for (const [at, name] of inclusions.entries()) {
    const figure = others[at]
    if (figure !== undefined) console.log(`  ${`include=${name}`.padEnd(WIDTH)} ${againstPage(figure, plain)}`)
  }

  const cursor = await cursorAfter(PAGE - 1)
  const paths = Object.entries({ 'wallet page': page.slice(url.length), ...pathsOf(cursor) })
  const figures = await compare(
    paths.map(([, path]) => ({ url: `${url}${path}` })),
    { rounds: Math.min(3, ROUNDS), seconds: Math.min(2, SECONDS) },
  )
  const [first] = figures
  console.log(`other paths, against the wallet page (late: page ${PAGE})`)
  for (const [at, [name]] of paths.entries()) {
    const figure = figures[at]
    if (first && figure) console.log(`  ${name.padEnd(WIDTH)} ${againstPage(figure, first)}`)
  }

  const timed = await timePortfolios(url, bare.pool, 40)
  const p50 = (ms: readonly number[]): number => ms[ms.length >> 1] ?? Number.NaN
  console.log('portfolios of 100 wallets, and one bare statement (target: at most 2.5 times as long)')
  for (const { name, ms } of timed) {
    const times = ratio(p50(timed[0]?.ms ?? []), p50(ms))
    console.log(
      `  ${name.padEnd(WIDTH)} p50 ${p50(ms).toFixed(1)} ms, p95 ${ms[Math.floor(ms.length * 0.95)]?.toFixed(1)} ms, ratio ${times}`,
    )
  }
} finally {
  await bare.close()
  await ours.close()
  await postgres.close()
}
