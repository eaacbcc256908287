import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { pino } from 'pino'
import { openApp } from '../support/app.ts'
import { compare, type Figure } from './compare.ts'
import { startIndexed } from './indexed.ts'

/*
 * Compares answers that need neither database nor node with a bare Fastify that only sends the same answer: a 304, and
 * a wallet's page as a ready string. One process serves all in turn; another process sends the load.
 *
 *   npm run bench:conditional
 */

const ROUNDS = 3
const SECONDS = Number(process.env.SECONDS ?? 5)
const TARGET = 0.55

const owner = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const indexed = await startIndexed(owner, 50)
// Logs as in production, but to /dev/null, so that no terminal slows it down.
const log = pino({ level: 'info' }, pino.destination('/dev/null'))
const ours = await openApp({ databaseUrl: indexed.url, log })
const loopback = { port: 0, host: '127.0.0.1' }
const page = `${await ours.app.listen(loopback)}/v1/hedge/positions/8453/wallet/${owner}`

/** The page with its tag, once it has one. */
const tagged = async (): Promise<{ readonly tag: string; readonly body: string }> => {
  for (;;) {
    const answer = await fetch(page)
    const [tag, body] = [answer.headers.get('etag'), await answer.text()]
    if (tag !== null) return { tag, body }
    await sleep(100)
  }
}
const { tag, body } = await tagged()

/** The same answer from the framework alone. */
const serve = (app: FastifyInstance, headers: Readonly<Record<string, string>>): Promise<string> => {
  app.get('/page', (request, reply) => {
    reply.headers({ ...headers, etag: tag })
    if (request.headers['if-none-match'] === tag) return reply.code(304).send()
    return reply.type('application/json; charset=utf-8').send(body)
  })
  return app.listen(loopback)
}

/** The other headers of each answer of the service. */
const told = Object.fromEntries((await fetch(page)).headers)
const hop = ['connection', 'keep-alive', 'date', 'content-length', 'content-type', 'transfer-encoding']
const headers = Object.fromEntries(Object.entries(told).filter(([name]) => !hop.includes(name)))

const bare = Fastify()
const limit = `${await serve(bare, {})}/page`
// Sends the same headers and logs each request, so that these costs are not attributed to the cache.
const logger: FastifyBaseLogger = log
const dressed = Fastify({
  loggerInstance: logger,
  logController: new LogController({ disableRequestLogging: true }),
})
dressed.addHook('onResponse', (request, reply, done) => {
  request.log.info({ method: request.method, route: request.routeOptions.url, status: reply.statusCode }, 'answered')
  done()
})
const same = `${await serve(dressed, headers)}/page`

const show = (what: string, one: Figure | undefined, other: Figure | undefined, target?: number): void => {
  if (one === undefined || other === undefined) throw new RangeError('every contestant has a figure')
  for (const [unit, key] of [
    ['a second', 'perSecond'],
    ['a CPU second', 'perCpuSecond'],
  ] as const) {
    const ratio = one[key] / other[key]
    const figures = `${one[key].toFixed(0)}, bare ${other[key].toFixed(0)} requests ${unit}`
    const verdict = target === undefined ? 'information' : `target ${target} ${ratio >= target ? 'met' : 'missed'}`
    console.log(`  ${what.padEnd(40)} ${figures}, ratio ${ratio.toFixed(2)} (${verdict})`)
  }
}

try {
  console.log(
    `node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}, medians of ${ROUNDS} rounds of ${SECONDS} s`,
  )
  const urls = [page, limit, same]
  const contestants = [...urls.map((url) => ({ url, tag })), ...urls.map((url) => ({ url }))]
  const figures = await compare(contestants, { rounds: ROUNDS, seconds: SECONDS })
  for (const [at, what] of ['304', 'page of 50, cached'].entries()) {
    const [own, least, alike] = figures.slice(3 * at)
    show(what, own, least, TARGET)
    show(`${what}: same headers, logged`, own, alike)
  }
} finally {
  await Promise.all([ours.close(), bare.close(), dressed.close()])
  await indexed.close()
}
