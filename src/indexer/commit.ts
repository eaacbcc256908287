import { announce } from '../db/changes.ts'
import { holdLease, type Lease } from '../db/lease.ts'
import type { Copy, Database, Handle } from '../db/pool.ts'
import { byKind } from '../db/progress.ts'
import { MOST_SCOPES, protocolScope, type Scopes, scopesOf, scopesOfFacts, union } from '../db/scopes.ts'
import type { StoredBlock } from '../db/stored.ts'
import {
  holdNotes,
  markAwaitingSettlement,
  markEventsOf,
  markMembers,
  markUnobserved,
  type Run,
  runsOf,
  type Subject,
} from '../db/unobserved.ts'
import { recordUpgrade } from '../db/upgrades.ts'
import { addAnchor, type DatedFact, forgetSome, insertFacts, moveCursor, rollBack, thinAnchors } from '../db/write.ts'
import type { ChainId } from '../protocol/chains.ts'
import { type Kind, kinds } from '../protocol/kinds.ts'
import type { Hint, Member } from '../protocol/logs.ts'

/** What is written at once: facts and what their logs hint at, as of a block. */
type Written = {
  readonly block: StoredBlock
  readonly facts: readonly DatedFact[]
  readonly hints: readonly Hint[]
  /** Facts are complete up to the block. */
  readonly complete: boolean
  /** The protocol's own state has to be read: nothing of the chain was written before, or no log reports its changes. */
  readonly protocol: boolean
  /** Earlier writes were not complete: what they wrote comes to be seen with this one, if it is. */
  readonly uncovers: boolean
}

/** The writes of a chain's index. Each is one transaction that holds the lease, and throws LeaseLost when another worker has taken over. */
export type Commits = {
  write(lease: Lease, written: Written): Promise<void>
  /** Takes the index back to a block; to nothing with null. */
  backTo(lease: Lease, ancestor: StoredBlock | null): Promise<void>
}

const protocolState: Subject = { subject: 'chain', id: 0n }

/** What facts and hints say has changed: with a deposit or position also its event, with an event also the protocol's count. */
const changedBy = ({ facts, hints, protocol }: Written): (Subject | Run)[] => {
  const made = byKind(facts)
  const touched = new Set(facts.flatMap((fact) => (fact.kind === 'event' ? [] : fact.eventId)))
  for (const { id } of made.event) touched.delete(id)
  return [
    ...kinds.flatMap((kind) => runsOf(kind, made[kind])),
    ...[...touched].map((id) => ({ subject: 'event', id }) as const),
    ...hints.map((hint) => ('id' in hint ? { subject: hint.subject, id: hint.id } : protocolState)),
    ...(protocol || made.event.length > 0 ? [protocolState] : []),
  ]
}

/** The entities of a kind that hints name. */
const idsIn = (hints: readonly Hint[], kind: Kind): bigint[] =>
  hints.flatMap((hint) => ('id' in hint && hint.subject === kind ? hint.id : []))

const memberKinds: readonly Member[] = ['deposit', 'position']

/** The events whose members of a kind all changed. */
const eventsWith = (hints: readonly Hint[], member: Member): bigint[] =>
  hints.flatMap((hint) => (hint.subject === 'event' && hint.members.includes(member) ? hint.id : []))

export const createCommits = (deps: {
  readonly chainId: ChainId
  readonly database: Database
  readonly leaseTtlMs: number
}): Commits => {
  const { chainId, database, leaseTtlMs } = deps
  /** What facts and hints touch. Hints tell of deposits and positions that the index holds. */
  const touchedBy = async (handle: Handle, { facts, hints, uncovers }: Written): Promise<Scopes> => {
    if (uncovers || facts.length + hints.length > MOST_SCOPES) return null
    if (hints.some(({ subject }) => subject === 'code')) return null
    return union([
      scopesOfFacts(facts),
      new Set(hints.some(({ subject }) => subject === 'chain') ? [protocolScope] : []),
      await scopesOf(handle, chainId, 'event', idsIn(hints, 'event')),
      await scopesOf(handle, chainId, 'deposit', idsIn(hints, 'deposit')),
      await scopesOf(handle, chainId, 'position', idsIn(hints, 'position')),
    ])
  }
  const commit = <T>(lease: Lease, write: (handle: Handle, copy: Copy) => Promise<T>): Promise<T> =>
    database.transaction(async (handle, copy) => {
      await holdLease(handle, lease, leaseTtlMs)
      return write(handle, copy)
    })

  return {
    write: (lease, written) =>
      commit(lease, async (handle, copy) => {
        const { block, facts, hints, complete } = written
        // Before any row, as everybody does who writes both notes and rows: else two of them could wait for each other.
        await holdNotes(handle, chainId)
        await insertFacts(copy, chainId, facts)
        await markUnobserved(handle, chainId, changedBy(written))
        for (const kind of memberKinds) {
          await markEventsOf(handle, chainId, kind, idsIn(hints, kind))
          await markMembers(handle, chainId, kind, eventsWith(hints, kind))
        }
        for (const hint of hints) if (hint.subject === 'code') await recordUpgrade(handle, chainId, hint)
        await markAwaitingSettlement(handle, chainId, block.timestamp)
        await addAnchor(handle, chainId, block, complete)
        if (complete) await moveCursor(handle, chainId, block)
        await thinAnchors(handle, chainId, block.number)
        await announce(handle, chainId, await touchedBy(handle, written))
      }),
    async backTo(lease, ancestor) {
      // Whatever is observed is observed again: it may be forgotten before the rest goes, which is one transaction.
      while (await commit(lease, (handle) => forgetSome(handle, chainId, ancestor)));
      await commit(lease, (handle) => rollBack(handle, chainId, ancestor))
    },
  }
}
