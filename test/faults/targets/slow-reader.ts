import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { z } from 'zod'
import { announce } from '../../../src/db/changes/changes.ts'
import { settlementsScope, touching } from '../../../src/db/changes/scopes.ts'
import { insertSettlements } from '../../../src/db/index/settlements.ts'
import { createDatabase } from '../../../src/db/pool.ts'
import { openIndex } from '../rig.ts'
import { startApi } from '../service.ts'
import type { Failure, Target } from '../target.ts'

const CHAIN = 8453
const ITEMS = 40_000
const AT_ONCE = 500
const EVERY_MS = 60

/** Readers that read everything at once, that read slowly, and that read nothing. */
const READERS = { quick: 5, slow: 5, stalled: 20 } as const

/**
 * How often a slow reader reads its buffer of 64 KB. That is so slow that the system's socket buffers, some megabytes,
 * overflow.
 */
const SIP_EVERY_MS = 1_000

/** Additional memory that the slow readers may cost, in MB. */
const MOST_MB = 32

type Pace = keyof typeof READERS

const Item = z.object({ eventId: z.number() })

/** Opens the stream and reads it at a pace, after `lastEventId` if that is given. */
const listen = async (url: string, pace: Pace, lastEventId?: string) => {
  const headers = { accept: 'text/event-stream', ...(lastEventId !== undefined && { 'last-event-id': lastEventId }) }
  const request = get(url, { headers, agent: false })
  request.on('error', () => {})
  const [response]: [IncomingMessage] = (await once(request, 'response')) as never
  const events: number[] = []
  let [rest, last, notice, isOver] = ['', '', '', false]
  response.setEncoding('utf8')
  const take = (text: string): void => {
    const blocks = (rest + text).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const [, name] = /^event: (\w+)$/m.exec(block) ?? []
      const [, data] = /^data: (.*)$/m.exec(block) ?? []
      const [, id] = /^id: (\d+)$/m.exec(block) ?? []
      if (id === undefined) notice = name ?? notice
      else if (data !== undefined) events.push(Item.parse(JSON.parse(data)).eventId)
      last = id ?? last
    }
  }
  response.on('error', () => {})
  response.on('close', () => {
    isOver = true
  })
  if (pace === 'quick') response.on('data', take)
  const drink = async (): Promise<void> => {
    for (; !isOver; await sleep(SIP_EVERY_MS)) {
      const chunk: unknown = response.read()
      if (typeof chunk === 'string') take(chunk)
    }
  }
  if (pace === 'slow') void drink()
  return {
    events,
    last: () => last,
    notice: () => notice,
    isOver: () => isOver,
    /** Reads everything that remains. */
    resume: () => void response.on('data', take),
    close: () => request.destroy(),
  }
}

/** Settlements arrive faster than some clients of the stream read them. */
export const slowReader: Target = {
  claim: `twice ${ITEMS} settlements to ${READERS.quick} quick readers, then as many as once with ${READERS.slow} slow and ${READERS.stalled} stalled ones in addition`,
  figure: `a client that does not keep up is dropped with notice, loses nothing when coming again, and costs at most ${MOST_MB} MB`,
  async run({ store, chains, seeds: [seed = 1] }) {
    const index = await openIndex({ store, chains, seed })
    const log = pino({ level: 'silent' })
    const database = createDatabase({ url: index.database.url, log, maxConnections: 2, statementTimeoutMs: 10_000 })
    const failures: Failure[] = []
    const fail = (what: string): void => void failures.push({ seed, what })
    try {
      const api = await startApi(index, {}, { readyPath: '/livez' })
      const feed = `http://127.0.0.1:${api.port}/v1/hedge/settlements?chainId=${CHAIN}`
      const memory = async (): Promise<number> => {
        const status = await readFile(`/proc/${api.process.pid}/status`, 'utf8')
        return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1_024
      }

      let settled = 0
      /** Settles events; returns the service's peak memory meanwhile, in MB. */
      const settle = async (): Promise<number> => {
        let most = 0
        for (let given = 0; given < ITEMS; given += AT_ONCE) {
          await database.transaction(async (handle) => {
            const last = await announce(handle, CHAIN, touching(settlementsScope), AT_ONCE)
            const drafts = Array.from({ length: AT_ONCE }, (_, at) => ({
              ...{ type: 'settled' as const, eventId: BigInt(settled + at + 1), settledAt: 1n, triggered: true },
              ...{ settlementPrice: 12_500_000n, blockNumber: 1n, blockHash: `0x${'22'.repeat(32)}` as const },
            }))
            await insertSettlements(handle, CHAIN, drafts, last)
          })
          settled += AT_ONCE
          await sleep(EVERY_MS)
          most = Math.max(most, await memory())
        }
        return most
      }
      const open = (pace: Pace) =>
        Promise.all(Array.from({ length: READERS[pace] }, () => listen(`${feed}&since=now`, pace)))
      const isWhole = (events: readonly number[], from: number): boolean =>
        events.length === settled - from && events.every((id, at) => id === from + at + 1)

      const quick = await open('quick')
      // A heap grows with the first work before it becomes stable.
      await settle()
      const alone = await settle()
      const begun = settled
      const [slow, stalled] = [await open('slow'), await open('stalled')]
      const together = await settle()
      await sleep(2_000)
      const late = [...slow, ...stalled]
      for (const reader of late) reader.resume()
      for (let waited = 0; waited < 300 && late.some(({ isOver }) => !isOver()); waited += 1) await sleep(100)
      const left = late.filter(({ isOver }) => !isOver()).length
      if (left > 0) fail(`${left} readers that did not keep up were not dropped`)
      const noticed = (readers: typeof late): number => readers.filter(({ notice }) => notice() === 'dropped').length

      let whole = 0
      for (const reader of [...quick, ...late]) {
        reader.close()
        const first = quick.includes(reader) ? 0 : begun
        const again = await listen(feed, 'quick', reader.last())
        for (let waited = 0; waited < 200 && reader.events.length + again.events.length < settled - first; waited += 1)
          await sleep(50)
        again.close()
        if (isWhole([...reader.events, ...again.events], first)) whole += 1
      }
      const all = quick.length + late.length
      if (whole < all) fail(`${all - whole} readers lost something, or had it twice`)
      const kept = quick.length - noticed(quick)
      const more = together - alone
      return {
        measured: `${kept} of ${quick.length} quick readers never dropped; of ${slow.length} slow ones ${noticed(slow)} received the notice that they are dropped, of ${stalled.length} stalled ones ${noticed(stalled)}; ${whole} of ${all} have each of ${settled} items once after coming again; at most ${alone.toFixed(0)} MB without them, ${together.toFixed(0)} MB with them`,
        met: failures.length === 0 && more <= MOST_MB && kept === quick.length && noticed(stalled) === stalled.length,
        failures,
      }
    } finally {
      await database.close()
      await index.close()
    }
  },
}
