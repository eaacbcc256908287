import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { type ChainId, chainIds } from '../../protocol/chains.ts'
import { indexedBlock, lagging } from '../../reads/lag.ts'
import type { Sources } from '../../reads/read.ts'
import { envelope, errorResponses } from '../envelope.ts'

const Live = z.object({ status: z.literal('ok') })
const Ready = z.object({
  status: z.literal('ok'),
  chains: z.array(z.object({ chainId: z.int(), indexedBlock: z.int(), lagSeconds: z.int() })),
})

type ChainHealth = z.output<typeof Ready>['chains'][number]

const healthOf = async (sources: Sources, chainId: ChainId): Promise<ChainHealth> => {
  const { block, lagSeconds } = await indexedBlock(sources, chainId)
  if (lagSeconds > sources.maxLagSeconds) throw lagging(chainId, lagSeconds)
  return { chainId, indexedBlock: Number(block.number), lagSeconds }
}

/** `/livez`: the process answers. `/readyz`: the database too, and the index of every chain is in bounds; else 503. */
export const healthRoutes: FastifyPluginAsync<{ readonly sources: Sources }> = async (app, { sources }) => {
  app.get('/livez', { schema: { response: { 200: envelope(Live) } } }, async () => ({ data: { status: 'ok' } }))

  app.get('/readyz', { schema: { response: { 200: envelope(Ready), ...errorResponses } } }, async () => ({
    data: { status: 'ok', chains: await Promise.all(chainIds.map((id) => healthOf(sources, id))) },
  }))
}
