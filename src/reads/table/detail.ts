import type { Kind } from '../../protocol/entities.ts'
import { details } from '../lists/records.ts'
import type { Input, Read } from '../read.ts'

type State = { readonly status?: number; readonly withdrawn?: boolean; readonly claimed?: boolean }

/** The fields of the log that ended what a record is for, and whether a state has that. */
const endings: Readonly<Record<Kind, { readonly fields: readonly string[]; holds(state: State): boolean }>> = {
  event: { fields: ['settledBlock', 'settledTx'], holds: ({ status }) => status !== 0 },
  deposit: { fields: ['withdrawnAt', 'withdrawnTx'], holds: ({ withdrawn }) => withdrawn === true },
  position: { fields: ['claimedAt', 'claimedTx'], holds: ({ claimed }) => claimed === true },
}

const nulls = (fields: readonly string[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(fields.map((name) => [name, null]))

const created = ['createdBlock', 'createdTx', 'createdAt', 'createdLogIndex', 'token', 'symbol', 'decimals']

/**
 * The read of a record with what the index adds: where it was created, its token, and the log that ended it. The state
 * decides whether it ended, because the index may be behind the chain, and the state may be of the past.
 */
export const detail = (kind: Kind, read: Omit<Read, 'tag'>): Omit<Read, 'tag'> => ({
  ...read,
  description: `${read.description} The index adds where it was created, its token, and how it ended.`,
  data: details[kind],
  async answer(sources, input) {
    const { chainId, id } = input as Input<'/:chainId/:id'>
    const [answer, indexed] = await Promise.all([read.answer(sources, input), sources.indexed(kind, chainId, id)])
    if ('missing' in answer) return answer
    const { fields, holds } = endings[kind]
    const state: State = Object(answer.data)
    const ended = holds(state)
    const added = { ...nulls(created), ...nulls(fields), ...indexed, ...(!ended && nulls(fields)) }
    // What is not known yet may be known later, without a change of the record.
    const isPartial = ['createdTx', ...(ended ? fields : [])].some((it) => added[it] === null)
    return { ...answer, data: { ...state, ...added, chainId }, isPartial }
  },
})
