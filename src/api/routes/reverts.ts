import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { reverts } from '../../protocol/reverts/catalogue.ts'
import { RevertRecord } from '../../protocol/reverts/record.ts'
import { envelope, type Operation, route } from '../operation.ts'
import { SETTLED } from '../response-cache/cache.ts'

const schema = envelope(z.array(RevertRecord))
const input = { params: z.object({}), querystring: z.object({}) }

/** `/reverts`: the codes of simulations. */
export const revertRoutes: FastifyPluginAsync = async (app) => {
  const operation: Operation = {
    tag: 'Transactions',
    summary: 'Why transactions revert',
    description:
      'Returns the catalogue of reverts by code: what contracts return, the cause, and what the caller can do. ' +
      'The `simulation` of a built transaction has one of these codes.',
    headers: ['Cache-Control'],
  }
  const data = [...reverts]
  app.get('/reverts', route(operation, schema, input), async (_, reply) => {
    reply.header('cache-control', SETTLED)
    return { data }
  })
}
