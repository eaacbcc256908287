import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { unavailable } from '../../lib/errors.ts'
import { type ChainId, chainIds } from '../../protocol/chains.ts'
import { chainOf, type Sources } from '../../reads/read.ts'
import { readiness } from '../../reads/vitals.ts'
import { envelope, errorResponses } from '../envelope.ts'
import type { Operation } from '../operation.ts'

const Live = z.object({ status: z.literal('ok') })
const Ready = z.object({
  status: z.literal('ok'),
  chains: z.array(
    z.object({
      chainId: z.int().positive().meta({ example: 8453 }),
      indexedBlock: z.int().nonnegative().meta({ example: 31_415_926 }),
      lagSeconds: z.int().nonnegative().meta({ example: 2 }),
    }),
  ),
})

type ChainHealth = z.output<typeof Ready>['chains'][number]

const healthOf = async (sources: Sources, chainId: ChainId): Promise<ChainHealth> => {
  const { indexedBlock, lagSeconds } = readiness(
    chainOf(sources, chainId).deployment,
    await sources.vitals(chainId),
    sources.maxLagSeconds,
  )
  return { chainId, indexedBlock: Number(indexedBlock), lagSeconds }
}

/**
 * `/livez`: the process answers. `/readyz`: the database too, a worker reaches every chain and its index is in bounds; else 503, and from
 * `draining` on. Neither asks a node.
 */
export const healthRoutes: FastifyPluginAsync<{
  readonly sources: Sources
  readonly draining: AbortSignal
}> = async (app, { sources, draining }) => {
  const live: Operation = { tag: 'Service', summary: 'Liveness', description: 'The process answers.' }
  app.get(
    '/livez',
    { schema: { response: { 200: envelope(Live) } }, config: { operation: live, unlimited: true } },
    async () => ({
      data: { status: 'ok' },
    }),
  )

  const ready: Operation = {
    tag: 'Service',
    summary: 'Readiness',
    description:
      'The database answers, a worker reaches every chain, its index is as close to the head as it must be, and the process is not about to stop.',
    failures: ['service_unavailable'],
  }
  const schema = { response: { 200: envelope(Ready), ...errorResponses } }
  // Load balancers poll it; a refusal is its answer and no failed request. Alarms and metrics have the reason.
  const quiet = { logLevel: 'error' } as const
  app.get('/readyz', { schema, config: { operation: ready, unlimited: true }, ...quiet }, async () => {
    if (draining.aborted) throw unavailable('this process is about to stop')
    return { data: { status: 'ok', chains: await Promise.all(chainIds.map((id) => healthOf(sources, id))) } }
  })
}
