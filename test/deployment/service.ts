import { z } from 'zod'
import { createBalancer, type Outcome } from '../faults/balancer.ts'
import { docker, run } from './engine.ts'
import type { Folder } from './folder.ts'
import type { Chains, Receiver } from './outside.ts'

/* The running deployment, as an operator and a client see it. */

/** The containers that run. */
const EXPECTED: Readonly<Record<string, number>> = { api: 2, engine: 1, postgres: 1, redis: 1, worker: 2 }

const Ready = z.object({
  data: z.object({
    degraded: z.boolean(),
    chains: z.array(z.object({ chainId: z.number(), indexedBlock: z.number() })),
  }),
})
const Status = z.object({ data: z.object({ commit: z.string().nullable(), alarms: z.array(z.string()) }) })
const Kept = z.object({
  endpoints: z.array(z.string()),
  deliveries: z.array(z.string()),
  settlements: z.array(z.string()),
})

export type Kept = z.output<typeof Kept>

/** What no chain has, by key. */
const KEPT = `SELECT json_build_object(
  'endpoints', (SELECT coalesce(json_agg(id), '[]') FROM webhook_endpoints),
  'deliveries', (SELECT coalesce(json_agg(endpoint || ' ' || id), '[]') FROM deliveries),
  'settlements', (SELECT coalesce(json_agg(concat_ws(' ', seq, type, chain_id, event_id)), '[]') FROM settlements))`

/** The container of the worker that indexes a chain has this address in the network of the database. */
const LEADER = `SELECT host(client_addr) FROM leases JOIN pg_stat_activity ON pid = session_pid
  WHERE expires_at > now() ORDER BY chain_id LIMIT 1`

const fetchJson = async (url: string): Promise<unknown> => {
  const response = await fetch(url, { signal: AbortSignal.timeout(5_000) })
  if (!response.ok) throw new Error(`${url}: ${response.status}`)
  return response.json()
}

/** What has to hold again after a fault, from the blocks and the time of the fault. */
type Since = { readonly heads: ReadonlyMap<number, number>; readonly at: number }
type Sign = (since: Since) => Promise<boolean>

type Options = {
  readonly folder: Folder
  readonly project: string
  readonly chains: Chains
  readonly receiver: Receiver
}

export const openService = ({ folder, project, chains, receiver }: Options) => {
  const origins = folder.ports.map((port) => `http://127.0.0.1:${port}`)
  let version = ''
  let database = 'fx'
  const environment = (): NodeJS.ProcessEnv => ({
    ...process.env,
    COMPOSE_PROJECT_NAME: project,
    API_PORTS: `${folder.ports[0]}-${folder.ports.at(-1)}`,
    VERSION: version,
  })
  const here = (program: string, ...args: readonly string[]): Promise<string> =>
    run(program, args, { cwd: folder.path, env: environment() })
  const compose = (...args: readonly string[]): Promise<string> => here('docker', 'compose', ...args)
  const psql = (query: string): Promise<string> =>
    compose(
      'exec',
      '-T',
      'postgres',
      'psql',
      '--username',
      'fx',
      '--tuples-only',
      '--no-align',
      '--command',
      query,
      database,
    )
  const idsOf = async (service: string): Promise<string[]> =>
    (await compose('ps', '--quiet', service)).split('\n').filter(Boolean)

  const readiness = async () =>
    Promise.all(origins.map(async (origin) => Ready.parse(await fetchJson(`${origin}/readyz`)).data))

  const signs: Readonly<Record<string, Sign>> = {
    API: async () => (await readiness()).every(({ degraded }) => !degraded),
    index: async ({ heads }) =>
      (await readiness()).some(({ chains: indexed }) =>
        // More than the next block: a leader may have been about to write it.
        [...heads].every(([chainId, head]) =>
          indexed.some((it) => it.chainId === chainId && it.indexedBlock > head + 1),
        ),
      ),
    quotes: async () => (await Promise.any(origins.map((origin) => fetchJson(`${origin}/v1/pricing/health`)))) !== null,
    webhooks: async ({ at }) => receiver.newest() > at,
    containers: async () => {
      const format = '{{.Label "com.docker.compose.service"}} {{.Status}}'
      const lines = (
        await docker('ps', '--filter', `label=com.docker.compose.project=${project}`, '--format', format)
      ).split('\n')
      return Object.entries(EXPECTED).every(
        ([service, count]) =>
          lines.filter((line) => line.startsWith(`${service} Up`) && line.endsWith('(healthy)')).length === count,
      )
    },
  }

  const balancer = createBalancer({ probeEveryMs: 250, pauseMs: 100 })
  return {
    project,
    path: folder.path,
    here,
    compose,
    psql,
    idsOf,
    signNames: Object.keys(signs),
    signs,
    setVersion(tag: string): void {
      version = tag
    },
    useDatabase(name: string): void {
      database = name
    },
    database: () => database,
    since: async (): Promise<Since> => ({ heads: await chains.heads(), at: Date.now() }),
    kept: async (): Promise<Kept> => Kept.parse(JSON.parse(await psql(KEPT))),
    /** The commits that the replicas of the API report. */
    commits: async (): Promise<(string | null)[]> =>
      Promise.all(origins.map(async (origin) => Status.parse(await fetchJson(`${origin}/status`)).data.commit)),
    alarms: async (): Promise<readonly string[]> => Status.parse(await fetchJson(`${origins[0]}/status`)).data.alarms,
    /** The container of the worker that leads a chain. */
    leader: async (): Promise<string> => {
      const address = await psql(LEADER)
      for (const id of await idsOf('worker')) {
        const addresses = await docker(
          'inspect',
          '--format',
          '{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}',
          id,
        )
        if (addresses.split(' ').includes(address)) return id
      }
      throw new Error(`no worker has the address ${address || 'of a leader'}`)
    },
    startRequests(): void {
      for (const [at, origin] of origins.entries()) balancer.add(`api ${at + 1}`, origin)
      const paths = [
        '/v1/chains',
        '/v1/hedge/events?limit=20',
        '/v1/hedge/events/8453/1',
        '/v1/hedge/positions?limit=20',
        `/v1/wallets/${chains.wallet}/portfolio`,
        '/v1/hedge/settlements?chainId=56',
        `/v1/activity?wallet=${chains.wallet}&limit=20`,
      ]
      balancer.start(
        paths.map((path) => ({ method: 'GET' as const, path })),
        1,
      )
    },
    /** The requests since the last call. */
    takeRequests: (): { readonly sent: number; readonly failed: readonly Outcome[] } => {
      const outcomes = balancer.take()
      return { sent: outcomes.length, failed: outcomes.filter(({ status }) => status < 200 || status >= 400) }
    },
    stop: balancer.stop,
  }
}

export type Service = ReturnType<typeof openService>
