import { createServer } from 'node:http'
import { collectDefaultMetrics, Gauge } from 'prom-client'
import { errorText } from '../lib/errors.ts'
import type { Logger } from '../lib/observe/log.ts'
import type { Metrics } from '../lib/observe/metrics.ts'
import { commit, release } from '../lib/root.ts'

/** Adds the metrics that every process has: those of Node.js and the build. */
const addOwn = (metrics: Metrics): void => {
  collectDefaultMetrics({ register: metrics })
  new Gauge({
    name: 'fx_build_info',
    help: 'Always 1; the labels are the running version and the commit of its build, if it is known',
    labelNames: ['version', 'commit'],
    registers: [metrics],
  }).set({ version: release, commit: commit ?? '' }, 1)
}

/** The time-out for receiving a scraper's request, in milliseconds. */
const ASKED_WITHIN_MS = 5_000

type MetricsServer = {
  /** Null when nothing is served. */
  readonly port: number | null
  close(): Promise<void>
}

/**
 * Serves `GET /metrics` for Prometheus, including the metrics of Node.js, on a port of its own, and `GET /livez`, which
 * does not wait for the databases that metrics are read from; `off` serves nothing.
 * If the port is taken, it logs a warning and the process continues without metrics, because its main work needs none.
 */
export const serveMetrics = async (options: {
  readonly metrics: Metrics
  readonly host: string
  readonly port: number | 'off'
  readonly log: Logger
}): Promise<MetricsServer> => {
  const { metrics, host, port, log } = options
  if (port === 'off') return { port: null, close: async () => {} }
  addOwn(metrics)
  const server = createServer((request, response) => {
    const path = request.method === 'GET' ? request.url : undefined
    if (path === '/livez') return void response.writeHead(200).end()
    if (path !== '/metrics') return void response.writeHead(404).end()
    metrics.metrics().then(
      (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
      (fault: unknown) => {
        log.error({ err: fault }, 'collecting the metrics failed')
        response.writeHead(500).end()
      },
    )
  })
  server.headersTimeout = server.requestTimeout = ASKED_WITHIN_MS
  const isOpen = await new Promise<boolean>((resolve) => {
    server.once('error', (fault) => {
      log.warn({ port, fault: errorText(fault) }, 'no metrics are served')
      resolve(false)
    })
    server.listen(port, host, () => resolve(true))
  })
  const address = server.address()
  const served = address !== null && typeof address === 'object' ? address.port : null
  if (served !== null) log.info({ port: served }, 'metrics are served')
  return {
    port: served,
    async close() {
      if (!isOpen) return
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}
