import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { startFaultProxy } from '../proxy.ts'
import { openIndex } from '../rig.ts'
import { startApi } from '../service.ts'
import { type Failure, quantile, type Target } from '../target.ts'

const POLLERS = 10_000

/** The polling interval of each client, in milliseconds: a thousand requests a second in total. */
const EVERY_MS = 10_000
const MEASURED_MS = 30_000

/** An answer later than this counts as missing. */
const PATIENCE_MS = 10_000

/** Connections that are opened at once: the backlog of a server is limited. */
const AT_ONCE = 100

type Polled = { readonly status: number; readonly etag: string | undefined }

/** A client with its own keep-alive connection. */
const openPoller = (url: string) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const poll = (etag: string | undefined): Promise<Polled> =>
    new Promise((resolve) => {
      const headers = etag === undefined ? {} : { 'if-none-match': etag }
      const lost = () => resolve({ status: 0, etag: undefined })
      const request = get(url, { agent, headers, timeout: PATIENCE_MS }, (response) => {
        response.resume().once('end', () => resolve({ status: response.statusCode ?? 0, etag: response.headers.etag }))
      })
      request.once('timeout', () => request.destroy())
      request.once('error', lost).once('close', lost)
    })
  return { poll, close: () => agent.destroy() }
}

/** Ten thousand clients, each on its own connection, poll one event while blocks are mined and the event is traded. */
export const pollers: Target = {
  claim: `${POLLERS} pollers of one event over ${POLLERS} connections, a block every 0.2 s`,
  figure: 'at most one upstream read a tick, no error',
  async run({ store, chains, seeds: [seed = 1] }) {
    const { traffic } = chains
    traffic.reseed(seed)
    const index = await openIndex({ store, chains, seed })
    // Counts the requests of the API without those of the worker.
    const proxy = await startFaultProxy({ target: chains.chain.rpcUrl, seed })
    const clients: ReturnType<typeof openPoller>[] = []
    const stop = new AbortController()
    try {
      await index.start('worker')
      const event = await traffic.createEvent()
      await index.untilExact(await traffic.mine(1), 60_000)
      const api = await startApi(index, { RPC_URLS_8453: proxy.url })
      const url = `http://127.0.0.1:${api.port}/v1/hedge/events/8453/${event}/stats`

      const seen: { readonly status: number; readonly at: number; readonly took: number }[] = []
      const live = async (client: ReturnType<typeof openPoller>, first: number): Promise<void> => {
        let etag: string | undefined
        for (let due = first; !stop.signal.aborted; due += EVERY_MS) {
          await sleep(Math.max(0, due - performance.now()))
          const at = performance.now()
          const answer = await client.poll(etag)
          etag = answer.etag
          seen.push({ status: answer.status, at, took: performance.now() - at })
        }
      }
      for (let opened = 0; opened < POLLERS; opened += AT_ONCE) {
        const some = Array.from({ length: AT_ONCE }, () => openPoller(url))
        clients.push(...some)
        await Promise.all(some.map(({ poll }) => poll(undefined)))
      }
      const trading = traffic.run({ everyMs: 200, perSecond: 10, signal: stop.signal })
      const began = performance.now()
      const polling = clients.map((client, at) => live(client, began + (at * EVERY_MS) / POLLERS))
      await sleep(2_000)
      proxy.counts()
      const since = performance.now()
      await sleep(MEASURED_MS)
      const { polls, reads } = proxy.counts()
      const until = performance.now()
      stop.abort()
      for (const client of clients) client.close()
      await trading
      // Clients that sleep until their next poll end with the process.
      void Promise.all(polling)

      const measured = seen.filter(({ at }) => at >= since && at < until - 1_000)
      const count = (status: number): number => measured.filter((it) => it.status === status).length
      const errors = measured.length - count(200) - count(304)
      const failures: Failure[] = errors > 0 ? [{ seed, what: `${errors} answers that are neither 200 nor 304` }] : []
      const rate = (measured.length * 1_000) / (until - since - 1_000)
      const p99 = quantile(
        measured.map(({ took }) => took),
        0.99,
      )
      return {
        measured: `${(reads / polls).toFixed(2)} upstream reads a tick (${reads} in ${polls} ticks) for ${rate.toFixed(0)} requests a second; ${count(200)} times 200, ${count(304)} times 304, ${errors} others; p99 ${p99.toFixed(0)} ms`,
        // The head poll of the first read may be earlier than the measurement.
        met: errors === 0 && polls > 0 && reads <= polls + 1,
        failures,
      }
    } finally {
      stop.abort()
      for (const client of clients) client.close()
      await proxy.close()
      await index.close()
    }
  },
}
