import type { FastifyPluginAsync } from 'fastify'
import type { z } from 'zod'
import { freshnessHeaders } from '../../reads/freshness/freshness.ts'
import { TransactionParams, TransactionQuery, TransactionRecord } from '../../reads/transactions/record.ts'
import type { Transactions } from '../../reads/transactions/transactions.ts'
import { clientOf } from '../client.ts'
import { envelope, freshnessHeaderNames, type Operation, route } from '../operation.ts'
import { SETTLED } from '../response-cache/cache.ts'

const operation: Operation = {
  tag: 'Transactions',
  summary: 'What became of a transaction',
  description: [
    'Returns the status of a transaction, what it created, its logs, its fee and, if it reverted, the reason. What it created comes from the logs',
    'of the protocol, so the answer is the same for an ordinary account, a batch of an account with code (EIP-7702) and a bundle of user operations',
    '(ERC-4337). `waitMs` waits until the transaction is mined and indexed; lists then contain what it created. A transaction that no node has is',
    '`unknown` and not a 404, because its sender may have sent it to another node. When no node answers, the index answers for recent transactions',
    'that created something, with `X-Stale: 1` and without fee, calls and logs. At most 8 look-ups per chain run at once and 512 wait; a further one',
    'is a 503 at once.',
  ].join(' '),
  failures: ['upstream_error'],
  headers: [...freshnessHeaderNames, 'Cache-Control', 'Server-Timing'],
}

/** `/transactions/:chainId/:hash`: the result of a transaction. */
export const transactionRoutes: FastifyPluginAsync<{ readonly transactions: Transactions }> = async (
  app,
  { transactions },
) => {
  app.get<{ Params: z.output<typeof TransactionParams>; Querystring: z.output<typeof TransactionQuery> }>(
    '/transactions/:chainId/:hash',
    route(operation, envelope(TransactionRecord), { params: TransactionParams, querystring: TransactionQuery }),
    async (request, reply) => {
      const { chainId, hash } = request.params
      const { data, freshness } = await transactions.read(clientOf(request), chainId, hash, request.query.waitMs ?? 0)
      const isLasting = data.finality === 'finalized' && data.indexed && data.revert?.exact !== false
      reply.headers({ ...freshnessHeaders(freshness), 'cache-control': isLasting ? SETTLED : 'no-store' })
      return { data }
    },
  )
}
