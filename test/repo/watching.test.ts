import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serveMetrics } from '../../src/compose/metrics-server.ts'
import { showReplica } from '../../src/db/metrics.ts'
import { measureJobs } from '../../src/jobs/metrics.ts'
import { createJobs } from '../../src/jobs/run.ts'
import { measureRates } from '../../src/pricing/metrics.ts'
import { measureWebhooks } from '../../src/webhooks/metrics.ts'
import { openApp } from '../support/app.ts'
import { alerts, metricsIn, panels } from '../support/prometheus.ts'

/** The metrics of the service are watched: what is served is shown or alerted on, and what is asked for is served. */

const queries = [...alerts.map(({ expr }) => expr), ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))]

/** Metrics that other processes serve, with their labels: Prometheus, which adds `up`, its rules and Alertmanager. */
const others: Readonly<Record<string, readonly string[]>> = {
  up: [],
  'fx:replicas:expected': [],
  alertmanager_notifications_failed_total: ['integration'],
}

/** Deprecated metrics, which have the value of another one until they are deleted. */
const deprecated = ['fx_index_look_age_seconds']

describe('monitoring', () => {
  const names = new Set<string>()
  const labels = new Map<string, readonly string[]>(Object.entries(others))
  const closing: (() => unknown)[] = []

  beforeAll(async () => {
    const log = pino({ level: 'silent' })
    const api = await openApp({})
    const jobs = createJobs({ redisUrl: undefined, prefix: 'watching', log })
    const server = await serveMetrics({ metrics: api.metrics, host: '127.0.0.1', port: 0, log })
    showReplica(api.metrics, () => true)
    measureRates(api.metrics, { health: () => Promise.reject(new Error('nothing is priced here')) })
    const nowhere = { run: () => Promise.reject(new Error('there is no database here')) }
    closing.push(measureWebhooks(api.metrics, nowhere))
    closing.push(measureJobs(api.metrics, jobs), jobs.close, server.close, api.close)
    const answer = await fetch(`http://127.0.0.1:${server.port}/metrics`)
    const text = await answer.text()
    const own = new Map(
      (await api.metrics.getMetricsAsArray()).map((metric) => [
        metric.name,
        'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames.map(String) : [],
      ]),
    )
    for (const [, name = '', type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
      names.add(name)
      for (const suffix of type === 'histogram' ? ['_bucket', '_count', '_sum'] : ['']) {
        labels.set(name + suffix, own.get(name) ?? [])
      }
    }
  })
  afterAll(async () => {
    for (const close of closing) await close()
  })

  test.each(queries)('%s uses metrics that are served and labels that they have', (query) => {
    for (const { name, labels: asked } of metricsIn(query)) {
      expect([...labels.keys()]).toContain(name)
      const allowed = ['job', 'instance', 'le', ...(labels.get(name) ?? [])]
      expect(asked.filter((label) => !allowed.includes(label))).toEqual([])
    }
  })

  test('every metric of the service is in a panel or an alert', () => {
    const asked = new Set(queries.flatMap(metricsIn).map(({ name }) => name.replace(/_(bucket|count|sum)$/, '')))
    const ours = [...names].filter((name) => name.startsWith('fx_'))
    expect(ours.filter((name) => !asked.has(name))).toEqual(deprecated)
  })

  test('every metric of the service is named by the rules of Prometheus: with its unit, and `_total` for counters', async () => {
    const ours = [...names].filter((name) => name.startsWith('fx_'))
    expect(ours.length).toBeGreaterThan(40)
    const units =
      /_(seconds|bytes|blocks|total|info)$|^fx_(pages|streams_open|waits_open|availability|chain_halted|node_rank|node_paused|pricing_pairs|pricing_signing)$/
    const gauges =
      /^fx_(index_(block|head_block|proven_block|observations_waiting|rows_without_log|fees_contradicted|ledger_gaps|ledger_logs|state)|jobs_waiting|webhooks_waiting|webhook_endpoints|database_connections|database_replica_used)$/
    expect(ours.filter((name) => !units.test(name) && !gauges.test(name))).toEqual([])
  })
})

test('every panel of the dashboard has an id, a title and a place of its own', () => {
  expect(panels.length).toBeGreaterThanOrEqual(12)
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
  )
  for (const keys of [panels.map(({ id }) => String(id)), panels.map(({ title }) => title), cells])
    expect(new Set(keys).size).toBe(keys.length)
})
