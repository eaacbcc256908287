import { cpus } from 'node:os'
import Fastify from 'fastify'
import { pino } from 'pino'
import { z } from 'zod'
import { envelope } from '../../src/api/operation.ts'
import { BuiltTx } from '../../src/tx/build.ts'
import { builders } from '../../src/tx/builders.ts'
import { compile } from '../../src/tx/compile.ts'
import { openApp } from '../support/app.ts'
import { compare } from './compare.ts'

/*
 * Compares the requests per second of a builder without `from` with a bare Fastify route that only validates the same
 * body and serialises the same answer. One process serves both in turn; another process sends the load.
 */

const ROUNDS = 3
const SECONDS = 5

/** The smallest ratio of each builder to the bare route. */
const TARGET = 0.42

const bodies: Readonly<Record<string, object>> = {
  '/tx/hedge/deposit': { chainId: 8453, eventId: '9', amount: '1000000000' },
  '/tx/hedge/create-event': {
    chainId: 8453,
    name: 'Cedi importers Q3',
    underlying: 'USD/GHS',
    strike: '12000000',
    payoutCap: '13500000',
    premiumRate: '23000',
    expiry: '1900000000',
    allowExternalLp: true,
    initialLiquidity: '1000000000',
    initialRate: '11400000',
    strikeAbove: true,
    paymentToken: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    signature: '0x',
    quoteTimestamp: '0',
    quoteNonce: `0x${'0'.repeat(64)}`,
  },
}

/** The framework with its own validator and serializer, which take JSON Schema. */
const bare = Fastify({ ajv: { customOptions: { keywords: ['example'], strictTypes: false, coerceTypes: false } } })
// Logs as in production, but to /dev/null, so that no terminal slows it down.
const ours = await openApp({ log: pino({ level: 'info' }, pino.destination('/dev/null')) })

for (const builder of builders.map(compile)) {
  const sample = bodies[builder.path]
  if (sample === undefined) continue
  const answer: unknown = (await ours.app.inject({ method: 'POST', url: `/v1${builder.path}`, payload: sample })).json()
  const schema = {
    body: z.toJSONSchema(builder.body, { io: 'input', target: 'draft-7' }),
    response: { 200: z.toJSONSchema(envelope(BuiltTx), { target: 'draft-7' }) },
  }
  bare.post(`/v1${builder.path}`, { schema }, async () => answer)
}

const loopback = { port: 0, host: '127.0.0.1' }
const [ourUrl, bareUrl] = [await ours.app.listen(loopback), await bare.listen(loopback)]

const show = (what: string, builder: number, limit: number, target: number): void => {
  const ratio = builder / limit
  const verdict = `target ${target} ${ratio >= target ? 'met' : 'missed'}`
  console.log(
    `  ${what.padEnd(24)} ${builder.toFixed(0)}, bare ${limit.toFixed(0)}, ratio ${ratio.toFixed(2)} (${verdict})`,
  )
}

try {
  console.log(
    `node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}, medians of ${ROUNDS} rounds of ${SECONDS} s`,
  )
  for (const [path, body] of Object.entries(bodies)) {
    const contestants = [
      { url: `${ourUrl}/v1${path}`, body },
      { url: `${bareUrl}/v1${path}`, body },
    ]
    const [builder, limit] = await compare(contestants, { rounds: ROUNDS, seconds: SECONDS })
    if (builder === undefined || limit === undefined) throw new RangeError('every contestant has a figure')
    console.log(`POST /v1${path}`)
    show('requests a second', builder.perSecond, limit.perSecond, TARGET)
    show('requests a CPU second', builder.perCpuSecond, limit.perCpuSecond, TARGET)
  }
} finally {
  await Promise.all([ours.close(), bare.close()])
}
