import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, test } from 'vitest'
import { z } from 'zod'
import { readCompose } from '../support/compose.ts'
import { alerts, expectedReplicas, readYaml } from '../support/prometheus.ts'

/** Alerts lead to a person: each has a test, a section of the runbook and a receiver. */

const run = promisify(execFile)
const compose = readCompose()
const TESTS = 'deploy/prometheus/alerts.test.yml'

const Texts = z.record(z.string(), z.string())
const Expected = z.strictObject({ exp_labels: Texts, exp_annotations: Texts })
const RuleTests = z.object({
  rule_files: z.array(z.string()),
  tests: z.array(
    z.object({
      external_labels: z.strictObject({ runbook: z.url() }),
      alert_rule_test: z.array(
        z.strictObject({ alertname: z.string(), eval_time: z.string(), exp_alerts: z.array(Expected) }),
      ),
    }),
  ),
})

const Receiver = z.strictObject({
  name: z.string(),
  webhook_configs: z.array(z.strictObject({ url_file: z.string(), send_resolved: z.boolean().optional() })).default([]),
})
const Alertmanager = z.object({
  route: z.object({
    receiver: z.string(),
    routes: z.array(
      z.object({
        matchers: z.tuple([z.string()]),
        receiver: z.string(),
        group_interval: z.string().optional(),
        repeat_interval: z.string().optional(),
      }),
    ),
  }),
  inhibit_rules: z.array(
    z.strictObject({
      source_matchers: z.array(z.string()),
      target_matchers: z.array(z.string()),
      equal: z.array(z.string()),
    }),
  ),
  receivers: z.array(Receiver),
})

const Prometheus = z.object({
  global: z.object({ external_labels: Texts }),
  rule_files: z.array(z.string()),
  alerting: z.object({
    alertmanagers: z.tuple([z.object({ static_configs: z.tuple([z.object({ targets: z.tuple([z.string()]) })]) })]),
  }),
})

const prometheus = readYaml('deploy/prometheus/prometheus.yml', Prometheus)
const alertmanager = readYaml('deploy/alertmanager/alertmanager.yml', Alertmanager)

test('every alert links to its section of the runbook, and every section belongs to an alert', () => {
  const sections = [...readFileSync('docs/runbook.md', 'utf8').matchAll(/^### (\w+)$/gm)].map(([, name]) => name)
  expect(sections).toEqual(alerts.map(({ alert }) => alert))
  for (const { alert, annotations } of alerts) {
    expect(annotations.runbook_url).toBe(`{{ $externalLabels.runbook }}#${alert.toLowerCase()}`)
  }
  expect(prometheus.global.external_labels.runbook).toMatch(/^\$\{RUNBOOK_URL\}$/)
  expect(readFileSync('deploy/monitoring.env.example', 'utf8')).toMatch(/^RUNBOOK_URL=https:\S+\/docs\/runbook\.md$/m)
  expect(compose.services.prometheus?.env_file).toEqual(['deploy/monitoring.env'])
})

test('every alert has a test of its labels and its text, and is silent before', () => {
  const { rule_files, tests } = readYaml(TESTS, RuleTests)
  expect(rule_files).toEqual(prometheus.rule_files)
  const cases = tests.flatMap((it) => it.alert_rule_test.map((one) => ({ ...one, base: it.external_labels.runbook })))
  expect([...new Set(cases.map(({ alertname }) => alertname))]).toEqual(alerts.map(({ alert }) => alert))
  for (const { alert, labels } of alerts) {
    const own = cases.filter(({ alertname }) => alertname === alert)
    const fired = own.flatMap(({ exp_alerts, base }) => exp_alerts.map((it) => ({ ...it, base })))
    expect(fired.length, alert).toBeGreaterThan(0)
    if (alert !== 'Watchdog')
      expect(
        own.some(({ exp_alerts }) => exp_alerts.length === 0),
        alert,
      ).toBe(true)
    for (const { exp_labels, exp_annotations, base } of fired) {
      expect(exp_labels.severity).toBe(labels.severity)
      expect(exp_annotations.runbook_url).toBe(`${base}#${alert.toLowerCase()}`)
    }
  }
})

const isInstalled = (program: string): boolean =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)))

test.runIf(inject('form') === 'long' && isInstalled('promtool'))(
  'the tests of the alerts pass in Prometheus',
  async () => {
    await run('promtool', ['check', 'config', '--lint=all', '--lint-fatal', 'deploy/prometheus/prometheus.yml'])
    const { stdout } = await run('promtool', ['test', 'rules', TESTS])
    expect(stdout).toContain('SUCCESS')
  },
  120_000,
)

test('the expected numbers of processes are those that compose.yml starts', () => {
  const started = ['api', 'worker', 'engine'].map((name) => [name, compose.services[name]?.deploy.replicas])
  expect(expectedReplicas(readYaml('deploy/prometheus/replicas.yml', z.unknown()))).toEqual(Object.fromEntries(started))
})

test('a process that uses most of the memory of its container raises an alert', () => {
  const expr = alerts.find(({ alert }) => alert === 'MemoryGrows')?.expr ?? ''
  const bounds = [...expr.matchAll(/\{job="(\w+)"\} > (\d+e6)/g)].map(
    ([, job = '', bytes]) => [job, Number(bytes)] as const,
  )
  expect(bounds.map(([job]) => job)).toEqual(['api', 'worker', 'engine'])
  for (const [job, bytes] of bounds) {
    const limit = Number.parseInt(compose.services[job]?.deploy.resources.limits.memory ?? '', 10) * 2 ** 20
    expect(bytes / limit, job).toBeCloseTo(0.85, 2)
  }
})

test('the heartbeat is sent at every interval of its group', () => {
  const [heartbeat] = alertmanager.route.routes.filter(({ receiver }) => receiver === 'heartbeat')
  // Alertmanager leaves out what it sent less than `repeat_interval` ago, which is a moment after the interval began.
  expect(heartbeat).toMatchObject({ group_interval: '1m', repeat_interval: '30s' })
})

test('Prometheus sends its alerts to the Alertmanager of compose.yml, whose receivers have a secret each', () => {
  const [{ static_configs }] = prometheus.alerting.alertmanagers
  expect(static_configs).toEqual([{ targets: ['alertmanager:9093'] }])
  expect(compose.services.alertmanager?.ports).toEqual([expect.stringMatching(/:9093$/)])
  const files = alertmanager.receivers.flatMap((it) => it.webhook_configs.map(({ url_file }) => url_file))
  expect(files).toEqual(compose.services.alertmanager?.secrets.map((name) => `/run/secrets/${name}`))
})

test('each severity has a receiver: the watchdog a heartbeat, and what needs no action none', () => {
  const { receiver, routes } = alertmanager.route
  const receiverOf = (severity: string): string =>
    routes.find(({ matchers: [matcher] }) => matcher === `severity = ${severity}`)?.receiver ?? receiver
  expect(Object.fromEntries(alerts.map(({ labels }) => [labels.severity, receiverOf(labels.severity)]))).toEqual({
    ...{ none: 'heartbeat', critical: 'on-call', warning: 'on-call', info: 'nowhere' },
  })
  expect(alerts.filter(({ labels }) => labels.severity === 'none').map(({ alert, expr }) => [alert, expr])).toEqual([
    ['Watchdog', 'vector(1)'],
  ])
  expect(alertmanager.receivers.map((it) => [it.name, it.webhook_configs.length])).toEqual([
    ...[
      ['on-call', 1],
      ['heartbeat', 1],
      ['nowhere', 0],
    ],
  ])
  const named = alertmanager.inhibit_rules
    .flatMap(({ source_matchers, target_matchers }) => [...source_matchers, ...target_matchers])
    .flatMap((matcher) => matcher.replace(/^alertname =~? /, '').split('|'))
  expect(alerts.map(({ alert }) => alert)).toEqual(expect.arrayContaining(named))
})
