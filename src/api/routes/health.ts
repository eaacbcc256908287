import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { unavailable } from '../../lib/errors.ts'
import { type ChainId, OfChain } from '../../protocol/chains.ts'
import { type HealthSources, readiness } from '../../reads/health/health.ts'
import { chainOf } from '../../reads/read.ts'
import { envelope, type Operation, route } from '../operation.ts'

const Live = z.object({ status: z.literal('ok') })
const Ready = z.object({
  status: z.literal('ok'),
  chains: z.array(
    z.object({
      chainId: OfChain,
      indexedBlock: z.int().nonnegative().meta({ example: 31_415_926 }),
      lagSeconds: z.int().nonnegative().meta({ example: 2 }),
    }),
  ),
})

const healthOf = async (sources: HealthSources, chainId: ChainId) => {
  const { deployment } = chainOf(sources.chains, chainId)
  const { indexedBlock, lagSeconds } = readiness(deployment, await sources.healthOf(chainId), sources.maxLagSeconds)
  return { chainId, indexedBlock: Number(indexedBlock), lagSeconds }
}

const unlimited = (operation: Operation, data: z.ZodType) => {
  const { schema, config } = route(operation, envelope(data))
  return { schema, config: { ...config, unlimited: true } } as const
}

type Options = { readonly sources: HealthSources; readonly draining: AbortSignal }

/**
 * `/livez`: the process answers. `/readyz`: the database answers, a worker reaches every chain, and the lag of each
 * index is within bounds. Otherwise it is a 503, and also once `draining` has aborted. Neither sends a request to a
 * node.
 */
export const healthRoutes: FastifyPluginAsync<Options> = async (app, { sources, draining }) => {
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
      'Returns 200 while the database answers, a worker reaches every chain, the lag of each index is within bounds, and the process is not about to stop. Otherwise returns 503 with the reason.',
  }
  // Load balancers poll this route. A 503 is a regular response, so it is not logged; alarms and metrics have the
  // reason.
  app.get('/readyz', { ...unlimited(ready, Ready), logLevel: 'error' }, async () => {
    if (draining.aborted) throw unavailable('this process is about to stop')
    const chains = [...sources.chains.keys()].map((id) => healthOf(sources, id))
    return { data: { status: 'ok', chains: await Promise.all(chains) } }
  })
}
