import type { Chain } from '../chain/chain.ts'
import { type IdRange, toldFields } from '../db/facts.ts'
import type { Kind } from '../db/progress.ts'
import type { StoredBlock } from '../db/query.ts'
import type { DatedFact } from '../db/write.ts'
import type { Entity } from './existence.ts'
import { readEntities } from './ids.ts'

/** An entity that index and chain do not tell alike; null on the side that does not have it. */
export type Difference = Entity & {
  readonly row: DatedFact | null
  readonly record: DatedFact | null
  /** What differs, each in words. */
  readonly words: readonly string[]
}

export type Comparison = {
  /** Entities that the chain has in the range. */
  readonly onChain: number
  readonly differences: readonly Difference[]
}

const fieldsOf = (fact: DatedFact): Readonly<Record<string, unknown>> => ({ ...fact })

/** In words, what the index and the chain tell differently of an entity; nothing when they agree. */
export const differ = ({ kind, id }: Entity, row: DatedFact | null, record: DatedFact | null): string[] => {
  if (row === null) return record === null ? [] : [`${kind} ${id} is missing in the index`]
  if (record === null) return [`${kind} ${id} is not on the chain`]
  const [mine, theirs] = [fieldsOf(row), fieldsOf(record)]
  return toldFields[kind].flatMap((field) =>
    mine[field] === theirs[field]
      ? []
      : [`${kind} ${id}: ${field} is ${mine[field]} in the index, ${theirs[field]} on the chain`],
  )
}

/**
 * Compares the rows of a range of ids with the records that the chain has at a block. Throws as `Chain.readAt` does.
 *
 * @example await compareRows({ chain, block, kind: 'deposit', rows, ids: { from: 1n, upTo: 200n } })
 */
export const compareRows = async (compared: {
  readonly chain: Chain
  readonly block: StoredBlock
  readonly kind: Kind
  readonly rows: readonly DatedFact[]
  readonly ids: IdRange
}): Promise<Comparison> => {
  const { chain, block, kind, ids } = compared
  const entities: Entity[] = []
  for (let id = ids.from; id <= ids.upTo; id += 1n) entities.push({ kind, id })
  const records = new Map((await readEntities(chain, block, entities)).map((record) => [record.id, record]))
  const rows = new Map(compared.rows.map((row) => [row.id, row]))
  const differences = entities.flatMap((entity) => {
    const row = rows.get(entity.id) ?? null
    const record = records.get(entity.id) ?? null
    const words = differ(entity, row, record)
    return words.length === 0 ? [] : [{ ...entity, row, record, words }]
  })
  return { onChain: records.size, differences }
}
