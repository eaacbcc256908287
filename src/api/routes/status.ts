import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { isUnavailable } from '../../lib/errors.ts'
import { chainIds } from '../../protocol/chains.ts'
import { chainOf, type Sources } from '../../reads/read.ts'
import { ChainStatus, chainStatus } from '../../reads/status.ts'
import { envelope, errorResponses } from '../envelope.ts'
import type { Operation } from '../operation.ts'

export const Status = z.object({
  chains: z.array(ChainStatus),
  alarms: z.array(z.string()).meta({
    description: 'What is wrong with this process, of whatever chain, and what to do about it; empty when all is well',
    example: [],
  }),
})

const ALONE =
  'This process counts requests on its own, so clients may exceed the shared rate limit: see that Redis answers at REDIS_URL and takes writes.'

const operation: Operation = {
  tag: 'Service',
  summary: 'State of the index',
  description:
    'How every chain and its index are, what is proved of it, and what is wrong, in words. For people and dashboards: whether to send traffic is for `/readyz` to say.',
  failures: ['service_unavailable'],
}

/** `/status`: 200 as long as anything is known; without the database, what this process knows of its nodes. */
export const statusRoutes: FastifyPluginAsync<{
  readonly sources: Sources
  /** Whether requests are counted with other processes wherever they should be. */
  readonly isLimitShared: () => boolean
}> = async (app, { sources, isLimitShared }) => {
  const schema = { response: { 200: envelope(Status), ...errorResponses } }
  app.get('/status', { schema, config: { operation } }, async () => {
    const seen = await Promise.all(
      chainIds.map(async (chainId) => {
        const chain = chainOf(sources, chainId)
        const refreshed = chain.refresh()
        try {
          const vitals = await sources.vitals(chainId)
          await refreshed
          return { chainId, nodes: chain.status(), vitals, fault: null }
        } catch (fault) {
          if (!isUnavailable(fault)) throw fault
          await refreshed
          return { chainId, nodes: chain.status(), vitals: null, fault }
        }
      }),
    )
    const isKnown = seen.some(({ vitals, nodes }) => vitals ?? nodes.endpoints.some(({ height }) => height !== null))
    const fault = seen.find((it) => it.fault !== null)?.fault
    if (!isKnown && fault) throw fault
    const { maxLagSeconds } = sources
    return {
      data: {
        chains: seen.map((it) => chainStatus({ ...it, checks: sources.checks.of(it.chainId), maxLagSeconds })),
        alarms: isLimitShared() ? [] : [ALONE],
      },
    }
  })
}
