import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, relative } from 'node:path'
import { promisify } from 'node:util'
import {
  PodMonitor,
  PrometheusRule,
  ServiceMonitor,
} from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1'
import { Deployment } from 'kubernetes-models/apps/v1'
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2'
import { Job } from 'kubernetes-models/batch/v1'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { ConfigMap, Namespace, Service } from 'kubernetes-models/v1'
import { afterAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { type Environment, environments } from '../../src/config/environments.ts'
import { load } from '../../src/config/load.ts'
import { openApp } from '../support/app.ts'
import { readCompose } from '../support/compose.ts'
import { startEngine } from '../support/engine.ts'
import { shapeOf } from '../support/environment.ts'
import { build, Resource } from '../support/kustomize.ts'
import { alerts, expectedReplicas, metricsIn, readYaml } from '../support/prometheus.ts'

/*
 * The manifests of deploy/kubernetes, as kustomize builds them: they fit the schemas of Kubernetes, each other, the
 * settings and ports of the processes, and what Docker compose starts. No cluster runs here.
 */

const run = promisify(execFile)
const folder = 'deploy/kubernetes'
const overlay = (name: string, path: string) => ({ name, path, resources: build(path) })

/** An overlay of an operator, next to which the manifests are: another overlay with more components and a file. */
const ownOverlay = (base: string, ...components: readonly string[]): string => {
  const own = mkdtempSync(join(tmpdir(), 'fx-overlay-'))
  afterAll(() => rmSync(own, { recursive: true, force: true }))
  const fromOwn = (path: string): string => relative(own, join(folder, path))
  writeFileSync(
    join(own, 'kustomization.yaml'),
    `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [${fromOwn(base)}]
components: [${components.map(fromOwn).join(', ')}]
configMapGenerator: [{ name: fx-rates, files: [interest.json] }]
`,
  )
  writeFileSync(join(own, 'interest.json'), '{ "asOf": "2026-11-01", "source": "a bank", "rates": { "USD": 0.044 } }')
  return own
}

const overlays = [
  overlay('self-contained', `${folder}/overlays/self-contained`),
  overlay('managed', `${folder}/overlays/managed`),
  overlay('managed with more', ownOverlay('overlays/managed', 'components/self-service', 'components/rates')),
  overlay('self-contained, restored', ownOverlay('overlays/self-contained', 'restore')),
]
const restored = overlays.at(-1)?.resources ?? []
const compose = readCompose()
const page = readFileSync('docs/operations/kubernetes.md', 'utf8')

const Port = z.object({ name: z.string(), containerPort: z.int() })
const Get = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) })
const Container = z.object({
  name: z.string(),
  image: z.string(),
  args: z.tuple([z.string()]),
  env: z.array(z.object({ name: z.string(), value: z.string() })),
  ports: z.array(Port).default([]),
  startupProbe: Get.optional(),
  livenessProbe: Get.optional(),
  readinessProbe: Get.extend({ periodSeconds: z.number(), failureThreshold: z.number() }).optional(),
  resources: z.object({ limits: z.object({ memory: z.string(), cpu: z.string() }) }),
  securityContext: z.unknown(),
})
const Pod = z.object({
  automountServiceAccountToken: z.literal(false),
  terminationGracePeriodSeconds: z.number().default(30),
  securityContext: z.unknown(),
  containers: z.tuple([Container]),
  volumes: z.tuple(
    [
      z.object({
        secret: z.object({ secretName: z.string(), items: z.array(z.object({ key: z.string(), path: z.string() })) }),
      }),
    ],
    z.object({ configMap: z.object({ name: z.string() }) }),
  ),
})
const Workload = z.object({
  replicas: z.int().optional(),
  template: z.object({ metadata: z.object({ labels: z.record(z.string(), z.string()) }), spec: Pod }),
})

/** The specification of each process by its name. */
const workloadsOf = (resources: readonly Resource[]) =>
  resources
    .filter(({ kind }) => ['Deployment', 'Job'].includes(kind))
    .map(({ metadata, spec }) => ({ name: metadata.name, ...Workload.parse(spec) }))

const oneOf = (resources: readonly Resource[], kind: string, name?: string): Resource => {
  const [found, ...more] = resources.filter((it) => it.kind === kind && (name ?? it.metadata.name) === it.metadata.name)
  if (found === undefined || more.length > 0) throw new Error(`there is not one ${kind} ${name ?? ''}`)
  return found
}

const isInstalled = (program: string): boolean =>
  (process.env.PATH ?? '').split(delimiter).some((path) => existsSync(join(path, program)))

/** Operators' resources, for which no package has a schema. docs/operations/kubernetes.md has the command that checks them. */
const unchecked = ['Cluster', 'Pooler', 'ScheduledBackup', 'ObjectStore', 'Redis']

const models: Readonly<Record<string, new (data: never) => { validate(): void }>> = {
  ...{ ConfigMap, Deployment, HorizontalPodAutoscaler, Job, Namespace, NetworkPolicy, PodDisruptionBudget },
  ...{ PodMonitor, PrometheusRule, Service, ServiceMonitor },
}

/** The value, whose fields call `seen` with their path when they are read. */
const watched = (value: unknown, path: string, seen: (path: string) => void): unknown => {
  if (typeof value !== 'object' || value === null) return value
  return new Proxy(value, {
    get(target, key, receiver) {
      const inner = `${path}.${String(key)}`
      if (Object.hasOwn(target, key)) seen(inner)
      return watched(Reflect.get(target, key, receiver), inner, seen)
    },
  })
}

const pathsOf = (value: unknown, path: string): string[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, it]) => [`${path}.${key}`, ...pathsOf(it, `${path}.${key}`)])
    : []

/** Validates a resource. Returns the fields that the schema does not know: the validator reads all that it knows. */
const unknownFields = ({ kind, ...resource }: Resource): string[] => {
  const Model = models[kind]
  if (Model === undefined) throw new Error(`there is no schema of ${kind}`)
  const read = new Set<string>()
  const given = watched({ kind, ...resource }, kind, (path) => read.add(path))
  Model.prototype.validate.call(given)
  return pathsOf(resource, kind).filter((path) => !read.has(path))
}

describe.each(overlays)('overlay $name', ({ path, resources }) => {
  const workloads = workloadsOf(resources)
  const settings = z.record(z.string(), z.string()).parse(oneOf(resources, 'ConfigMap', 'fx-settings').data)

  test.runIf(isInstalled('kubectl'))('kubectl builds the same resources, where it is installed', async () => {
    const { stdout } = await run('kubectl', ['kustomize', path])
    const hashed = /(fx-settings|fx-rates)-[a-z0-9]{10}/g
    const built = parseAllDocuments(stdout.replace(hashed, '$1')).map((it) => Resource.parse(it.toJS()))
    const byName = (all: readonly Resource[]) => new Map(all.map((it) => [`${it.kind} ${it.metadata.name}`, it]))
    expect(byName(resources)).toEqual(byName(built))
    expect(resources).toHaveLength(built.length)
  })

  test('every resource fits its schema, and has no field that the schema does not know', () => {
    for (const resource of resources) {
      if (unchecked.includes(resource.kind)) continue
      expect(unknownFields(resource), `${resource.kind} ${resource.metadata.name}`).toEqual([])
    }
    expect(() => unknownFields({ ...oneOf(resources, 'Deployment', 'api'), spec: { replicas: '2' } })).toThrow()
    const extra = { ...z.looseObject({}).parse(oneOf(resources, 'Job').spec), extra: 1 }
    expect(unknownFields({ ...oneOf(resources, 'Job'), spec: extra })).toEqual(['Job.spec.extra'])
  })

  test('each process gets only variables that it reads, and all that it requires', () => {
    const commands: readonly (readonly [string, Environment])[] = Object.entries(environments)
    expect(workloads.map((it) => it.name).toSorted()).toEqual(['api', 'engine', 'migrate', 'worker'])
    for (const { name: process, template } of workloads) {
      const [{ args, env }] = template.spec.containers
      expect(args).toEqual([process])
      const shape = shapeOf(commands.find(([command]) => command === process)?.[1] ?? environments.sandbox)
      const given = env.map((it) => (Object.hasOwn(shape, it.name) ? it.name : it.name.replace(/_FILE$/, '')))
      expect(Object.keys(shape), process).toEqual(expect.arrayContaining(given))
      const all = process === 'migrate' ? given : [...given, ...Object.keys(settings)]
      const needed = Object.entries(shape)
        .filter(([, codec]) => !z.instanceof(z.ZodType).parse(codec).safeParse(undefined).success)
        .map(([variable]) => variable)
      expect(all, process).toEqual(expect.arrayContaining(needed))
    }
    const known = commands.flatMap(([, environment]) => Object.keys(shapeOf(environment)))
    expect(known).toEqual(expect.arrayContaining(Object.keys(settings)))
  })

  test('each process gets the secrets that it reads from files, and no other', () => {
    for (const { name: process, template } of workloads) {
      const [{ env }] = template.spec.containers
      const [{ secret }] = template.spec.volumes
      const read = env.filter((it) => it.value.startsWith('/run/secrets/')).map(({ value }) => value)
      expect(read, process).toEqual(secret.items.map(({ key, path }) => (key === path ? `/run/secrets/${key}` : '')))
      // The page about Kubernetes writes each key.
      for (const { key } of secret.items) expect(page).toMatch(new RegExp(`--from-(file|literal)=${key}[ =\\\\]`))
      expect(page).toContain(`kubectl create secret generic ${secret.secretName} `)
    }
  })

  test('ports are those that the processes listen on, and probes ask for the route of their kind', () => {
    const portsOf = (process: string): Record<string, number> => {
      const ports = workloads.find((it) => it.name === process)?.template.spec.containers[0].ports ?? []
      return Object.fromEntries(ports.map((it) => [it.name, it.containerPort]))
    }
    const { PORT, METRICS_PORT } = environments.api.own.shape
    const http = PORT.parse(undefined)
    const metrics = METRICS_PORT.parse(undefined)
    expect(portsOf('api')).toEqual({ http, metrics })
    expect(portsOf('engine')).toEqual({ http: environments.engine.own.shape.ENGINE_PORT.parse(undefined), metrics })
    expect(portsOf('worker')).toEqual({ metrics })

    const probes = Object.fromEntries(
      workloads.map(({ name: process, template }) => {
        const [{ startupProbe, livenessProbe, readinessProbe }] = template.spec.containers
        const [start, live, ready] = [startupProbe, livenessProbe, readinessProbe].map((it) => it?.httpGet.path)
        return [process, { start, live, ready }]
      }),
    )
    const served = { start: '/livez', live: '/livez', ready: '/readyz' }
    const measured = { start: '/livez', live: '/livez', ready: undefined }
    const none = { start: undefined, live: undefined, ready: undefined }
    expect(probes).toEqual({ api: served, engine: served, worker: measured, migrate: none })
  })

  test('a stop has the time that a process needs, and its balancer notices it during the drain', () => {
    for (const { name: process, template } of workloads.filter((it) => it.name !== 'migrate')) {
      const [{ env, readinessProbe }] = template.spec.containers
      const drain = Number(env.find((it) => it.name === 'DRAIN_MS')?.value ?? 0)
      expect(template.spec.terminationGracePeriodSeconds * 1_000, process).toBeGreaterThanOrEqual(drain + 15_000)
      const { periodSeconds, failureThreshold } = readinessProbe ?? { periodSeconds: 0, failureThreshold: 0 }
      expect(periodSeconds * failureThreshold * 1_000, process).toBeLessThanOrEqual(drain)
    }
  })

  test('pods fit the restricted profile of Kubernetes, and have the limits of compose.yml', () => {
    for (const { name: process, template } of workloads) {
      const { securityContext, containers } = template.spec
      expect(securityContext).toEqual({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
      expect(containers[0].securityContext).toEqual({
        ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
      })
      const { memory, cpus } = compose.services[process]?.deploy.resources.limits ?? {}
      const { limits } = containers[0].resources
      expect([limits.memory.replace('Mi', 'm'), limits.cpu], process).toEqual([memory, cpus])
    }
  })

  test('our image has a tag, and those of others a version', () => {
    const images = JSON.stringify(resources).match(/"image(Name)?":"[^"]+"/g) ?? []
    expect(images.length).toBeGreaterThanOrEqual(workloads.length)
    // The tag of ours is that of the release which the operator built.
    for (const image of images) expect(image).toMatch(/:v?\d+\.\d+[\w.-]*"$|\/fx-protection-api:SET-ME"$/)
    const [, major] = /postgres:(\d+)/.exec(compose.services.postgres?.image ?? '') ?? []
    for (const cluster of resources.filter(({ kind }) => kind === 'Cluster'))
      expect(JSON.stringify(cluster.spec)).toContain(`/postgresql:${major}.`)
  })

  test('selectors find pods, and named ports exist', () => {
    const pods = workloads.map(({ template }) => ({
      labels: template.metadata.labels,
      ports: template.spec.containers[0].ports.map((it) => it.name),
    }))
    const component = 'app.kubernetes.io/component'
    const components = pods.map(({ labels }) => labels[component])
    for (const { metadata, spec } of resources.filter(({ kind }) => kind === 'Service')) {
      const { selector, ports } = z
        .object({ selector: z.record(z.string(), z.string()), ports: z.array(z.object({ targetPort: z.string() })) })
        .parse(spec)
      const found = pods.find(({ labels }) => Object.entries(selector).every(([key, value]) => labels[key] === value))
      expect(found?.ports, metadata.name).toEqual(ports.map(({ targetPort }) => targetPort))
    }
    for (const { kind, metadata, spec } of resources.filter(({ kind }) =>
      ['PodDisruptionBudget', 'NetworkPolicy', 'ServiceMonitor'].includes(kind),
    )) {
      const text = JSON.stringify(spec)
      const named = [
        ...[...text.matchAll(/"app\.kubernetes\.io\/component":"(\w+)"/g)].map(([, value]) => value),
        ...[...text.matchAll(/"key":"app\.kubernetes\.io\/component","operator":"In","values":(\[[^\]]*\])/g)].flatMap(
          ([, list = '[]']) => z.array(z.string()).parse(JSON.parse(list)),
        ),
      ]
      expect(components, `${kind} ${metadata.name}`).toEqual(expect.arrayContaining(named))
      for (const [, port] of text.matchAll(/"port":"(\w+)"/g)) expect(['http', 'metrics']).toContain(port)
    }
    expect(oneOf(resources, 'HorizontalPodAutoscaler').spec).toMatchObject({
      scaleTargetRef: { kind: 'Deployment', name: 'api' },
    })
  })

  test('the expected numbers of processes are the smallest that the manifests start', () => {
    const { minReplicas } = z.object({ minReplicas: z.int() }).parse(oneOf(resources, 'HorizontalPodAutoscaler').spec)
    const started = workloads
      .filter((it) => it.name !== 'migrate')
      .map((it) => [it.name, it.replicas ?? minReplicas] as const)
    expect(expectedReplicas(oneOf(resources, 'PrometheusRule', 'fx-replicas').spec)).toEqual(
      Object.fromEntries(started),
    )
  })

  test('the alerts are those of deploy/prometheus/alerts.yml: run deploy/kubernetes/write-alerts.sh', () => {
    const groups = z.object({ groups: z.array(z.object({ rules: z.array(z.unknown()) })) })
    const rules = groups.parse(oneOf(resources, 'PrometheusRule', 'fx-alerts').spec).groups.flatMap((it) => it.rules)
    expect(rules).toEqual(alerts)
  })

  test('the API is scaled by metrics that the adapter makes of ours', () => {
    const Values = z.object({
      rules: z.object({
        custom: z.array(
          z.object({ seriesQuery: z.string(), name: z.object({ as: z.string() }), metricsQuery: z.string() }),
        ),
      }),
    })
    const { custom } = readYaml(`${folder}/components/monitoring/adapter-values.yaml`, Values).rules
    const asked = [
      ...JSON.stringify(oneOf(resources, 'HorizontalPodAutoscaler').spec).matchAll(/"metric":{"name":"(\w+)"/g),
    ]
    expect(asked.map(([, metric]) => metric)).toEqual(custom.map((it) => it.name.as))
    for (const { seriesQuery, metricsQuery } of custom) {
      const query = metricsQuery.replace('<<.GroupBy>>', 'pod').replace('<<.LabelMatchers>>', 'pod="a"')
      expect(metricsIn(query).map((it) => it.name)).toEqual(metricsIn(seriesQuery).map((it) => it.name))
    }
  })
})

test('integrators register webhooks by themselves only where an overlay has the component', () => {
  const given = overlays.map(({ name, resources }) => {
    const has = (process: string, variable: string): boolean =>
      workloadsOf(resources).some(
        (it) => it.name === process && it.template.spec.containers[0].env.some((env) => env.name === variable),
      )
    const isOn = ['api', 'migrate'].map((process) => has(process, 'WEBHOOKS_SELF_SERVICE'))
    return [name, ...isOn, has('api', 'WEBHOOKS_KEY_FILE')]
  })
  expect(given).toEqual([
    ['self-contained', false, false, false],
    ['managed', false, false, false],
    ['managed with more', true, true, true],
    ['self-contained, restored', false, false, false],
  ])
})

test('API and engine have the routes of the probes', async () => {
  const [app, engine] = [await openApp({}), await startEngine()]
  for (const path of ['/livez', '/readyz']) {
    expect(app.app.hasRoute({ method: 'GET', url: path })).toBe(true)
    expect((await fetch(`${engine.url}${path}`)).status).toBe(200)
  }
  await Promise.all([app.close(), engine.close()])
})

test('PostgreSQL accepts the connections of all processes, at the largest number of APIs', () => {
  const { resources } = overlays[0] ?? { resources: [] }
  const { maxReplicas } = z.object({ maxReplicas: z.int() }).parse(oneOf(resources, 'HorizontalPodAutoscaler').spec)
  const Parameters = z.object({ parameters: z.record(z.string(), z.string()) })
  const { max_connections } = z.object({ postgresql: Parameters }).parse(oneOf(resources, 'Cluster').spec)
    .postgresql.parameters
  const { instances, pgbouncer } = z
    .object({ instances: z.int(), pgbouncer: Parameters })
    .parse(oneOf(resources, 'Pooler').spec)
  const pooled = instances * Number(pgbouncer.parameters.max_db_connections)
  const { API_POOL_SIZE } = environments.api.own.shape
  const { WORKER_POOL_SIZE } = environments.worker.own.shape
  // docs/operations/scale.md: an API has its pool and one more, a worker two for each chain and one, an engine one.
  const connections = (apis: number, others: number): number =>
    apis * (API_POOL_SIZE.parse(undefined) + 1) + others * (WORKER_POOL_SIZE.parse(undefined) + 2 * 2 + 1 + 1)
  const [running, upgrading] = [connections(maxReplicas, 2), connections(maxReplicas + 1, 3)]
  expect(page).toContain(`need up to ${running} connections, and ${upgrading} during an upgrade`)
  // The pooler serves all of them. Replication and the operator need some more.
  expect(upgrading).toBeLessThanOrEqual(pooled)
  expect(pooled + 20).toBeLessThanOrEqual(Number(max_connections))
})

test('PostgreSQL is backed up to the store that a restore reads, of the same cluster', () => {
  const { resources } = overlays[0] ?? { resources: [] }
  const store = oneOf(resources, 'ObjectStore').metadata.name
  const cluster = oneOf(resources, 'Cluster')
  expect(cluster.spec).toMatchObject({
    ...{ plugins: [{ isWALArchiver: true, parameters: { barmanObjectName: store } }], instances: 3 },
    bootstrap: { initdb: { database: 'fx', owner: 'fx' } },
  })
  const { name } = cluster.metadata
  for (const kind of ['ScheduledBackup', 'Pooler'])
    expect(oneOf(resources, kind).spec).toMatchObject({ cluster: { name } })
})

test('a restored cluster has another name and origin, and is otherwise as the first: backed up and reached', () => {
  const { resources: before } = overlays[0] ?? { resources: [] }
  const Cluster = z.looseObject({ bootstrap: z.unknown(), externalClusters: z.unknown().optional() })
  const [first, copy] = [oneOf(before, 'Cluster'), oneOf(restored, 'Cluster')]
  const { name } = copy.metadata
  const { bootstrap, externalClusters, ...rest } = Cluster.parse(copy.spec)
  expect(name).not.toBe(first.metadata.name)
  expect({ ...rest, bootstrap: null }).toEqual({ ...Cluster.parse(first.spec), bootstrap: null })
  const store = oneOf(restored, 'ObjectStore').metadata.name
  expect(bootstrap).toMatchObject({ recovery: { source: 'backups', database: 'fx', owner: 'fx' } })
  const parameters = { barmanObjectName: store, serverName: first.metadata.name }
  expect(externalClusters).toMatchObject([{ name: 'backups', plugin: { parameters } }])
  for (const kind of ['ScheduledBackup', 'Pooler'])
    expect(oneOf(restored, kind).spec).toMatchObject({ cluster: { name } })
  // No policy names a cluster, so those of any name are reached.
  const policies = JSON.stringify(restored.filter(({ kind }) => kind === 'NetworkPolicy'))
  expect(policies).not.toContain(`"cnpg.io/cluster":`)
  expect(policies).toContain('"key":"cnpg.io/cluster","operator":"Exists"')
  // The procedure applies them alone, before the processes.
  const labels = { 'app.kubernetes.io/component': 'postgres' }
  for (const kind of ['Cluster', 'ObjectStore', 'Pooler', 'ScheduledBackup'])
    expect(oneOf(restored, kind).metadata).toMatchObject({ labels })
})

test('the settings of an overlay are valid once the addresses are filled in', () => {
  for (const { resources } of overlays) {
    const given = z.record(z.string(), z.string()).parse(oneOf(resources, 'ConfigMap', 'fx-settings').data)
    expect(load(environments.engine, given)).toMatchObject({ NODE_ENV: 'production' })
  }
})
