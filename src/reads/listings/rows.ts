import type { Address } from 'viem'
import {
  hasRecords,
  hasSummary,
  parseColumns,
  parseRate,
  parseSettlement,
  type RowColumns,
} from '../../db/queries/rows.ts'
import { UNIT } from '../../db/rendering.ts'
import { storedEntity } from '../../db/stored.ts'
import { isUnavailable } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import type { FeeRate } from '../../protocol/claim-fees.ts'
import type { Kind } from '../../protocol/entities.ts'
import * as record from '../../protocol/records.ts'
import {
  type Inclusion,
  inclusions,
  inclusionTexts,
  payoutText,
  rowText,
  showsValues,
  storedSummaryTexts,
  summaryTexts,
  withInclusions,
} from '../../protocol/rows.ts'
import type { Token } from '../../protocol/tokens.ts'
import { fromChain } from '../entities/entity.ts'
import * as subject from '../entities/subjects.ts'
import { chainOf } from '../read.ts'
import type { ListSources } from './sources.ts'
import { withValues } from './values.ts'

type Asked<K extends Kind = Kind> = { readonly kind: K; readonly include: readonly Inclusion[] }

/** A token as rows show it. A token that the worker has not stored yet is read from the chain. */
export const tokenOf = async ({ lists }: ListSources, chainId: ChainId, address: Address, stored: Token | null) =>
  lists.renderer(chainId).token(address, new Map(stored && [[stored.token, stored]])) ??
  lists.tokens.ask(chainId, address)

/** The text of the payout, if it is wanted. Only rows of positions can have it. */
const payoutOf = (include: readonly Inclusion[], row: string, feeRate: FeeRate): string[] =>
  include.includes('payout') ? [payoutText(row, feeRate)] : []

/** Reads a row from the chain whose views the index has not read yet; null when a reorg has removed it. */
const readRow = async (
  sources: ListSources,
  { kind, include }: Asked,
  { fact, event, token, feeRate }: RowColumns<Kind>,
): Promise<string | null> => {
  const { chainId } = fact
  const id = Number(fact.id)
  const eventId = 'eventId' in fact ? Number(fact.eventId) : id
  const found = await fromChain(sources, subject.event, { chainId, id: eventId }, undefined, (views, time) => ({
    ...views,
    time,
  }))
  if ('missing' in found) return null
  const own = {
    event: async () => ({ data: record.eventCore(found.data) }),
    deposit: () => fromChain(sources, subject.deposit, { chainId, id }, undefined, record.deposit),
    position: () => fromChain(sources, subject.position, { chainId, id }, undefined, record.position),
  }
  const entity = await own[kind]()
  if ('missing' in entity) return null
  const { deployment } = chainOf(sources.chains, chainId)
  const { paymentToken } = found.data
  const isStored = event?.paymentToken === paymentToken
  const text = rowText(entity.data, fact, await tokenOf(sources, chainId, paymentToken, isStored ? token : null))
  return withInclusions(
    text,
    () => [
      ...inclusionTexts(found.data, deployment.profile),
      ...summaryTexts(found.data),
      ...payoutOf(include, text, feeRate),
    ],
    include,
  )
}

/** Renders a row from its columns. */
const renderRow = async <K extends Kind>(
  sources: ListSources,
  asked: Asked<K>,
  columns: RowColumns<K>,
): Promise<string | null> => {
  const { fact, seen, event, eventSeen, token, feeRate } = columns
  if (seen === null || event === null || eventSeen === null) return readRow(sources, asked, columns)
  const { chainId } = fact
  const renderer = sources.lists.renderer(chainId)
  const text = renderer.row(asked.kind, fact, seen, await tokenOf(sources, chainId, eventSeen.paymentToken, token))
  return withInclusions(
    text,
    () => [
      ...renderer.inclusions(event, eventSeen),
      ...summaryTexts({ ...storedEntity('event', event, eventSeen), time: eventSeen.blockTimestamp }),
      ...payoutOf(asked.include, text, feeRate),
    ],
    asked.include,
  )
}

/** Returns the texts of an event's summary and terms, and keeps them: most rows of a page are of few events. */
const createSummaries = () => {
  const summaries = new Map<string, readonly string[]>()
  return ([event = '', settlement = '']: readonly string[]): readonly string[] => {
    const key = event + settlement
    const texts = summaries.get(key) ?? storedSummaryTexts(event, parseSettlement(settlement))
    summaries.set(key, texts)
    return texts
  }
}

/** The stored JSON of a row as the database returned it; null when the row has to be rendered. */
const storedRow = (
  row: string,
  include: readonly Inclusion[],
  summaryOf: ReturnType<typeof createSummaries>,
): string | null => {
  const start = row.indexOf(UNIT) + 1
  if (row[start] === UNIT) return null
  if (include.length === 0) return row.slice(start)
  const [text = '', ...parts] = row.slice(start).split(UNIT)
  const records = hasRecords(include) ? parts.splice(0, inclusions.length) : inclusions.map(() => '')
  const summary = hasSummary(include) ? summaryOf(parts.splice(0, 2)) : ['', '']
  const rate = parseRate(parts[0])
  return withInclusions(text, () => [...records, ...summary, ...payoutOf(include, text, rate)], include)
}

type Rendered = { readonly rows: (string | null)[]; readonly isIndexed: boolean }

/** Renders rows. With the inclusion `value`, rows have the terms to value their events by. */
const renderRows = async (
  sources: ListSources,
  asked: Asked,
  rows: readonly string[],
  unread?: (at: number) => void,
): Promise<Rendered> => {
  const summaryOf = createSummaries()
  const stored = rows.map((row) => storedRow(row, asked.include, summaryOf))
  if (!stored.includes(null)) return { rows: stored, isIndexed: true }
  let isIndexed = true
  const found = await Promise.all(
    stored.map(async (text, at) => {
      if (text !== null) return text
      const row = rows[at] ?? ''
      const columns = parseColumns(asked.kind, row.slice(row.indexOf(UNIT) + 2))
      isIndexed &&= columns.seen !== null && columns.eventSeen !== null
      try {
        return await renderRow(sources, asked, columns)
      } catch (fault) {
        if (unread === undefined || !isUnavailable(fault)) throw fault
        unread(at)
        return null
      }
    }),
  )
  return { rows: found, isIndexed }
}

/**
 * Returns rows as JSON, and whether all come from the index. A row is null when a reorg has removed it. A row whose
 * views the index has not read yet is read from the chain. When no node is in reach for that, `unread` is called with
 * the position of the row, and the row is null; without `unread`, the error is thrown.
 */
export const rowsOf = async (
  sources: ListSources,
  asked: Asked,
  rows: readonly string[],
  unread?: (at: number) => void,
): Promise<Rendered> => {
  const rendered = await renderRows(sources, asked, rows, unread)
  if (!showsValues(asked.include)) return rendered
  const allowsStale = asked.include.includes('stale-value')
  return { ...rendered, rows: await withValues(sources.pricing, rendered.rows, allowsStale) }
}
