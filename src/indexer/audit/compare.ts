import type { Chain } from '../../chain/chain.ts'
import { type AuditedTable, columnsOf } from '../../db/index/audit/columns.ts'
import {
  type AuditedKind,
  type AuditedRow,
  type AuditedRows,
  type IndexedRows,
  tablesOf,
} from '../../db/index/audit/rows.ts'
import { observationRows } from '../../db/index/observations.ts'
import type { DatedFact } from '../../db/index/write.ts'
import type { StoredBlock } from '../../db/stored.ts'
import type { Logger } from '../../lib/observe/log.ts'
import type { Entity } from '../../protocol/entities.ts'
import { readEntities } from '../reading/read-by-id.ts'
import { readViews } from '../reading/read-views.ts'

/**
 * An entity, or the protocol's own state, whose rows differ from the chain. All texts are descriptions of single
 * differences.
 */
export type Difference = {
  readonly kind: AuditedKind
  readonly id: bigint
  /** The fact in the index, null if the index lacks it, and the record on the chain, null if the chain lacks it. */
  readonly row: AuditedRow | null
  readonly record: DatedFact | null
  /** Differences of the fact. */
  readonly created: readonly string[]
  /** Differences of the observation; empty while the refresh queue knows that it is outdated. */
  readonly observed: readonly string[]
}

/** The number of compared rows of a table, and of compared values in them. */
export type Counts = { readonly rows: number; readonly values: number }

export type Comparison = {
  /** The number of compared entities that exist on the chain. */
  readonly onChain: number
  readonly differences: readonly Difference[]
  /** Entities that differ and wait in the refresh queue. */
  readonly waiting: readonly bigint[]
  /** Entities with a view that reverts, so that their observation cannot be compared. */
  readonly unreadable: readonly bigint[]
  readonly counts: Readonly<Partial<Record<AuditedTable, Counts>>>
}

/** Compares the values of a row with those of the chain and describes each difference. */
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

/** The row of a record. */
export const factRow = (fact: DatedFact | null): AuditedRow | null => fact && { ...fact }

/** Compares a fact with the chain's record and describes each difference. */
export const differencesOfFact = ({ kind, id }: Entity, row: AuditedRow | null, record: DatedFact | null): string[] =>
  differentRows(tablesOf[kind][0], id, row, factRow(record))

type Deps = { readonly chain: Chain; readonly log: Logger }

/** The state of entities on the chain: their records, and the rows that an observation at the block would store. */
type ChainState = {
  readonly records: ReadonlyMap<bigint, DatedFact>
  readonly observed: AuditedRows
}

const byId = <T extends AuditedRow>(rows: readonly T[], idOf: (row: T) => unknown): Map<bigint, AuditedRow> =>
  new Map(rows.map((row) => [BigInt(String(idOf(row))), row]))

const readChainState = async (
  { chain, log }: Deps,
  block: StoredBlock,
  kind: AuditedKind,
  ids: readonly bigint[],
): Promise<ChainState> => {
  const entities = kind === 'chain' ? [] : ids.map((id) => ({ kind, id }))
  const records = new Map((await readEntities(chain, block, entities)).map((record) => [record.id, record]))
  const subjects =
    kind === 'chain' ? [{ subject: kind, id: 0n }] : [...records.keys()].map((id) => ({ subject: kind, id }))
  const rows = observationRows(chain.chainId, block, await readViews({ chain, log }, block, subjects))
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

/** Compares the newest stored settlement of an event with the event on the chain. */
const differentSettlement = (id: bigint, row: AuditedRow | undefined, event: AuditedRow): string[] => {
  const { settledAt, triggered, settlementPrice } = event
  if (settledAt !== 0n)
    return differentRows('settlements', id, row, { type: 'settled', settledAt, triggered, settlementPrice })
  if (row === undefined || row.type === 'reverted') return []
  return [`settlements ${id}: type is ${row.type} in the index, reverted on the chain`]
}

/**
 * Compares the rows of entities, column by column, with the return values of the chain's views at the block at which
 * the rows were read. Throws as `Chain.readAt` does.
 *
 * @example await compareRows({ chain, log }, 'deposit', [1n, 2n], indexedRows)
 */
export const compareRows = async (
  deps: Deps,
  kind: AuditedKind,
  ids: readonly bigint[],
  { anchor, rows, waiting }: IndexedRows,
): Promise<Comparison> => {
  const { records, observed } = await readChainState(deps, anchor, kind, ids)
  const created = kind === 'chain' ? null : tablesOf[kind][0]
  const state: AuditedTable = `${kind}_observations`
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
            ...(created === null || row === null
              ? []
              : differentValues(created, id, row, now, columnsOf(created, 'state'))),
          ]
    const isWaiting = waiting.has(id) && different.length > 0
    return {
      isWaiting,
      difference: {
        kind,
        id,
        row,
        record,
        created: created === null ? [] : differentRows(created, id, row, factRow(record)),
        observed: isWaiting ? [] : different,
      },
    }
  })
  return {
    onChain: exists.length,
    differences: found.flatMap(({ difference: it }) => (describe(it).length > 0 ? [it] : [])),
    waiting: found.flatMap(({ isWaiting, difference }) => (isWaiting ? difference.id : [])),
    unreadable: exists.filter((id) => !onChain?.has(id)),
    counts: Object.fromEntries(
      tablesOf[kind].map((table) => {
        const isCreated = table === created
        const compared = exists.filter((id) => (isCreated || onChain?.has(id)) && rows[table]?.has(id))
        const values = compared.length * columnsOf(table, 'view', 'state').length
        return [table, { rows: compared.length, values }]
      }),
    ),
  }
}

/** All descriptions of a difference. */
export const describe = ({ created, observed }: Pick<Difference, 'created' | 'observed'>): string[] => [
  ...created,
  ...observed,
]
