import { getTableColumns, getTableName } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import type { Address, Hex } from 'viem'
import type { FeeRates } from '../../protocol/abi/logs.ts'
import type { ChainId } from '../../protocol/chains.ts'
import type { FeeRate } from '../../protocol/claim-fees.ts'
import { entities, type Kind, perKind } from '../../protocol/entities.ts'
import { ledgerTypes } from '../../protocol/ledger.ts'
import type { RecordViews } from '../../protocol/records.ts'
import type { EventViews, Inclusion } from '../../protocol/rows.ts'
import { settlementLogs } from '../schema/index-state.ts'
import { ledger } from '../schema/ledger.ts'
import * as t from '../schema/records.ts'
import { entityTables } from '../stored.ts'

/*
 * List rows as columns of their entity, its event and its token. PostgreSQL returns each value as its text. Integers stay
 * texts, because records show most of them as decimal strings.
 */

/** The names of each kind's tables and of its owner's column, and the alias of the row's own observation. */
export const tables = perKind((kind) => {
  const { facts, observations, owner } = entityTables[kind]
  return {
    facts: getTableName(facts),
    observations: getTableName(observations),
    owner: owner.name,
    ownAlias: kind === 'event' ? 'e' : 's',
  }
})

/** A look-up of one row per row. Without the limit, a generic plan would read the whole table. */
const lookedUp = (table: string, alias: string, where: string, columns = '*'): string =>
  `LEFT JOIN LATERAL (SELECT ${columns} FROM ${table} WHERE chain_id = f.chain_id AND ${where} LIMIT 1) AS ${alias} ON true`

/** Joins the event's observation (`e`) to deposits or positions. */
const eventOf = (kind: Kind): string => (kind === 'event' ? '' : lookedUp('event_observations', 'e', 'id = f.event_id'))

/** Joins to facts `f` their own observation (`s`, or `e` of an event). */
const ownOf = (kind: Kind): string => lookedUp(tables[kind].observations, tables[kind].ownAlias, 'id = f.id')

/** Joins to facts `f` their own observation and that of the event (`e`). */
export const observedJoins = (kind: Kind): string => `${ownOf(kind)} ${eventOf(kind)}`

/** The same joins for rows that are found by an index over their observations. Those without one are left out. */
export const byObservationJoins = (kind: Kind): string =>
  `JOIN ${tables[kind].observations} ${tables[kind].ownAlias} USING (chain_id, id) ${eventOf(kind)}`

/** Stands for a rate that follows from the logs while the protocol's view contradicts them. */
const CONTRADICTED = '-1'

/**
 * A fee rate that the event of a deposit or position `f` keeps from its creation, as `parseRate` parses it. It is null
 * when it is unknown: the rates are not complete up to its creation, no log set them before, or its creation log and so
 * the order of both is unknown.
 */
export const feeRateOf = (rate: keyof FeeRates): string =>
  `(SELECT CASE WHEN c.fees_contradiction IS NOT NULL THEN ${CONTRADICTED} ELSE (SELECT ${t.feeRates[rate].name} FROM fee_rates WHERE chain_id = o.chain_id AND (block_number, log_index) < (o.block_number, o.log_index)
      ORDER BY block_number DESC, log_index DESC LIMIT 1) END
    FROM events o JOIN cursors c USING (chain_id) WHERE chain_id = f.chain_id AND o.id = f.event_id
      AND o.block_number <= c.fees_number AND o.log_index IS NOT NULL)`

/** Parses a fee rate, or why it is not known. */
export const parseRate = (text: string | null | undefined): FeeRate => {
  if (text == null) return 'rates_unknown'
  return text === CONTRADICTED ? 'rates_contradicted' : BigInt(text)
}

type Parse = (text: string) => unknown

/** A column of a row: its field, the joined row and the name that it is read by, and how its text is parsed. */
type Column = { readonly field: string; readonly alias: string; readonly name: string; readonly parse: Parse }

const asText: Parse = (text) => text

/** How the text of a column is parsed: an integer of the chain stays its text. */
const parserOf = (column: PgColumn): Parse => {
  if (column.dataType === 'boolean') return (text) => text.startsWith('t')
  if (column.dataType === 'number') return Number
  return column.getSQLType() === 'bytea' ? (text) => column.mapFromDriverValue(text) : asText
}

/** Columns of a table in the joined row `alias`, by the fields of their records. */
const columnsOf = (alias: string, columns: Readonly<Record<string, PgColumn>>): Column[] =>
  Object.entries(columns).map(([field, column]) => ({ field, alias, name: column.name, parse: parserOf(column) }))

const { events, eventObservations: ofEvent, deposits, positions } = t
const eventTable = getTableColumns(ofEvent)
const fieldsIn = <C extends object>(columns: Readonly<Record<string, PgColumn>>, fields: C): Record<string, PgColumn> =>
  Object.fromEntries(Object.entries(columns).filter(([field]) => field in fields))

/** The columns that a record is made of: those of the fact, then those of the observation, none of which can be null. */
const own: Readonly<Record<Kind, { readonly fact: readonly Column[]; readonly seen: readonly Column[] }>> = {
  event: {
    fact: columnsOf('f', { id: events.id, ...fieldsIn(getTableColumns(events), t.eventColumns) }),
    seen: columnsOf('e', {
      name: ofEvent.name,
      payoutCap: ofEvent.payoutCap,
      initialRate: ofEvent.initialRate,
      strikeAbove: ofEvent.strikeAbove,
      paymentToken: ofEvent.paymentToken,
      status: ofEvent.status,
      poolOpen: ofEvent.poolOpen,
      allowExternalLp: ofEvent.allowExternalLp,
    }),
  },
  deposit: {
    fact: columnsOf('f', { id: deposits.id, ...fieldsIn(getTableColumns(deposits), t.depositColumns) }),
    seen: columnsOf('s', fieldsIn(getTableColumns(t.depositObservations), t.depositStateColumns)),
  },
  position: {
    fact: columnsOf('f', {
      id: positions.id,
      eventId: positions.eventId,
      hedger: positions.hedger,
      notional: positions.notional,
      premiumPaid: positions.premiumPaid,
      platformFeePaid: positions.platformFee,
    }),
    seen: columnsOf('s', fieldsIn(getTableColumns(t.positionObservations), t.positionStateColumns)),
  },
}

/** The columns of its creation and of its token, which every row has. */
const common = {
  created: columnsOf('f', {
    chainId: events.chainId,
    blockNumber: events.blockNumber,
    blockTimestamp: events.blockTimestamp,
    txHash: events.txHash,
    logIndex: events.logIndex,
  }),
  /** Of the event's fact (`o`) or, in rows of events, of their observation. */
  paymentToken: perKind((kind) => columnsOf(kind === 'event' ? 'e' : 'o', { token: events.paymentToken })),
  token: columnsOf('t', { symbol: t.tokens.symbol, decimals: t.tokens.decimals }),
}

/** The newest log of a type about a row. It is looked up unless the row's observation has that there is none. */
const ledgerLogOf = (type: keyof typeof ledgerTypes, id: string, isThere: string): string =>
  `LEFT JOIN LATERAL (SELECT block_timestamp, tx_hash FROM ledger WHERE chain_id = f.chain_id AND ${id} = f.id
    AND type = ${ledgerTypes[type].code} AND ${isThere} ORDER BY block_number DESC LIMIT 1) AS l ON true`

/** The log that ended what an entity is for, joined as `l`, and its columns: a settlement, a withdrawal, a claim. */
const ended: Readonly<Record<Kind, { readonly join: string; readonly columns: readonly Column[] }>> = {
  event: {
    join: `LEFT JOIN LATERAL (SELECT block_number, tx_hash FROM settlement_logs WHERE chain_id = f.chain_id AND event_id = f.id
      AND coalesce(e.status, 1) <> 0 ORDER BY block_number DESC LIMIT 1) AS l ON true`,
    columns: columnsOf('l', { settledBlock: settlementLogs.blockNumber, settledTx: settlementLogs.txHash }),
  },
  deposit: {
    join: ledgerLogOf('capital.withdrawn', 'deposit_id', 'coalesce(s.withdrawn, true)'),
    columns: columnsOf('l', { withdrawnAt: ledger.blockTimestamp, withdrawnTx: ledger.txHash }),
  },
  position: {
    join: ledgerLogOf('payout.claimed', 'position_id', 'coalesce(s.claimed, true)'),
    columns: columnsOf('l', { claimedAt: ledger.blockTimestamp, claimedTx: ledger.txHash }),
  },
}

/** The columns that inclusions are made of: those of the event's observation, then those of its fact. */
const eventOfRow = (kind: Kind): Column[] => [
  ...columnsOf('e', { ...fieldsIn(eventTable, t.eventStateColumns), blockTimestamp: ofEvent.blockTimestamp }),
  ...columnsOf(kind === 'event' ? 'f' : 'o', {
    id: events.id,
    underlying: events.underlying,
    strike: events.strike,
    expiryDate: events.expiryDate,
  }),
]

/** What rows are read with: the columns of their event, and the fee rate of a payout. */
const shownIn = (include: readonly Inclusion[]) => ({
  event: include.some((name) => name !== 'payout'),
  payout: include.includes('payout'),
})

const payoutFeeRate = feeRateOf(entities.position.claims.payout.feeRate)

const sqlOf = ({ alias, name }: Column): string => `${alias}.${name}`

type ColumnsOfEvent = EventViews['core'] &
  EventViews['range'] &
  EventViews['stats'] &
  EventViews['utilization'] & { readonly blockTimestamp: string }

/** What the columns of a record make. */
type Fields = {
  readonly event: RecordViews['event']['core'] &
    RecordViews['event']['range'] &
    Pick<RecordViews['event'], 'paymentToken'>
  readonly deposit: RecordViews['deposit']['deposit'] & Omit<RecordViews['deposit'], 'deposit'>
  readonly position: RecordViews['position']['position']
}

const viewsOf: { readonly [K in Kind]: (fields: Fields[K]) => RecordViews[K] } = {
  event: (it) => ({ core: it, range: it, paymentToken: it.paymentToken }),
  deposit: (it) => ({ ...it, deposit: it }),
  position: (it) => ({ position: it }),
}

/** A row of a list. Integers of the chain are decimal texts. */
export type ListRow<K extends Kind = Kind> = {
  readonly chainId: ChainId
  readonly id: string
  /** The id of its event; its own for an event. */
  readonly eventId: string
  /** The expiry of an event. */
  readonly expiryDate: string | undefined
  readonly blockNumber: string
  readonly blockTimestamp: string
  readonly txHash: Hex | null
  readonly logIndex: string | null
  /** The log that settled an event; null while it is not settled, and where the log is not known. */
  readonly settledBlock: string | null | undefined
  readonly settledTx: Hex | null | undefined
  /** The same for the withdrawal of a deposit, and for the claim of a position. */
  readonly withdrawnAt: string | null | undefined
  readonly withdrawnTx: Hex | null | undefined
  readonly claimedAt: string | null | undefined
  readonly claimedTx: Hex | null | undefined
  /** What its record is made of; null before the first observation. */
  readonly views: RecordViews[K] | null
  /** The token of its amounts; null before the first observation of the event. */
  readonly token: Address | null
  /** The token's symbol and decimals; null where they are not stored. */
  readonly symbol: string | null
  readonly decimals: number | null
  /** The rate of the fee on a position's payout, with the inclusion `payout`. */
  readonly feeRate: FeeRate
  /** Parses what inclusions are made of; null before the first observation of the event. */
  event(): EventViews | null
}

/** The row with other values of its observation and of its event. */
export const withState = <K extends Kind>(kind: K, row: ListRow<K>, state: object, event: EventViews): ListRow<K> => {
  const fields = { ...row, ...state }
  return Object.assign(fields, { views: viewsOf[kind](fields as unknown as Fields[K]), event: () => event })
}

/** A text of each column of a statement's row. */
export type Cells = readonly (string | null)[]

const parse = (columns: readonly Column[], cells: Cells, from: number): Record<string, unknown> => {
  const fields: Record<string, unknown> = {}
  let at = from
  for (const { field, parse: parseText } of columns) {
    const cell = cells[at]
    fields[field] = cell == null ? null : parseText(cell)
    at += 1
  }
  return fields
}

const notJoined = (): null => null

/** The names of the columns that are read by an alias. */
const namesOf = (columns: readonly Column[], alias: string): string =>
  [...new Set(columns.flatMap((it) => (it.alias === alias ? it.name : [])))].join()

/**
 * How rows of a kind are read: the columns of its facts, the joins to them (`f`), the expressions of a row, and how a row
 * is parsed whose first column is at `from`.
 */
const readerOf = <K extends Kind>(kind: K, shown: ReturnType<typeof shownIn>) => {
  const ofOwn = own[kind]
  const head = [...common.created, ...common.paymentToken[kind], ...common.token, ...ended[kind].columns]
  const event = shown.event ? eventOfRow(kind) : []
  const columns = [...head, ...ofOwn.fact, ...ofOwn.seen]
  const all = [...columns, ...event]
  const seenAt = head.length + ofOwn.fact.length
  const eventAt = columns.length
  const rateAt = all.length
  const eventIn = (cells: Cells, from: number): EventViews | null => {
    if (cells[from] == null) return null
    const it = parse(event, cells, from) as unknown as ColumnsOfEvent
    return { core: it, range: it, stats: it, utilization: it, time: it.blockTimestamp }
  }
  const [ownObservation, ownAlias] = [tables[kind].observations, tables[kind].ownAlias]
  const names = (alias: string): string => namesOf(all, alias)
  const isMember = kind !== 'event'
  const observed = [
    lookedUp(ownObservation, ownAlias, 'id = f.id', names(ownAlias)),
    ...(isMember && event.length > 0 ? [lookedUp('event_observations', 'e', 'id = f.event_id', names('e'))] : []),
  ]
  const tokens = `LEFT JOIN tokens t ON t.chain_id = f.chain_id AND t.address = ${isMember ? 'o' : 'e'}.payment_token`
  const member = isMember ? [lookedUp('events', 'o', 'id = f.event_id', names('o'))] : []
  const further = [...member, tokens, ended[kind].join]
  return {
    facts: [...new Set([...names('f').split(','), ...(isMember ? ['event_id'] : [])])],
    joins: [...observed, ...further].join(' '),
    /** The joins in addition to those of `observedJoins`. */
    furtherJoins: further.join(' '),
    expressions: [...all.map(sqlOf), ...(shown.payout ? [payoutFeeRate] : [])],
    parse(cells: Cells, from: number): ListRow<K> {
      // The fields of the row are also those that its views are made of.
      const fields = parse(columns, cells, from)
      const isSeen = cells[from + seenAt] !== null
      return Object.assign(fields, {
        eventId: fields.eventId ?? fields.id,
        views: isSeen ? viewsOf[kind](fields as Fields[K]) : null,
        feeRate: parseRate(cells[from + rateAt]),
        event: event.length === 0 ? notJoined : () => eventIn(cells, from + eventAt),
      }) as unknown as ListRow<K>
    },
  }
}

export type RowReader = { readonly name: string } & ReturnType<typeof readerOf<Kind>>

const readers = new Map<string, RowReader>()

/** The reader of rows of a kind with some inclusions. Making one takes longer than reading a page; there are few. */
export const rowReader = (kind: Kind, include: readonly Inclusion[]): RowReader => {
  const shown = shownIn(include)
  const name = [kind, ...(shown.event ? ['event'] : []), ...(shown.payout ? ['payout'] : [])].join(' ')
  const reader = readers.get(name) ?? { name, ...readerOf(kind, shown) }
  readers.set(name, reader)
  return reader
}
