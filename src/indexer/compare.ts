import type { Chain } from '../chain/chain.ts'
import { type AuditedTable, columnsOf } from '../db/audit-columns.ts'
import { type AuditedKind, type AuditedRow, type AuditedRows, type Held, tablesOf } from '../db/audit-rows.ts'
import { observationRows } from '../db/observations.ts'
import type { StoredBlock } from '../db/stored.ts'
import type { DatedFact } from '../db/write.ts'
import type { Logger } from '../lib/log.ts'
import type { Entity } from './existence.ts'
import { readEntities } from './ids.ts'
import { observe } from './observe.ts'

/** An entity, or the protocol's own state, whose rows differ from the chain. */
export type Difference = {
  readonly kind: AuditedKind
  readonly id: bigint
  /** The row of its creation and the record that the chain has; null on the side that does not have it. */
  readonly row: AuditedRow | null
  readonly record: DatedFact | null
  /** What differs in the row of its creation. */
  readonly created: readonly string[]
  /** What differs in the rows that follow the chain's state; empty while it is known to be out of date. */
  readonly observed: readonly string[]
  /** Texts that are not what their columns are rendered to. */
  readonly texts: readonly string[]
}

/** How many rows of a table were compared, and how many values in them. */
export type Tally = { readonly rows: number; readonly values: number }

export type Comparison = {
  /** Entities that the chain has among those compared. */
  readonly onChain: number
  readonly differences: readonly Difference[]
  /** Entities that differ, as the refresh queue knows. */
  readonly waiting: readonly bigint[]
  /** Entities of which a view cannot be read: nothing can be compared with what was observed of them. */
  readonly unreadable: readonly bigint[]
  readonly tallies: Readonly<Partial<Record<AuditedTable, Tally>>>
}

/** The values of a row that differ from those of the chain, each in words; columns of the chain's side that are absent do not count. */
export const differentValues = (
  table: AuditedTable,
  id: bigint,
  row: AuditedRow,
  onChain: AuditedRow,
  columns: readonly string[],
): string[] =>
  columns.flatMap((column) =>
    row[column] === onChain[column]
      ? []
      : [`${table} ${id}: ${column} is ${row[column]} in the index, ${onChain[column]} on the chain`],
  )

const differentRows = (
  table: AuditedTable,
  id: bigint,
  row: AuditedRow | null | undefined,
  onChain: AuditedRow | null | undefined,
): string[] => {
  if (row == null) return onChain == null ? [] : [`${table} ${id} is missing in the index`]
  if (onChain == null) return [`${table} ${id} is not on the chain`]
  return differentValues(table, id, row, onChain, columnsOf(table, 'view'))
}

/** A record as a row. */
export const factRow = (fact: DatedFact | null): AuditedRow | null => fact && { ...fact }

/** What differs between the row of an entity's creation and the chain's record of it, in words; nothing when they agree. */
export const differ = ({ kind, id }: Entity, row: AuditedRow | null, record: DatedFact | null): string[] =>
  differentRows(tablesOf[kind][0], id, row, factRow(record))

type Deps = { readonly chain: Chain; readonly log: Logger }

/** What the chain says of entities: their records, and the rows that observing them at the block would store. */
type Truth = {
  readonly records: ReadonlyMap<bigint, DatedFact>
  readonly observed: AuditedRows
}

const byId = <T extends AuditedRow>(rows: readonly T[], idOf: (row: T) => unknown): Map<bigint, AuditedRow> =>
  new Map(rows.map((row) => [BigInt(String(idOf(row))), row]))

const readTruth = async (
  { chain, log }: Deps,
  block: StoredBlock,
  kind: AuditedKind,
  ids: readonly bigint[],
): Promise<Truth> => {
  const entities = kind === 'chain' ? [] : ids.map((id) => ({ kind, id }))
  const records = new Map((await readEntities(chain, block, entities)).map((record) => [record.id, record]))
  const subjects =
    kind === 'chain' ? [{ subject: kind, id: 0n }] : [...records.keys()].map((id) => ({ subject: kind, id }))
  const rows = observationRows(chain.chainId, block, await observe({ chain, log }, block, subjects))
  return {
    records,
    observed: {
      event_observations: byId(rows.events, ({ id }) => id),
      deposit_observations: byId(rows.deposits, ({ id }) => id),
      position_observations: byId(rows.positions, ({ id }) => id),
      chain_observations: byId(rows.protocol, ({ chainId }) => chainId),
    },
  }
}

/** What differs in the newest settlement that was reported of an event, by the event as the chain has it. */
const differentSettlement = (id: bigint, row: AuditedRow | undefined, event: AuditedRow): string[] => {
  const { settledAt, triggered, settlementPrice } = event
  if (settledAt !== 0n)
    return differentRows('settlements', id, row, { type: 'settled', settledAt, triggered, settlementPrice })
  if (row === undefined || row.type === 'reverted') return []
  return [`settlements ${id}: type is ${row.type} in the index, reverted on the chain`]
}

/** What differs between stored texts and those that the same columns are rendered to. */
const differentTexts = (
  table: AuditedTable,
  id: bigint,
  row: AuditedRow | undefined,
  rendered: AuditedRow | undefined,
): string[] =>
  columnsOf(table, 'text').flatMap((column) =>
    row === undefined || rendered === undefined || row[column] === rendered[column]
      ? []
      : [`${table} ${id}: ${column} is ${row[column]} in the index, ${rendered[column]} rendered again`],
  )

const stateOf = {
  event: 'event_observations',
  deposit: 'deposit_observations',
  position: 'position_observations',
  chain: 'chain_observations',
} as const

const tally = (table: AuditedTable, rows: number, texts: number): Tally => ({
  rows,
  values: rows * columnsOf(table, 'view').length + texts * columnsOf(table, 'text').length,
})

/**
 * Compares the rows of entities with what the chain's views return at the block of the index that they were read at, column by column,
 * and stored texts with what their columns are rendered to.
 * Throws as `Chain.readAt` does.
 *
 * @example await compareRows({ chain, log }, 'deposit', [1n, 2n], held)
 */
export const compareRows = async (
  deps: Deps,
  kind: AuditedKind,
  ids: readonly bigint[],
  { anchor, rows, rendered, waiting }: Held,
): Promise<Comparison> => {
  const { records, observed } = await readTruth(deps, anchor, kind, ids)
  const created = kind === 'chain' ? null : tablesOf[kind][0]
  const state = stateOf[kind]
  const onChain = observed[state]
  const exists = kind === 'chain' ? ids : [...records.keys()]
  const found = ids.map((id) => {
    const row = created && (rows[created]?.get(id) ?? null)
    const record = records.get(id) ?? null
    const now = onChain?.get(id)
    const different =
      now === undefined
        ? []
        : [
            ...differentRows(state, id, rows[state]?.get(id), now),
            ...(kind === 'event' ? differentSettlement(id, rows.settlements?.get(id), now) : []),
          ]
    const isWaiting = waiting.has(id) && different.length > 0
    return {
      isWaiting,
      difference: {
        ...{ kind, id, row, record },
        created: created === null ? [] : differentRows(created, id, row, factRow(record)),
        observed: isWaiting ? [] : different,
        // Columns and text are of one moment, whatever waits to be observed again.
        texts: differentTexts(state, id, rows[state]?.get(id), rendered.get(id)),
      },
    }
  })
  return {
    onChain: exists.length,
    differences: found.flatMap(({ difference: it }) => (wordsOf(it).length > 0 ? [it] : [])),
    waiting: found.flatMap(({ isWaiting, difference }) => (isWaiting ? difference.id : [])),
    unreadable: exists.filter((id) => !onChain?.has(id)),
    tallies: Object.fromEntries(
      tablesOf[kind].map((table) => {
        const isCreated = table === created
        const compared = exists.filter((id) => (isCreated || onChain?.has(id)) && rows[table]?.has(id))
        return [table, tally(table, compared.length, rendered.size)]
      }),
    ),
  }
}

/** The words of a difference. */
export const wordsOf = ({ created, observed, texts }: Pick<Difference, 'created' | 'observed' | 'texts'>): string[] => [
  ...created,
  ...observed,
  ...texts,
]
