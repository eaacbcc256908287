import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { serveMetrics } from '../../src/compose/metrics-server.ts'
import { measureJobs } from '../../src/jobs/metrics.ts'
import { createJobs } from '../../src/jobs/run.ts'
import { measureRates } from '../../src/pricing/metrics.ts'
import { measureWebhooks } from '../../src/webhooks/metrics.ts'
import { openApp } from '../support/app.ts'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

const Alerts = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.strictObject({
          alert: z.string(),
          expr: z.string(),
          for: z
            .string()
            .regex(/^\d+m$/)
            .optional(),
          labels: z.strictObject({ severity: z.enum(['critical', 'warning', 'info']) }),
          annotations: z.strictObject({ summary: z.string(), runbook_url: z.string() }),
        }),
      ),
    }),
  ),
})

const Dashboard = z.object({
  panels: z.array(
    z.object({
      id: z.int(),
      title: z.string(),
      gridPos: z.strictObject({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
      targets: z.array(z.object({ expr: z.string() })).min(1),
    }),
  ),
})

const alerts = Alerts.parse(parse(read('deploy/prometheus/alerts.yml'))).groups.flatMap(({ rules }) => rules)
const { panels } = Dashboard.parse(JSON.parse(read('deploy/grafana/dashboards/fx-protection.json')))
const queries = [...alerts.map(({ expr }) => expr), ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))]

/** Prometheus itself adds this metric for each target that it scrapes. */
const NOT_OURS = ['up']

/**
 * The metric names of a query: all names but functions, keywords and labels. Text in braces or after `by` is removed
 * first.
 */
const metricsIn = (query: string): string[] => {
  const bare = query
    .replace(/"[^"]*"/g, '')
    .replace(/\{[^}]*\}|\[[^\]]*\]|\b(?:by|without|on|ignoring) ?\([^)]*\)/g, ' ')
  const words = [...bare.matchAll(/[a-z_][a-z0-9_]*\b(?!\s*\()/gi)].map(([word]) => word)
  return words.filter((word) => !['and', 'or', 'unless', 'e9', 'le', 'by'].includes(word))
}

/** Labels that a query asks of a metric, by its name. */
const selectors = (query: string): { name: string; labels: string[] }[] =>
  [...query.matchAll(/([a-z_][a-z0-9_]*)\{([^}]*)\}/g)].map(([, name = '', inside = '']) => ({
    name,
    labels: [...inside.matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
  }))

describe('monitoring', () => {
  const names = new Set<string>()
  const labels = new Map<string, Set<string>>()
  const closing: (() => unknown)[] = []

  beforeAll(async () => {
    const log = pino({ level: 'silent' })
    const api = await openApp({})
    const jobs = createJobs({ redisUrl: undefined, prefix: 'watching', log })
    const server = await serveMetrics({ metrics: api.metrics, host: '127.0.0.1', port: 0, log })
    measureRates(api.metrics, { health: () => Promise.reject(new Error('nothing is priced here')) })
    const nowhere = { run: () => Promise.reject(new Error('there is no database here')) }
    closing.push(measureWebhooks(api.metrics, nowhere))
    closing.push(measureJobs(api.metrics, jobs), jobs.close, server.close, api.close)
    const answer = await fetch(`http://127.0.0.1:${server.port}/metrics`)
    const text = await answer.text()
    for (const [, name = '', type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
      const suffixes = type === 'histogram' ? ['_bucket', '_count', '_sum'] : ['']
      for (const suffix of suffixes) names.add(name + suffix)
    }
    for (const metric of await api.metrics.getMetricsAsArray()) {
      const own = 'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames.map(String) : []
      for (const suffix of ['', '_bucket', '_count', '_sum']) labels.set(metric.name + suffix, new Set(own))
    }
  })
  afterAll(async () => {
    for (const close of closing) await close()
  })

  test.each(queries)('%s uses metrics that are served and labels that they have', (query) => {
    const asked = metricsIn(query)
    expect(asked.length).toBeGreaterThan(0)
    expect(asked.filter((name) => !names.has(name) && !NOT_OURS.includes(name))).toEqual([])
    for (const { name, labels: wanted } of selectors(query)) {
      const own = labels.get(name) ?? new Set(['job'])
      expect(wanted.filter((label) => !['job', 'instance', 'le'].includes(label) && !own.has(label))).toEqual([])
    }
  })

  test('every metric of the service is named by the rules of Prometheus: with its unit, and `_total` for counters', async () => {
    const ours = [...names].filter((name) => name.startsWith('fx_'))
    expect(ours.length).toBeGreaterThan(40)
    const units =
      /_(seconds|bytes|blocks|total|info|bucket|count|sum)$|^fx_(pages|streams_open|waits_open|chain_halted|node_state|node_rank|pricing_pairs|pricing_signing)$/
    const gauges =
      /^fx_(index_(block|head_block|proven_block|observations_waiting|rows_without_log|fees_contradicted|ledger_gaps|ledger_logs|state)|jobs_waiting|webhooks_waiting|webhook_endpoints|database_connections)$/
    expect(ours.filter((name) => !units.test(name) && !gauges.test(name))).toEqual([])
  })
})

test('every alert links to its section of the runbook, and every section belongs to an alert', () => {
  const sections = [...read('docs/runbook.md').matchAll(/^### (\w+)$/gm)].map(([, name]) => name)
  expect(sections).toEqual(alerts.map(({ alert }) => alert))
  for (const { alert, annotations } of alerts) {
    expect(annotations.runbook_url).toBe(`docs/runbook.md#${alert.toLowerCase()}`)
  }
  expect(panels.length).toBeGreaterThanOrEqual(12)
})

test('every panel of the dashboard has an id, a title and a place of its own', () => {
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
  )
  for (const keys of [panels.map(({ id }) => String(id)), panels.map(({ title }) => title), cells])
    expect(new Set(keys).size).toBe(keys.length)
})
