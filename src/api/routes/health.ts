import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import type { WebhooksHealth } from '../../db/webhooks/endpoints.ts'
import { isUnavailable, nullIfUnavailable, unavailable } from '../../lib/errors.ts'
import { commit, release } from '../../lib/root.ts'
import { OfChain } from '../../protocol/chains.ts'
import type { AvailabilityReader } from '../../reads/health/availability.ts'
import type { Checks } from '../../reads/health/checks.ts'
import type { HealthSources } from '../../reads/health/health.ts'
import type { Lags } from '../../reads/health/lags.ts'
import { ChainStatus, chainStatus } from '../../reads/health/status.ts'
import { WebhooksStatus, webhookAlarms, webhooksStatus } from '../../reads/health/webhooks.ts'
import { envelope, type Operation, route } from '../operation.ts'

const Live = z.object({ status: z.literal('ok') })
const Ready = z.object({
  status: z.literal('ok').meta({ description: 'The process may receive requests' }),
  degraded: z.boolean().meta({ description: 'Whether a part of the service is out of reach or out of date' }),
  chains: z
    .array(
      z.object({
        chainId: OfChain,
        indexedBlock: z.int().nonnegative(),
        lagSeconds: z.int().nonnegative(),
      }),
    )
    .meta({ description: 'The chains whose index is ready' }),
  problems: z.array(z.string()).meta({ description: 'Why the others are not; empty when all are' }),
})

const unlimited = (operation: Operation, data: z.ZodType) => {
  const { schema, config } = route(operation, envelope(data))
  return { schema, config: { ...config, unlimited: true } } as const
}

type Options = { readonly availability: AvailabilityReader; readonly draining: AbortSignal }

/** `/livez`: the process answers. `/readyz`: it can do something useful, and `draining` has not aborted. */
export const healthRoutes: FastifyPluginAsync<Options> = async (app, { availability, draining }) => {
  const live: Operation = {
    tag: 'Service',
    summary: 'Check liveness',
    description: 'Returns 200 while the process answers.',
  }
  app.get('/livez', unlimited(live, Live), async () => ({ data: { status: 'ok' } }))

  const ready: Operation = {
    tag: 'Service',
    summary: 'Check readiness',
    description:
      'Returns 200 while the database answers, a worker reaches every chain, and the lag of each index is within bounds. A process that was ready stays it, `degraded` and with the problems, as long as the database or a node answers. Returns 503 with the reason before, when neither is so, and when the process is about to stop.',
  }
  // Load balancers poll this route. A 503 is not logged: alarms and metrics have the reason.
  app.get('/readyz', { ...unlimited(ready, Ready), logLevel: 'error' }, async () => {
    if (draining.aborted) throw unavailable('this process is about to stop')
    const { state, chains, problems } = await availability.read()
    if (state === 'unavailable') throw unavailable(problems.join('; '))
    return { data: { status: 'ok', degraded: state === 'degraded', chains, problems } }
  })
}

/** @internal */
export const Status = z.object({
  release: z.string().meta({ description: 'Version of the running release' }),
  commit: z
    .string()
    .nullable()
    .meta({ description: 'Commit that the running build was made of; null where it is not known' }),
  chains: z.array(ChainStatus),
  webhooks: WebhooksStatus.nullable().meta({ description: 'The webhooks; null while the database is out of reach' }),
  alarms: z.array(z.string()).meta({
    description: 'The problems that concern no chain in particular, and their remedies; empty when there are none',
  }),
})

/** The sources of the status. */
export type StatusSources = HealthSources & {
  readonly checks: Pick<Checks, 'of'>
  readonly lags: Pick<Lags, 'of'>
  /** Throws `service_unavailable` when the database is out of reach. */
  readonly webhooksHealth: () => Promise<WebhooksHealth>
}

const LIMIT_NOT_SHARED =
  'This process counts requests on its own, so clients may exceed the shared rate limit: check that Redis answers at REDIS_URL and accepts writes.'

const status: Operation = {
  tag: 'Service',
  summary: 'Retrieve the state of the index',
  description:
    'Returns the state of every chain and its index, and problems with their remedies in words. It is meant for operators and dashboards; load balancers should use `/readyz`.',
}

/** `/status`: without the database, it shows what this process knows of its nodes; without nodes too, it is a 503. */
export const statusRoutes: FastifyPluginAsync<{
  readonly sources: StatusSources
  /** False while this process counts requests on its own although the rate limit is shared. */
  readonly isLimitShared: () => boolean
}> = async (app, { sources, isLimitShared }) => {
  app.get('/status', route(status, envelope(Status)), async () => {
    const results = await Promise.all(
      [...sources.chains].map(async ([chainId, chain]) => {
        const reading = sources.healthOf(chainId).catch((fault: unknown) => {
          if (!isUnavailable(fault)) throw fault
          return fault
        })
        const [health] = await Promise.all([reading, chain.refresh()])
        const isError = health instanceof Error
        return { chainId, nodes: chain.status(), health: isError ? null : health, fault: isError ? health : null }
      }),
    )
    const isKnown = results.some(({ health, nodes }) => health ?? nodes.endpoints.some(({ height }) => height !== null))
    const fault = results.find((it) => it.fault !== null)?.fault
    if (!isKnown && fault) throw fault
    const { maxLagSeconds } = sources
    const webhooks = await sources.webhooksHealth().catch(nullIfUnavailable)
    return {
      data: {
        release,
        commit,
        chains: results.map((it) => {
          const { chainId } = it
          return chainStatus({
            ...it,
            checks: sources.checks.of(chainId),
            lags: sources.lags.of(chainId),
            maxLagSeconds,
          })
        }),
        webhooks: webhooks && webhooksStatus(webhooks),
        alarms: [...(isLimitShared() ? [] : [LIMIT_NOT_SHARED]), ...(webhooks ? webhookAlarms(webhooks) : [])],
      },
    }
  })
}
