import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { collectDefaultMetrics, Gauge } from 'prom-client'
import { z } from 'zod'
import { errorText } from './errors.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'
import { packaged } from './root.ts'

const Package = z.object({ version: z.string() })

/** What every process has. */
const addOwn = (metrics: Metrics): void => {
  collectDefaultMetrics({ register: metrics })
  const { version } = Package.parse(JSON.parse(readFileSync(packaged('package.json'), 'utf8')))
  new Gauge({
    name: 'fx_build_info',
    help: 'Always 1; says which version runs',
    labelNames: ['version'],
    registers: [metrics],
  }).set({ version }, 1)
}

/** Longest a scraper may take to ask, in milliseconds. */
const ASKED_WITHIN_MS = 5_000

type MetricsServer = {
  /** Null when nothing is served. */
  readonly port: number | null
  close(): Promise<void>
}

/**
 * Serves `GET /metrics` for Prometheus, those of the process and of Node.js too, away from the port of the clients; `off` serves nothing. A
 * port that is taken is warned of, and the process goes on without: to be watched is not what it is for.
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
    if (request.method !== 'GET' || request.url !== '/metrics') return void response.writeHead(404).end()
    metrics.metrics().then(
      (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
      (fault: unknown) => {
        log.error({ err: fault }, 'metrics not collected')
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
