import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { type Environment, environments } from '../../src/config/environments.ts'
import { load } from '../../src/config/load.ts'
import { readCompose, readSelfService } from '../support/compose.ts'
import { shapeOf } from '../support/environment.ts'

const compose = readCompose()
const own = Object.entries(compose.services).filter(([, { build }]) => build !== undefined)

const commands: readonly (readonly [string, Environment])[] = Object.entries(environments)

const variablesOf = (name: string): object => {
  const found = commands.find(([command]) => command === name)
  if (found === undefined) throw new Error(`there is no command ${name}`)
  return shapeOf(found[1])
}

test('compose.yml has a service for each command', () => {
  expect(own.map(([name, { command }]) => [name, command])).toEqual(
    ['migrate', 'api', 'worker', 'engine'].map((name) => [name, [name]]),
  )
})

test('all services, secrets, volumes and files that compose.yml names exist', () => {
  for (const [name, service] of Object.entries(compose.services)) {
    const wanted = Array.isArray(service.depends_on) ? service.depends_on : Object.keys(service.depends_on)
    for (const other of wanted) expect(Object.keys(compose.services), name).toContain(other)
    for (const secret of service.secrets) expect(Object.keys(compose.secrets), name).toContain(secret)
    for (const volume of service.volumes) {
      const [from = ''] = volume.split(':')
      if (!from.startsWith('.')) expect(Object.keys(compose.volumes), name).toContain(from)
      else expect(existsSync(from), `${name}: ${from}`).toBe(true)
    }
    for (const value of Object.values(service.environment)) {
      const secret = /^\/run\/secrets\/(\w+)$/.exec(value)?.[1]
      if (secret !== undefined) expect(service.secrets, `${name}: ${value}`).toContain(secret)
    }
  }
  const used = new Set(Object.values(compose.services).flatMap(({ secrets }) => secrets))
  expect(new Set(Object.keys(compose.secrets))).toEqual(used)
})

test.each(own)('%s gets only variables that it reads, and all that it requires', (name, { environment }) => {
  const shape = variablesOf(name)
  const read = Object.keys(environment).map((variable) => variable.replace(/_FILE$/, ''))
  for (const variable of read) if (variable !== 'HEALTH_URL') expect(Object.keys(shape)).toContain(variable)
  const deployment = readFileSync('deploy/deployment.env.example', 'utf8')
  const listed = [...deployment.matchAll(/^([A-Z]\w*)=/gm)].map(([, variable]) => variable)
  const needed = Object.entries(shape)
    .filter(([, codec]) => !z.instanceof(z.ZodType).parse(codec).safeParse(undefined).success)
    .map(([variable]) => variable)
  expect([...read, ...listed]).toEqual(expect.arrayContaining(needed))
})

test('self-service for webhooks gives migrate the setting, and the API the setting and the key of the workers', () => {
  const added = readSelfService()
  expect(Object.keys(added)).toEqual(['migrate', 'api'])
  for (const [name, { environment, secrets }] of Object.entries(added)) {
    expect(environment, name).toMatchObject({ WEBHOOKS_SELF_SERVICE: 'true' })
    const names = Object.keys(environment).map((variable) => variable.replace(/_FILE$/, ''))
    expect(Object.keys(variablesOf(name))).toEqual(expect.arrayContaining(names))
    const files = Object.values(environment).filter((value) => value.startsWith('/run/secrets/'))
    expect(files).toEqual(secrets.map((secret) => `/run/secrets/${secret}`))
    expect(Object.keys(compose.secrets)).toEqual(expect.arrayContaining(secrets))
  }
  const { WEBHOOKS_KEY_FILE } = compose.services.worker?.environment ?? {}
  expect(added.api?.environment).toMatchObject({ WEBHOOKS_KEY_FILE })
  // Without it, the API does not have the key.
  expect(compose.services.api?.secrets).not.toContain('webhooks_key')
})

test('the values of deployment.env.example are valid, except for the addresses', () => {
  const lines = readFileSync('deploy/deployment.env.example', 'utf8').matchAll(/^([A-Z]\w*)=(.*)$/gm)
  const given = Object.fromEntries([...lines].map(([, name, value]) => [name, value]))
  expect(load(environments.engine, { ...given, NODE_ENV: 'production' })).toMatchObject({
    ENGINE_ECB_URL: given.ENGINE_ECB_URL,
  })
  for (const name of Object.keys(given))
    expect(
      commands.some(([, environment]) => name in shapeOf(environment)),
      name,
    ).toBe(true)
})

const Scraping = z.object({
  scrape_configs: z.array(
    z.object({
      job_name: z.string(),
      dns_sd_configs: z.tuple([z.object({ names: z.tuple([z.string()]), port: z.int() })]).optional(),
    }),
  ),
})

test('each long-running process is scraped under the name of its service', () => {
  const { scrape_configs } = Scraping.parse(parse(readFileSync('deploy/prometheus/prometheus.yml', 'utf8')))
  const scraped = scrape_configs.flatMap(({ job_name, dns_sd_configs = [] }) =>
    dns_sd_configs.map(({ names }) => [job_name, ...names]),
  )
  expect(scraped).toEqual(['api', 'worker', 'engine'].map((name) => [name, name]))
})

test('the page about the installation creates every secret, and names the database that compose.yml starts', () => {
  const page = readFileSync('docs/operations/install.md', 'utf8')
  const written = [...page.matchAll(/ > (\w+)$/gm)].map(([, name]) => name)
  expect(new Set(written)).toEqual(new Set(Object.keys(compose.secrets)))
  const { POSTGRES_USER, POSTGRES_DB } = compose.services.postgres?.environment ?? {}
  expect(page).toContain(`"postgres://${POSTGRES_USER}:$password@postgres:5432/${POSTGRES_DB}" > database_url`)
})

test('the limits of each service are those that the page about scaling lists', () => {
  const page = readFileSync('docs/operations/scale.md', 'utf8')
  const rows = [...page.matchAll(/^\| `(\w+)` +\| (\d+) MiB +\| ([\d.]+) +\| (\d+) +\|$/gm)].map(
    ([, name, memory, cpus, pids]) => [name, { memory: Number(memory), cpus, pids: Number(pids) }],
  )
  const mebibytes = (text: string): number => Number.parseInt(text, 10) * (text.endsWith('g') ? 1_024 : 1)
  const limits = Object.entries(compose.services).map(([name, { deploy }]) => {
    const { memory, cpus, pids } = deploy.resources.limits
    return [name, { memory: mebibytes(memory), cpus, pids }]
  })
  expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(limits))
  const [, heap] = /--max-old-space-size=(\d+)/.exec(readFileSync('Dockerfile', 'utf8')) ?? []
  for (const [name, { command = [] }] of own) {
    const room = mebibytes(compose.services[name]?.deploy.resources.limits.memory ?? '')
    if (command[0] !== 'migrate') expect(room, name).toBeGreaterThan(Number(heap) + 100)
  }
})

test('Redis refuses writes before its container has no memory, and drops no key', () => {
  const { command = [], deploy } = compose.services.redis ?? {}
  const optionOf = (option: string): string | undefined => command[command.indexOf(option) + 1]
  expect(optionOf('--maxmemory-policy')).toBe('noeviction')
  const memory = Number.parseInt(deploy?.resources.limits.memory ?? '', 10)
  expect(2 * Number.parseInt(optionOf('--maxmemory') ?? '', 10)).toBeLessThanOrEqual(memory)
})

test('services reach each other only where they have to', () => {
  const inNetwork = (network: string): string[] =>
    Object.entries(compose.services).flatMap(([name, { networks }]) => (networks.includes(network) ? [name] : []))
  expect(Object.fromEntries(Object.keys(compose.networks).map((network) => [network, inNetwork(network)]))).toEqual({
    edge: ['api'],
    nodes: ['worker', 'engine'],
    database: ['postgres', 'migrate', 'api', 'worker', 'engine'],
    redis: ['redis', 'api', 'worker'],
    local: ['postgres', 'redis'],
    pricing: ['api', 'engine'],
    metrics: ['api', 'worker', 'engine', 'prometheus'],
    monitoring: ['prometheus', 'alertmanager', 'grafana'],
  })
  // A port of a service that is in internal networks only is not published. Of several others, Docker takes the first by
  // name for ports and for traffic with the outside, and breaks connections when that one is cut.
  for (const [name, { ports, networks }] of Object.entries(compose.services)) {
    const ways = networks.filter((network) => compose.networks[network]?.internal !== true)
    const expected = name === 'migrate' ? 0 : 1
    expect([name, ports.length === 0 || ways.length > 0, ways.length]).toEqual([name, true, expected])
  }
})

test('the images of others have a version, and those of ours run without a name of a user or an init of Docker', () => {
  for (const [name, { image, build }] of Object.entries(compose.services)) {
    if (build === undefined) expect(image, name).toMatch(/:v?\d+\.\d+[\w.-]*$/)
  }
  const dockerfile = readFileSync('Dockerfile', 'utf8')
  expect(dockerfile).toMatch(/^ARG NODE_IMAGE=node:24-slim$/m)
  expect(dockerfile.match(/^FROM \$\{NODE_IMAGE\}( AS build)?$/gm)).toHaveLength(2)
  expect(dockerfile).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m)
  expect(dockerfile).toMatch(/^ENTRYPOINT \["tini", "--", /m)
  // A check that starts Node takes seconds on a busy machine. `test/repo/health.test.ts` runs the script.
  expect(dockerfile).toMatch(/^HEALTHCHECK .* CMD \["bash", "health.sh"\]$/m)
  expect(dockerfile).toMatch(/^COPY .*deploy\/health.sh/m)
})
