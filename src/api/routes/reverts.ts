import type { FastifyPluginAsync } from 'fastify'
import type { Hex } from 'viem'
import { z } from 'zod'
import { reverts } from '../../protocol/reverts/catalogue.ts'
import { REVERTED, revertOf } from '../../protocol/reverts/decode.ts'
import { RevertRecord } from '../../protocol/reverts/record.ts'
import { envelope, type Operation, route } from '../operation.ts'
import { SETTLED } from '../response-cache/cache.ts'

const schema = envelope(z.array(RevertRecord))
const MAX_CODE = 64
const MAX_BYTES = 1_024
const codeError = `expected a code of lower-case letters and underscores, at most ${MAX_CODE} characters`
const dataError = `expected 0x and hex digits in pairs, at most ${MAX_BYTES} bytes`

const Query = z.object({
  code: z
    .string({ error: codeError })
    .max(MAX_CODE, { error: codeError })
    .regex(/^[a-z_]+$/, { error: codeError })
    .optional()
    .meta({ description: 'Return the entry with this code; none for a code that the catalogue does not have' }),
  data: z
    .string({ error: dataError })
    .max(2 + 2 * MAX_BYTES, { error: dataError })
    .regex(/^0x(?:[0-9a-fA-F]{2})*$/, { error: dataError })
    .optional()
    .meta({
      description:
        'Return the entry of the revert data of a call; `unknown_error` or `unknown_reason` if no entry has it',
    }),
})

const input = { params: z.object({}), querystring: Query }

/** `/reverts`: the codes of simulations. */
export const revertRoutes: FastifyPluginAsync = async (app) => {
  const operation: Operation = {
    tag: 'Transactions',
    summary: 'Why transactions revert',
    description:
      'Returns the catalogue of reverts by code: what contracts return, the cause, and what the caller can do. ' +
      'The `simulation` of a built transaction has one of these codes. ' +
      'With `code` or `data` it returns the entry that matches, or none.',
    headers: ['Cache-Control'],
    failures: ['unknown_parameter'],
  }
  type Asked = { Querystring: z.output<typeof Query> }
  app.get<Asked>('/reverts', route(operation, schema, input), async ({ query: { code, data } }, reply) => {
    reply.header('cache-control', SETTLED)
    const codes = [code, data && revertOf({ data: data as Hex, message: REVERTED }).code].filter(
      (it) => it !== undefined,
    )
    return { data: reverts.filter((row) => codes.every((it) => it === row.code)) }
  })
}
