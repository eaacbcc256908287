import { Histogram } from 'prom-client'
import type { Database } from '../db/pool.ts'
import { webhooksHealth } from '../db/webhooks/endpoints.ts'
import { type Metrics, show } from '../lib/observe/metrics.ts'
import { attempts } from './channel.ts'

/** Upper bounds of the buckets in seconds; an attempt takes 15 s at most. */
const DURATIONS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]

/** Measures the webhooks: attempts of this process, and what waits and fails. Returns a function that stops it. */
export const measureWebhooks = (metrics: Metrics, database: Pick<Database, 'run'>): (() => void) => {
  const durations = new Histogram({
    name: 'fx_webhook_attempt_duration_seconds',
    help: 'Duration of attempts to deliver a webhook from this process',
    labelNames: ['outcome'],
    buckets: DURATIONS,
    registers: [metrics],
  })
  show(metrics, () => database.run(webhooksHealth), [
    {
      name: 'fx_webhook_endpoints',
      help: 'Registered webhook endpoints',
      labels: [],
      of: (it) => [[{}, it.endpoints]],
    },
    {
      name: 'fx_webhooks_waiting',
      help: 'Webhooks that wait for delivery',
      labels: [],
      of: (it) => [[{}, it.waiting]],
    },
    {
      name: 'fx_webhook_failing_seconds',
      help: 'Seconds since the first failure after the last success of an endpoint; absent while it succeeds',
      labels: ['endpoint'],
      of: ({ failing }) => failing.map(({ id, failingSeconds }) => [{ endpoint: id }, failingSeconds]),
    },
  ])
  return attempts.subscribe({
    onEnd({ result, startedAt }) {
      const outcome = result?.ok === true ? 'delivered' : 'failed'
      durations.observe({ outcome }, (performance.now() - startedAt) / 1_000)
    },
  })
}
