import type { Address, Hex } from 'viem'
import { type Request, viewCall } from '../../chain/rpc/requests.ts'
import type { Outcome } from '../../chain/rpc/transport.ts'
import type { Call } from '../../protocol/abi/outputs.ts'
import { type Entity, type EntityViews, entityCalls, type Kind } from '../../protocol/entities.ts'
import type { Terms } from '../../protocol/sentence.ts'

/*
 * The entity that the call of a plan is about: the event, deposit or position that its first argument names, as the
 * chain has it before the call.
 */

/** The views of each kind of entity that plans need. */
const factNames = {
  event: ['core', 'range', 'stats', 'paymentToken'],
  deposit: ['deposit', 'pending'],
  position: ['position'],
} as const satisfies { readonly [K in Kind]: readonly (keyof EntityViews<K>)[] }

type Outputs = EntityViews<'event'> & EntityViews<'deposit'> & EntityViews<'position'>

/** The outputs of an entity's views by name; those that reverted are left out. */
export type Facts = Partial<Pick<Outputs, (typeof factNames)[Kind][number]>>

/** The requests of an entity's views at a block, in the order that `factsOf` expects; none without an entity. */
export const factRequests = (entity: Entity | null, diamond: Address, blockHash: Hex): Request<unknown>[] => {
  if (entity === null) return []
  const calls: Readonly<Record<string, (id: bigint) => Call>> = entityCalls(entity.kind)
  return factNames[entity.kind]
    .flatMap((name) => calls[name]?.(entity.id) ?? [])
    .map((view) => viewCall(diamond, view, { blockHash }))
}

/** The outputs of the answers to `factRequests`. */
export const factsOf = (entity: Entity | null, outcomes: readonly Outcome<unknown>[]): Facts =>
  entity === null
    ? {}
    : Object.fromEntries(
        factNames[entity.kind].flatMap((name, at) => (outcomes[at]?.ok ? [[name, outcomes[at].value]] : [])),
      )

/** The event that an entity is or belongs to; null when it does not exist. */
export const eventOf = ({ core, deposit, position }: Facts): bigint | null => {
  const eventId = core?.id ?? deposit?.eventId ?? position?.eventId ?? 0n
  return eventId === 0n ? null : eventId
}

/** The terms of an event; null for one that does not exist or was not read. */
export const termsOf = ({ core, range }: Facts): Terms | null =>
  core === undefined || range === undefined || core.id === 0n ? null : { ...core, ...range }
