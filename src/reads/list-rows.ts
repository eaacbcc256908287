import type { Address } from 'viem'
import { type Renderer, UNIT } from '../db/rendering.ts'
import { parseColumns, type RowColumns } from '../db/row-query.ts'
import { isUnavailable } from '../lib/errors.ts'
import { type ChainId, chainIds } from '../protocol/chains.ts'
import type { Kind } from '../protocol/kinds.ts'
import * as record from '../protocol/records.ts'
import { type Inclusion, inclusionTexts, rowText, withInclusions } from '../protocol/rows.ts'
import type { Token } from '../protocol/tokens.ts'
import { fromChain } from './entity.ts'
import { chainOf, type Sources } from './read.ts'
import * as subject from './subjects.ts'

type Asked<K extends Kind = Kind> = { readonly kind: K; readonly include: readonly Inclusion[] }

const chainIdOf = (id: number): ChainId => {
  const chainId = chainIds.find((known) => known === id)
  if (chainId === undefined) throw new RangeError(`the index has rows of chain ${id}`)
  return chainId
}

/** A token as rows show it. One that the worker did not store is asked for on the chain. */
const tokenOf = async (
  { lists }: Sources,
  renderer: Renderer,
  chainId: ChainId,
  address: Address,
  stored: Token | null,
): Promise<Token> =>
  renderer.token(address, new Map(stored && [[stored.token, stored]])) ?? lists.tokens.ask(chainId, address)

/** A row that the index knows of and has not observed yet, from the chain; null when it is not there any more. */
const readRow = async (
  sources: Sources,
  { kind, include }: Asked,
  { fact, event, token }: RowColumns<Kind>,
): Promise<string | null> => {
  const chainId = chainIdOf(fact.chainId)
  const id = Number(fact.id)
  const eventId = 'eventId' in fact ? Number(fact.eventId) : id
  const found = await fromChain(sources, subject.event, { chainId, id: eventId }, undefined, (views, time) => ({
    ...views,
    time,
  }))
  if ('missing' in found) return null
  const own = {
    event: async () => ({ data: record.eventCore(found.data) }),
    deposit: () =>
      fromChain(sources, subject.deposit, { chainId, id }, undefined, (views) =>
        record.deposit(views.deposit, views.pending),
      ),
    position: () =>
      fromChain(sources, subject.position, { chainId, id }, undefined, (views) => record.position(views.position)),
  }
  const entity = await own[kind]()
  if ('missing' in entity) return null
  const { deployment } = chainOf(sources, chainId)
  const { paymentToken } = found.data
  const isStored = event?.paymentToken === paymentToken
  const shown = await tokenOf(sources, sources.lists.renderer(chainId), chainId, paymentToken, isStored ? token : null)
  return withInclusions(
    rowText(entity.data, fact, shown),
    () => inclusionTexts(found.data, deployment.profile),
    include,
  )
}

/** A row from its columns. */
const renderRow = async <K extends Kind>(
  sources: Sources,
  asked: Asked<K>,
  columns: RowColumns<K>,
): Promise<string | null> => {
  const { fact, seen, event, eventSeen, token } = columns
  if (seen === null || event === null || eventSeen === null) return readRow(sources, asked, columns)
  const chainId = chainIdOf(fact.chainId)
  const renderer = sources.lists.renderer(chainId)
  const shown = await tokenOf(sources, renderer, chainId, eventSeen.paymentToken, token)
  return withInclusions(
    renderer.row[asked.kind](fact, seen, shown),
    () => renderer.inclusions(event, eventSeen),
    asked.include,
  )
}

/** The JSON of a row as the database returned it; null where it has to be rendered. */
const storedRow = (row: string, include: readonly Inclusion[]): string | null => {
  const start = row.indexOf(UNIT) + 1
  if (row[start] === UNIT) return null
  if (include.length === 0) return row.slice(start)
  const [text = '', ...inclusions] = row.slice(start).split(UNIT)
  return withInclusions(text, () => inclusions, include)
}

/**
 * Rows as JSON, and whether the index alone gave them: null for what left the chain meanwhile. A row that is not observed yet is read from
 * the chain; when no node is in reach, `unread` is called with its place and the row is null, and without `unread` that is thrown.
 */
export const rowsOf = async (
  sources: Sources,
  asked: Asked,
  rows: readonly string[],
  unread?: (at: number) => void,
): Promise<{ readonly rows: (string | null)[]; readonly isIndexed: boolean }> => {
  const stored = rows.map((row) => storedRow(row, asked.include))
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
