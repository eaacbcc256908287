import { zeroAddress } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import { isRevert } from '../../chain/rpc/errors.ts'
import type { Outcome } from '../../chain/rpc/transport.ts'
import type { LastIds } from '../../db/index/work/progress.ts'
import type { StoredBlock } from '../../db/stored.ts'
import type { Call } from '../../protocol/abi/outputs.ts'
import { type Entity, type Identity, identityCall, kinds, ownerOf } from '../../protocol/entities.ts'

/** The call of an entity's record. Its outcome shows whether the entity exists (`exists`). */
export const recordCall = ({ kind, id }: Entity): Call<Identity> => identityCall(kind, id)

/**
 * Whether an entity exists. The view of an unknown id reverts on some deployments and returns zeros on others; an
 * existing entity has an owner.
 */
export const exists = (outcome: Outcome<Identity> | undefined): boolean =>
  outcome?.ok === true && ownerOf(outcome.value) !== zeroAddress

/** Whether none of the entities exists; false also when a node did not answer. */
export const noneExists = (outcomes: readonly Outcome<Identity>[]): boolean =>
  outcomes.every((outcome) => (outcome.ok ? !exists(outcome) : isRevert(outcome.error)))

/**
 * The entities whose absence proves that an index with these last ids is complete, because ids are dense: the next id
 * of each kind, or both ids at which a deployment may begin if the index has none.
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
