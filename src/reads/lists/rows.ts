import type { z } from 'zod'
import type { Block } from '../../chain/rpc/requests.ts'
import type { ListRow } from '../../db/queries/rows.ts'
import { isUnavailable } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { payout } from '../../protocol/claim-fees.ts'
import type { Kind } from '../../protocol/entities.ts'
import { integer } from '../../protocol/fields/response-fields.ts'
import * as record from '../../protocol/records.ts'
import { type EventViews, eventFields, fieldsOf, type Inclusion, showsValues } from '../../protocol/rows.ts'
import type { Token } from '../../protocol/tokens.ts'
import { valuation } from '../../protocol/valuation.ts'
import { fromChain } from '../entities/entity.ts'
import * as viewSet from '../entities/view-sets.ts'
import { chainOf } from '../read.ts'
import type { Row } from './records.ts'
import type { ListSources } from './sources.ts'
import { withValues } from './values.ts'

/** What rows without values are made from. */
type RowSources = Pick<ListSources, 'chains' | 'maxLagSeconds' | 'lists'>

type Asked<K extends Kind = Kind> = { readonly kind: K; readonly include: readonly Inclusion[] }

/** The event of a row: its views, and what the row shows of it. */
type EventOfRow = { readonly views: EventViews | null; readonly shown: ReturnType<typeof eventFields> }

const noEvent: EventOfRow = { views: null, shown: {} }

type DepositRecord = z.output<typeof record.Deposit>

type PositionRecord = z.output<typeof record.Position>

type Mutable<T> = T extends unknown ? { -readonly [F in keyof T]: T[F] } : never

/** Reads the event of a row from the chain, at its head or at a block; null when it does not exist. */
const eventFromChain = async (sources: RowSources, { chainId, eventId }: ListRow, at: Block | undefined) => {
  const id = { chainId, id: Number(eventId) }
  const found = await fromChain(sources, viewSet.event, id, undefined, (views, time) => ({ ...views, time }), at)
  return 'missing' in found ? null : found.data
}

type EventOnChain = NonNullable<Awaited<ReturnType<typeof eventFromChain>>>

type Ended = { settledBlock?: number | null; withdrawnAt?: number | null; claimedAt?: number | null } & {
  [F in 'settledTx' | 'withdrawnTx' | 'claimedTx']?: string | null
}

const integerOrNull = (text: string | null | undefined): number | null => (text == null ? null : integer(text))

/** Adds what a row shows of the log that settled an event, withdrew a deposit or claimed a position. */
const addEnding: Readonly<Record<Kind, (made: Ended, row: ListRow) => void>> = {
  event(made, { settledBlock, settledTx }) {
    made.settledBlock = integerOrNull(settledBlock)
    made.settledTx = settledTx ?? null
  },
  deposit(made, { withdrawnAt, withdrawnTx }) {
    made.withdrawnAt = integerOrNull(withdrawnAt)
    made.withdrawnTx = withdrawnTx ?? null
  },
  position(made, { claimedAt, claimedTx }) {
    made.claimedAt = integerOrNull(claimedAt)
    made.claimedTx = claimedTx ?? null
  },
}

/** Adds to a new record what rows have in addition. Copies of records of several kinds would take longer. */
export const addIndexed = (
  kind: Kind,
  record: object,
  row: ListRow,
  { token, symbol, decimals }: Token,
): Mutable<Row> => {
  const made = record as Mutable<Row>
  made.chainId = row.chainId
  made.createdBlock = integer(row.blockNumber)
  made.createdTx = row.txHash
  made.createdAt = row.txHash === null ? null : integer(row.blockTimestamp)
  made.createdLogIndex = row.logIndex === null ? null : Number(row.logIndex)
  made.token = token
  made.symbol = symbol
  made.decimals = decimals
  addEnding[kind](made, row)
  return made
}

/** The blocks that rows of the past are as of, by their chains. */
type Blocks = ReadonlyMap<ChainId, Block>

/** Makes rows of a page from what the index or a node has of them. */
const createRows = <K extends Kind>(sources: RowSources, { kind, include }: Asked<K>, blocks: Blocks | null) => {
  const { chains, lists } = sources
  const fields = fieldsOf(include)
  const showsEvent = fields.some((name) => name !== 'payout')
  const made = new Map<string, EventOfRow>()
  const onChain = new Map<string, ReturnType<typeof eventFromChain>>()
  let isIndexed = true

  const shownOf = (views: EventViews, chainId: ChainId): EventOfRow => ({
    views,
    shown: eventFields(views, chainOf(chains, chainId).deployment.profile, fields),
  })

  /** What rows show of an event, made once: most rows of a page are of few events. Null before it is observed. */
  const ofEvent = (row: ListRow<K>): EventOfRow | null => {
    if (!showsEvent) return noEvent
    const key = `${row.chainId} ${row.eventId}`
    const known = made.get(key)
    if (known !== undefined) return known
    const views = row.event()
    const shown = views && shownOf(views, row.chainId)
    if (shown !== null) made.set(key, shown)
    return shown
  }

  const rowOf = (row: ListRow<K>, entity: object, token: Token, event: EventOfRow): Row => {
    const made = addIndexed(kind, entity, row, token)
    if (fields.includes('payout')) Object.assign(made, { payout: payout(entity as PositionRecord, row.feeRate) })
    if (fields.includes('valuation') && event.views !== null) {
      const { profile } = chainOf(chains, row.chainId).deployment
      const of = { createdAt: made.createdAt, profile }
      Object.assign(made, { valuation: valuation(entity as DepositRecord, event.views, of) })
    }
    return fields.length === 0 ? made : Object.assign(made, event.shown)
  }

  const readEvent = (row: ListRow<K>) => {
    const key = `${row.chainId} ${row.eventId}`
    const reading = onChain.get(key) ?? eventFromChain(sources, row, blocks?.get(row.chainId))
    onChain.set(key, reading)
    return reading
  }

  const readEntity = async (row: ListRow<K>, event: Promise<EventOnChain | null>): Promise<object | null> => {
    const id = { chainId: row.chainId, id: Number(row.id) }
    const at = blocks?.get(row.chainId)
    const read = {
      event: async () => ({ data: await event.then((views) => views && record.eventCore(views)) }),
      deposit: () => fromChain(sources, viewSet.deposit, id, undefined, record.deposit, at),
      position: () => fromChain(sources, viewSet.position, id, undefined, record.position, at),
    }
    const found = await read[kind]()
    return 'missing' in found ? null : found.data
  }

  /** Reads a row from the chain; null when a reorg has removed it. */
  const fromNodes = async (row: ListRow<K>): Promise<Row | null> => {
    const { chainId } = row
    const reading = readEvent(row)
    const [event, entity] = await Promise.all([reading, readEntity(row, reading)])
    if (event === null || entity === null) return null
    const stored = event.paymentToken === row.token ? row : null
    const token =
      lists.token(chainId, event.paymentToken, stored) ?? (await lists.tokens.ask(chainId, event.paymentToken))
    return rowOf(row, entity, token, shownOf(event, chainId))
  }

  /** Makes a row. A part that the index has not read yet is read from the chain. */
  const make = (row: ListRow<K>): Row | Promise<Row | null> => {
    const { chainId, views, token: address } = row
    const event = ofEvent(row)
    if (views === null || address === null || event === null) {
      isIndexed = false
      return fromNodes(row)
    }
    const withToken = (token: Token): Row => rowOf(row, record.entityRecord[kind](views), token, event)
    const token = lists.token(chainId, address, row)
    return token === null ? lists.tokens.ask(chainId, address).then(withToken) : withToken(token)
  }

  return {
    make,
    /** Whether the index had everything that the rows are made of, but perhaps the descriptions of their tokens. */
    isIndexed: () => isIndexed,
  }
}

/** Rows in the order of the page; null where a reorg has removed one, or where it could not be read. */
type Made = { readonly rows: readonly (Row | null)[]; readonly isIndexed: boolean }

type RowOptions = { readonly unread?: ((at: number) => void) | undefined; readonly blocks?: Blocks | null }

/**
 * Makes rows without values, and reports whether all come from the index. A row whose views the index has not read yet is
 * read from the chain; it is null when a reorg has removed it. When no node is in reach for that, `unread` is called with
 * the position of the row, and the row is null; without `unread`, the error is thrown. With `blocks`, rows are as of these
 * blocks.
 */
export const unvaluedRowsOf = async (
  sources: RowSources,
  asked: Asked,
  rows: readonly ListRow[],
  { unread, blocks = null }: RowOptions = {},
): Promise<Made> => {
  const { isIndexed, make } = createRows(sources, asked, blocks)
  const made = await allOf(
    rows.map((row, at) => {
      const result = attempt(() => make(row))
      if (unread === undefined || !(result instanceof Promise)) return result
      return result.catch((fault: unknown) => {
        if (!isUnavailable(fault)) throw fault
        unread(at)
        return null
      })
    }),
  )
  return { rows: made, isIndexed: isIndexed() }
}

/** Makes rows as `unvaluedRowsOf` does, with the values that they show. */
export const rowsOf = async (
  sources: ListSources,
  asked: Asked,
  rows: readonly ListRow[],
  options?: RowOptions,
): Promise<Made> => {
  const made = await unvaluedRowsOf(sources, asked, rows, options)
  if (!showsValues(asked.include)) return made
  return { ...made, rows: await withValues(sources.pricing, made.rows, asked.include.includes('stale-value')) }
}

/** Returns what `make` does, or a rejection if it throws: the promises of earlier rows are then handled too. */
const attempt = <T>(make: () => T | Promise<T>): T | Promise<T> => {
  try {
    return make()
  } catch (fault) {
    return Promise.reject(fault)
  }
}

/** Waits for values of which most are there already. */
const allOf = async <T>(values: readonly (T | Promise<T>)[]): Promise<readonly T[]> =>
  values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as readonly T[])
