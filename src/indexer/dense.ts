import { type Kind, kinds, type LastIds } from '../db/progress.ts'
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
class RowTwice extends Error {
  override readonly name = 'RowTwice'
}

const idsOf = (facts: readonly Fact[], kind: Kind): bigint[] =>
  facts
    .filter((fact) => fact.kind === kind)
    .map(({ id }) => id)
    .sort((a, b) => (a < b ? -1 : 1))

/** The last ids of an index that holds the facts besides. */
const lastAfter = (last: LastIds, facts: readonly Fact[]): LastIds => {
  const of = (kind: Kind): bigint | null => idsOf(facts, kind).at(-1) ?? last[kind]
  return { event: of('event'), deposit: of('deposit'), position: of('position') }
}

/**
 * Ids are dense, so one that is left out between the index's last ids and the facts', or between two facts, is of a row that a node left
 * out: the first such. Throws RowTwice for an id from before the range.
 */
export const firstHole = (last: LastIds, facts: readonly Fact[]): Entity | undefined => {
  const holes = kinds.flatMap((kind): Entity[] => {
    const ids = idsOf(facts, kind)
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

/** What must not exist at the end of a range with these facts: see `absentAfter`. */
export const absentWith = (last: LastIds, facts: readonly Fact[]): Entity[] => [
  ...absentAfter(lastAfter(last, facts)),
  // Ids that were met from 1 on may have begun at 0.
  ...kinds.filter((kind) => last[kind] === null && idsOf(facts, kind)[0] === 1n).map((kind) => ({ kind, id: 0n })),
]
