import { zeroAddress } from 'viem'
import type { Chain } from '../chain/chain.ts'
import type { Outcome } from '../chain/endpoint.ts'
import { isRevert } from '../chain/errors.ts'
import type { LastIds } from '../db/progress.ts'
import type { StoredBlock } from '../db/stored.ts'
import { type Kind, kinds } from '../protocol/kinds.ts'
import { type Call, call, type Output } from '../protocol/outputs.ts'

/** One entity. */
export type Entity = { readonly kind: Kind; readonly id: bigint }

/** The view of an entity that names its owner. */
export type View = Output<'getHedgeEventCore'> | Output<'getHedgeLpDeposit'> | Output<'getHedgePosition'>

const views: Readonly<{ [K in Kind]: (id: bigint) => Call<View> }> = {
  event: (id) => call('getHedgeEventCore', [id]),
  deposit: (id) => call('getHedgeLpDeposit', [id]),
  position: (id) => call('getHedgePosition', [id]),
}

const ownerOf = (view: View): string => {
  if ('creator' in view) return view.creator
  return 'lp' in view ? view.lp : view.hedger
}

/** The call for an entity's record, which tells whether it exists: see `exists`. */
export const recordCall = ({ kind, id }: Entity): Call<View> => views[kind](id)

/** An unknown id reverts on some deployments and answers zeros on others; whatever exists belongs to somebody. */
export const exists = (outcome: Outcome<View> | undefined): boolean =>
  outcome?.ok === true && ownerOf(outcome.value) !== zeroAddress

/** Whether a node said of each that it does not exist; false also when it did not say. */
export const noneExists = (outcomes: readonly Outcome<View>[]): boolean =>
  outcomes.every((outcome) => (outcome.ok ? !exists(outcome) : isRevert(outcome.error)))

/**
 * Ids are dense. After these last ones an index is complete when none of the entities given here exists: the next of each kind, and
 * where none is held, either id at which a deployment may begin.
 */
export const absentAfter = (last: LastIds): Entity[] =>
  kinds.flatMap((kind) => {
    const id = last[kind]
    return (id === null ? [0n, 1n] : [id + 1n]).map((next) => ({ kind, id: next }))
  })

/** The first of the entities that exists at a block; undefined when none does. Throws as `Chain.readAt` does. */
export const firstExisting = async (
  chain: Chain,
  block: Pick<StoredBlock, 'hash'>,
  entities: readonly Entity[],
): Promise<Entity | undefined> => {
  const outcomes = await chain.readAt(block, entities.map(recordCall))
  return entities.find((_, at) => exists(outcomes[at]))
}
