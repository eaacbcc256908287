import type { FastifyReply } from 'fastify'
import type { AtLeast } from '../reads/freshness/consistency.ts'
import type { RevertedMeta } from '../reads/freshness/reverted.ts'

/**
 * Marks the response to a read after a transaction that reverted: sets the header, which also a 304 has, and returns
 * the fields to add to `meta`. Undefined for any other read.
 */
export const markReverted = (reply: FastifyReply, atLeast: AtLeast | null): RevertedMeta | undefined => {
  if (atLeast?.isReverted !== true) return undefined
  reply.header('x-transaction', 'reverted')
  return { transaction: 'reverted' }
}
