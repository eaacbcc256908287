import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { isUnavailable } from '../../lib/errors.ts'
import type { Checks } from '../../reads/health/checks.ts'
import type { HealthSources } from '../../reads/health/health.ts'
import { ChainStatus, chainStatus } from '../../reads/health/status.ts'
import { envelope, type Operation, route } from '../operation.ts'

/** @internal */
export const Status = z.object({
  chains: z.array(ChainStatus),
  alarms: z.array(z.string()).meta({
    description:
      'The problems of this process that concern no chain in particular, and their remedies; empty when there are none',
    example: [],
  }),
})

const LIMIT_NOT_SHARED =
  'This process counts requests on its own, so clients may exceed the shared rate limit: check that Redis answers at REDIS_URL and accepts writes.'

const operation: Operation = {
  tag: 'Service',
  summary: 'Retrieve the state of the index',
  description:
    'Returns the state of every chain and its index, and problems with their remedies in words. It is meant for operators and dashboards; load balancers should use `/readyz`.',
}

/**
 * `/status`: without the database, the response contains what this process knows of its nodes. It is a 503 only when no
 * node is in reach either.
 */
export const statusRoutes: FastifyPluginAsync<{
  readonly sources: HealthSources & { readonly checks: Pick<Checks, 'of'> }
  /** False while this process counts requests on its own although the rate limit is shared. */
  readonly isLimitShared: () => boolean
}> = async (app, { sources, isLimitShared }) => {
  app.get('/status', route(operation, envelope(Status)), async () => {
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
    return {
      data: {
        chains: results.map((it) => chainStatus({ ...it, checks: sources.checks.of(it.chainId), maxLagSeconds })),
        alarms: isLimitShared() ? [] : [LIMIT_NOT_SHARED],
      },
    }
  })
}
