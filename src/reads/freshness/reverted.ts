import { z } from 'zod'

const transaction = z
  .literal('reverted')
  .meta({ description: 'The transaction of `afterTx` reverted: it changed nothing' })

/** The `meta` of a read that has no other `meta`, after a transaction that reverted. */
export const RevertedMeta = z.object({ transaction }).meta({ id: 'RevertedMeta' })

export type RevertedMeta = z.output<typeof RevertedMeta>

/** The same as a field of a `meta` that has others. */
export const revertedField = { transaction: transaction.optional() }
