import type { Address, Hex } from 'viem'
import { type Request, viewCall } from '../../chain/rpc/requests.ts'
import type { Outcome } from '../../chain/rpc/transport.ts'
import type { Call } from '../../protocol/abi/outputs.ts'
import { type EntityViews, entityCalls, type Kind } from '../../protocol/entities.ts'
import type { Terms } from '../../protocol/sentence.ts'

/*
 * What the call of a plan is about: an event, or the deposit or position that its first argument names, as the chain
 * has it before the call.
 */

/** The views of each kind of subject that plans need. */
const factNames = {
  event: ['core', 'range', 'stats', 'paymentToken'],
  deposit: ['deposit', 'pending'],
  position: ['position'],
} as const satisfies { readonly [K in Kind]: readonly (keyof EntityViews<K>)[] }

type Outputs = EntityViews<'event'> & EntityViews<'deposit'> & EntityViews<'position'>

/** The outputs of a subject's views by name; those that reverted are left out. */
export type Facts = Partial<Pick<Outputs, (typeof factNames)[Kind][number]>>

/** The kind and the id of what a call is about. */
export type Subject = { readonly kind: Kind; readonly id: bigint }

/** The requests of a subject's views at a block, in the order that `factsOf` expects; none without a subject. */
export const factRequests = (subject: Subject | null, diamond: Address, blockHash: Hex): Request<unknown>[] => {
  if (subject === null) return []
  const calls: Readonly<Record<string, (id: bigint) => Call>> = entityCalls(subject.kind)
  return factNames[subject.kind]
    .flatMap((name) => calls[name]?.(subject.id) ?? [])
    .map((view) => viewCall(diamond, view, { blockHash }))
}

/** The outputs of the answers to `factRequests`. */
export const factsOf = (subject: Subject | null, outcomes: readonly Outcome<unknown>[]): Facts =>
  subject === null
    ? {}
    : Object.fromEntries(
        factNames[subject.kind].flatMap((name, at) => (outcomes[at]?.ok ? [[name, outcomes[at].value]] : [])),
      )

/** The event that a subject is or belongs to; null when it does not exist. */
export const eventOf = ({ core, deposit, position }: Facts): bigint | null => {
  const eventId = core?.id ?? deposit?.eventId ?? position?.eventId ?? 0n
  return eventId === 0n ? null : eventId
}

/** The terms of an event; null for one that does not exist or was not read. */
export const termsOf = ({ core, range }: Facts): Terms | null =>
  core === undefined || range === undefined || core.id === 0n ? null : { ...core, ...range }
