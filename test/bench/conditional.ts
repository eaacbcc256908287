import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify from 'fastify'
import { pino } from 'pino'
import { openApp } from '../support/app.ts'
import { compare, type Figure } from './compare.ts'
import { startIndexed } from './indexed.ts'

/*
 * Answers that need neither database nor node, against a bare Fastify that gives the same answer and does nothing else: a 304, and a
 * wallet's page as a ready string. One process serves all in turn; the load comes from another process.
 *
 *   npm run bench:conditional
 */

const ROUNDS = 3
const SECONDS = Number(process.env.SECONDS ?? 5)
const BAR = 0.8

const owner = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const indexed = await startIndexed(owner, 50)
// Logging as in production, to where it costs nobody a terminal.
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

const bare = Fastify()
bare.get('/page', (request, reply) => {
  reply.header('etag', tag)
  if (request.headers['if-none-match'] === tag) return reply.code(304).send()
  return reply.type('application/json; charset=utf-8').send(body)
})
const limit = `${await bare.listen(loopback)}/page`

const show = (what: string, one: Figure | undefined, other: Figure | undefined): void => {
  if (one === undefined || other === undefined) throw new RangeError('every contestant has a figure')
  for (const [unit, key] of [
    ['a second', 'perSecond'],
    ['a CPU second', 'perCpuSecond'],
  ] as const) {
    const ratio = one[key] / other[key]
    const figures = `${one[key].toFixed(0)}, bare ${other[key].toFixed(0)} requests ${unit}`
    console.log(
      `  ${what.padEnd(22)} ${figures}, ratio ${ratio.toFixed(2)} (bar ${BAR} ${ratio >= BAR ? 'met' : 'missed'})`,
    )
  }
}

try {
  console.log(
    `node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}, medians of ${ROUNDS} rounds of ${SECONDS} s`,
  )
  const contestants = [{ url: page, tag }, { url: limit, tag }, { url: page }, { url: limit }]
  const [unchanged, bareUnchanged, kept, ready] = await compare(contestants, { rounds: ROUNDS, seconds: SECONDS })
  show('304', unchanged, bareUnchanged)
  show('page of 50, kept', kept, ready)
} finally {
  await Promise.all([ours.close(), bare.close()])
  await indexed.close()
}
