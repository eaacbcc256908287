import { byKind, type LastIds } from '../../db/index/work/progress.ts'
import type { DatedFact } from '../../db/index/write.ts'
import type { Fact } from '../../protocol/abi/logs.ts'
import { type Entity, type Kind, kinds } from '../../protocol/entities.ts'
import { absentAfter } from './existence.ts'

/** The chain has a row, or greater ids, that neither the index nor the range has. */
export class MissingRow extends Error {
  override readonly name = 'MissingRow'

  constructor({ kind, id }: Entity, detail: string) {
    super(`${kind} ${id} is missing: ${detail}`)
  }
}

/** A log has an id that the index already has, so it does not belong to the chain of the index. */
export class DuplicateRow extends Error {
  override readonly name = 'DuplicateRow'
  readonly fact: DatedFact

  constructor(fact: DatedFact) {
    super(`${fact.kind} ${fact.id} was created before`)
    this.fact = fact
  }
}

/** The index has a row since a block in which the chain did not create it, by the answers of the `trusted` endpoints. */
export class WrongRow extends Error {
  override readonly name = 'WrongRow'
  readonly since: bigint
  readonly trusted: readonly number[]

  constructor({ kind, id }: Entity, since: bigint, trusted: readonly number[]) {
    super(`the chain did not create ${kind} ${id} in block ${since}`)
    this.since = since
    this.trusted = trusted
  }
}

/** The ids of each kind, ascending. */
const idsIn = (facts: readonly Fact[]): Readonly<Record<Kind, readonly bigint[]>> => {
  const { event, deposit, position } = byKind(facts)
  return { event: ascending(event), deposit: ascending(deposit), position: ascending(position) }
}

/** The ids of facts, ascending. Logs are in the order of their ids; facts that a repair found follow them. */
const ascending = (facts: readonly Fact[]): bigint[] => {
  const ids = facts.map(({ id }) => id)
  const isSorted = ids.every((id, at) => at === 0 || id >= (ids[at - 1] ?? id))
  return isSorted ? ids : ids.sort((a, b) => (a < b ? -1 : 1))
}

/**
 * Finds the first gap in the ids after the last ids of the index. Ids are dense, so a gap is a row whose log a node
 * left out. Throws DuplicateRow for an id that is not greater than the last one.
 */
export const findGap = (last: LastIds, facts: readonly DatedFact[]): Entity | undefined => {
  const created = idsIn(facts)
  const gaps = kinds.flatMap((kind): Entity[] => {
    const ids = created[kind]
    const [first] = ids
    const before = last[kind]
    const again = before === null || first === undefined || first > before ? undefined : first
    const fact = facts.find((it) => it.kind === kind && it.id === again)
    if (fact !== undefined) throw new DuplicateRow(fact)
    // Deployments begin at id 0 or 1. `beforeFirst` checks id 0 on the chain.
    let next = before === null ? 1n : before + 1n
    for (const id of ids) {
      if (id > next) return [{ kind, id: next }]
      next = id + 1n
    }
    return []
  })
  return gaps[0]
}

/** Entities with id 0 that must not exist, for kinds whose first facts begin at id 1. */
export const beforeFirst = (last: LastIds, facts: readonly Fact[]): Entity[] => {
  const has = (kind: Kind, id: bigint): boolean => facts.some((fact) => fact.id === id && fact.kind === kind)
  return kinds
    .filter((kind) => last[kind] === null && has(kind, 1n) && !has(kind, 0n))
    .map((kind) => ({ kind, id: 0n }))
}

/** The entities that must not exist at the end of a complete range with these facts (`absentAfter`). */
export const absentWith = (last: LastIds, facts: readonly Fact[]): Entity[] => {
  const created = idsIn(facts)
  const lastOf = (kind: Kind): bigint | null => created[kind].at(-1) ?? last[kind]
  const after = { event: lastOf('event'), deposit: lastOf('deposit'), position: lastOf('position') }
  return [...absentAfter(after), ...beforeFirst(last, facts)]
}
