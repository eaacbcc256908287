import { invalidField } from '../../lib/errors.ts'
import { type Moment, QueryMoment } from '../../protocol/fields/request-fields.ts'

/** The parameter of reads that can answer as of a moment of the past. */
export const atField = {
  at: QueryMoment.optional().meta({
    description:
      'Return the state at the end of the last block not after this moment: a block number, a time in Unix seconds, or an ISO 8601 time. The headers `X-Block-*` name the block',
  }),
}

/** Requires that none of these parameters is combined with `at`. */
export const requireAlone = (query: Readonly<Record<string, unknown>>, names: readonly string[]): void => {
  const other = names.find((name) => query[name] !== undefined)
  if (other !== undefined) throw invalidField(other, 'cannot be combined with at, which asks for the past')
}

/** The moment as a text, by which cursors are of one list. */
export const momentText = (moment: Moment | undefined): string | undefined =>
  moment && ('block' in moment ? `block ${moment.block}` : `${moment.seconds} s`)

/** Requires that a moment which names a block is of one chain. */
export const requireOneChain = (name: string, moment: Moment | undefined, chains: readonly unknown[]): void => {
  if (moment !== undefined && 'block' in moment && chains.length > 1)
    throw invalidField(name, 'a block number requires one chainId: use a time, or name the chain')
}

/** Requires that a moment is not after another one, where both are blocks or both are times. */
export const requireOrder = (from: Moment | undefined, to: Moment | undefined): void => {
  if (from === undefined || to === undefined) return
  const isLater =
    'block' in from ? 'block' in to && from.block > to.block : 'seconds' in to && from.seconds > to.seconds
  if (isLater) throw invalidField('from', 'expected a moment before to')
}

export type At = { readonly at?: Moment | undefined }
