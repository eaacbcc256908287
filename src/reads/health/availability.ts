import type { Chain } from '../../chain/chain.ts'
import { isUnavailable, unavailable } from '../../lib/errors.ts'
import { type Metrics, show } from '../../lib/observe/metrics.ts'
import { withTimeout } from '../../lib/with-timeout.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { type HealthSources, readiness } from './health.ts'

/** How long the health of an index may take, in milliseconds: less than a balancer waits for an answer. */
const PATIENCE_MS = 1_000

type ReadyChain = { readonly chainId: ChainId; readonly indexedBlock: number; readonly lagSeconds: number }

/** What a process can do: everything (`ok`), some of it (`degraded`), or nothing (`unavailable`). */
const availabilityStates = ['ok', 'degraded', 'unavailable'] as const

export type Availability = {
  readonly state: (typeof availabilityStates)[number]
  /** The chains whose index is ready. */
  readonly chains: readonly ReadyChain[]
  /** Why the others are not. */
  readonly problems: readonly string[]
}

/**
 * Judges what a process can do. A process whose indexes were never ready is `unavailable`: an upgrade waits for it.
 * Later it is `degraded` as long as the database answers, whose lists it serves, or a node, from which it reads single
 * records: all processes share a database, and a balancer that left out all of them would turn an outage of lists into
 * one of everything. Nodes are asked only while the database does not answer.
 */
export const createAvailability = (
  sources: HealthSources,
  { patienceMs = PATIENCE_MS }: { readonly patienceMs?: number } = {},
) => {
  let wasReady = false
  const late = () => unavailable(`the database has not answered for ${patienceMs / 1_000} s`)

  const judge = async ([chainId, { deployment }]: [ChainId, Chain]) => {
    let isServed = false
    try {
      const health = await withTimeout(() => sources.healthOf(chainId), { ms: patienceMs, late })
      isServed = health.indexed !== null
      const { indexedBlock, lagSeconds } = readiness(deployment, health, sources.maxLagSeconds)
      return { isServed, ready: { chainId, indexedBlock: Number(indexedBlock), lagSeconds }, problem: null }
    } catch (fault) {
      if (!isUnavailable(fault)) throw fault
      return { isServed, ready: null, problem: fault.message }
    }
  }

  const hasNode = async (): Promise<boolean> => {
    const all = [...sources.chains.values()]
    await Promise.all(all.map((chain) => chain.refresh()))
    return all.some((chain) => chain.status().endpoints.some(({ rank }) => rank === 'ok'))
  }

  return {
    async read(): Promise<Availability> {
      const all = await Promise.all([...sources.chains].map(judge))
      const chains = all.flatMap(({ ready }) => ready ?? [])
      const problems = all.flatMap(({ problem }) => problem ?? [])
      if (problems.length === 0) wasReady = true
      const state = problems.length === 0 ? 'ok' : 'degraded'
      const isUseful = wasReady && (all.some(({ isServed }) => isServed) || (await hasNode()))
      return { state: isUseful ? state : 'unavailable', chains, problems }
    },
  }
}

export type AvailabilityReader = ReturnType<typeof createAvailability>

/** Shows what this process can do. */
export const showAvailability = (metrics: Metrics, { read }: AvailabilityReader): void =>
  show(metrics, read, [
    {
      name: 'fx_availability',
      help: 'What this process can do: 1 for the current state, 0 for the others',
      labels: ['state'],
      of: ({ state }) => availabilityStates.map((it) => [{ state: it }, it === state ? 1 : 0] as const),
    },
  ])
