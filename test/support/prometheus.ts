import { readFileSync } from 'node:fs'
import { parser } from '@prometheus-io/lezer-promql'
import { parse } from 'yaml'
import { z } from 'zod'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** A YAML file of the repository, checked by a schema. */
export const readYaml = <T>(path: string, schema: z.ZodType<T>): T => schema.parse(parse(read(path), { merge: true }))

const Alert = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z
    .string()
    .regex(/^\d+m$/)
    .optional(),
  labels: z.strictObject({ severity: z.enum(['critical', 'warning', 'info', 'none']) }),
  annotations: z.strictObject({ summary: z.string(), runbook_url: z.string() }),
})

const groupsOf = <T>(rule: z.ZodType<T>) =>
  z.strictObject({ groups: z.array(z.strictObject({ name: z.string(), rules: z.array(rule) })) })

/** The alerts of Prometheus, in the order of their file. */
export const alerts = readYaml('deploy/prometheus/alerts.yml', groupsOf(Alert)).groups.flatMap(({ rules }) => rules)

const Count = z.strictObject({
  record: z.literal('fx:replicas:expected'),
  labels: z.strictObject({ job: z.string() }),
  expr: z
    .string()
    .regex(/^vector\(\d+\)$/)
    .transform((expr) => Number(expr.slice(7, -1))),
})

/** The expected number of processes by job, of a file of recording rules. */
export const expectedReplicas = (groups: unknown): Record<string, number> =>
  Object.fromEntries(
    groupsOf(Count)
      .parse(groups)
      .groups.flatMap(({ rules }) => rules)
      .map(({ labels, expr }) => [labels.job, expr]),
  )

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

/** The panels of Grafana's dashboard. */
export const { panels } = Dashboard.parse(JSON.parse(read('deploy/grafana/dashboards/fx-protection.json')))

/**
 * The metrics that a PromQL query reads, each with the labels that it selects by.
 *
 * @throws {Error} when the query is no PromQL
 */
export const metricsIn = (query: string): { readonly name: string; readonly labels: string[] }[] => {
  const text = query.replaceAll('$__rate_interval', '5m')
  const found: { name: string; labels: string[] }[] = []
  let isSelecting = false
  parser.parse(text).iterate({
    enter({ name, from, to, type }) {
      if (type.isError) throw new Error(`no PromQL at character ${from} of ${text}`)
      if (name === 'VectorSelector') found.push({ name: '', labels: [] })
      if (name === 'LabelMatchers') isSelecting = true
      const last = found.at(-1)
      if (name === 'Identifier' && last !== undefined) last.name = text.slice(from, to)
      if (name === 'LabelName' && isSelecting) last?.labels.push(text.slice(from, to))
    },
    leave({ name }) {
      if (name === 'LabelMatchers') isSelecting = false
    },
  })
  return found
}
