import { byKind, type LastIds } from '../db/progress.ts'
import { type Kind, kinds } from '../protocol/kinds.ts'
import type { Fact } from '../protocol/logs.ts'
import { absentAfter, type Entity } from './existence.ts'

/** A row is missing: the chain has it, or ids beyond it, and the index and the range do not. */
export class RowMissing extends Error {
  override readonly name = 'RowMissing'

  constructor({ kind, id }: Entity, detail: string) {
    super(`${kind} ${id} is missing: ${detail}`)
  }
}

/** Logs name ids that the index holds already, so they are not of the chain that the index is on. */
export class RowTwice extends Error {
  override readonly name = 'RowTwice'
}

/** The ids of each kind, ascending. */
const idsIn = (facts: readonly Fact[]): Readonly<Record<Kind, readonly bigint[]>> => {
  const { event, deposit, position } = byKind(facts)
  return { event: ascending(event), deposit: ascending(deposit), position: ascending(position) }
}

/** Logs come in the order of their ids; what was found besides comes after them. */
const ascending = (facts: readonly Fact[]): bigint[] => {
  const ids = facts.map(({ id }) => id)
  const isSorted = ids.every((id, at) => at === 0 || id >= (ids[at - 1] ?? id))
  return isSorted ? ids : ids.sort((a, b) => (a < b ? -1 : 1))
}

/**
 * Ids are dense, so one that is left out between the index's last ids and the facts', or between two facts, is of a row that a node left
 * out: the first such. Throws RowTwice for an id from before the range.
 */
export const firstHole = (last: LastIds, facts: readonly Fact[]): Entity | undefined => {
  const made = idsIn(facts)
  const holes = kinds.flatMap((kind): Entity[] => {
    const ids = made[kind]
    const [first] = ids
    const before = last[kind]
    if (first !== undefined && before !== null && first <= before) {
      throw new RowTwice(`${kind} ${first} was created before`)
    }
    // Whether ids begin at 0 or at 1 is the deployment's affair, and asked of the chain.
    let next = before === null ? 1n : before + 1n
    for (const id of ids) {
      if (id > next) return [{ kind, id: next }]
      next = id + 1n
    }
    return []
  })
  return holes[0]
}

/** Ids that are met from 1 on may have begun at 0: what must not exist where the first ones are among the facts. */
export const beforeFirst = (last: LastIds, facts: readonly Fact[]): Entity[] => {
  const has = (kind: Kind, id: bigint): boolean => facts.some((fact) => fact.id === id && fact.kind === kind)
  return kinds
    .filter((kind) => last[kind] === null && has(kind, 1n) && !has(kind, 0n))
    .map((kind) => ({ kind, id: 0n }))
}

/** What must not exist at the end of a range with these facts: see `absentAfter`. */
export const absentWith = (last: LastIds, facts: readonly Fact[]): Entity[] => {
  const made = idsIn(facts)
  const lastOf = (kind: Kind): bigint | null => made[kind].at(-1) ?? last[kind]
  const after = { event: lastOf('event'), deposit: lastOf('deposit'), position: lastOf('position') }
  return [...absentAfter(after), ...beforeFirst(last, facts)]
}
