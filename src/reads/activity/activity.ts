import type { Address } from 'viem'
import { activityScope, ofEvent, ofWallet } from '../../db/changes/scopes.ts'
import { type ActivityEntry, type BlockWindow, MAX_BLOCK, MAX_LOG_INDEX } from '../../db/queries/activity.ts'
import { invalidField } from '../../lib/errors.ts'
import { protocolLog } from '../../protocol/abi/receipt-logs.ts'
import type { ChainId } from '../../protocol/chains.ts'
import type { Moment } from '../../protocol/fields/request-fields.ts'
import { integer } from '../../protocol/fields/response-fields.ts'
import { ledgerType, netOf } from '../../protocol/ledger.ts'
import type { KnownTokens } from '../../protocol/tokens.ts'
import { type Resource, resourceOf } from '../cache/resources.ts'
import { type ChainCursor, decodeCursor, encodeCursor } from '../cursor.ts'
import type { Provenance } from '../freshness/freshness.ts'
import { momentText, requireOneChain, requireOrder } from '../history/at.ts'
import { asOfTips, cursorsAfter, queriesOf, requireBlock } from '../lists/pages.ts'
import { DEFAULT_LIMIT } from '../lists/query.ts'
import { chainsOf } from '../lists/resource.ts'
import type { ListSources } from '../lists/sources.ts'
import type { ActivityQuery } from './query.ts'
import type { Activity, ActivityMeta } from './records.ts'

/** Everything that selects and orders the activity of a query. */
const nameOf = (chains: readonly ChainId[], query: ActivityQuery): string => {
  const { wallet, eventId, depositId, positionId, type, from, to, order = 'desc', finality = 'latest' } = query
  const filters = Object.entries({
    wallet,
    eventId,
    depositId,
    positionId,
    type,
    from: momentText(from),
    to: momentText(to),
  })
  const set = filters.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
  return ['activity', chains, order, finality, ...set].join(' ')
}

/** The blocks of each chain between two moments, both inclusive. A block number is of one chain. */
const windowsOf = (
  { lists }: ListSources,
  chains: readonly ChainId[],
  { from, to }: Pick<ActivityQuery, 'from' | 'to'>,
): Promise<BlockWindow[]> => {
  for (const [name, moment] of Object.entries({ from, to })) requireOneChain(name, moment, chains)
  requireOrder(from, to)
  const blockAt = async (chainId: ChainId, moment: Moment, later: bigint): Promise<bigint> =>
    'block' in moment ? moment.block + later : lists.activity.blockAt(chainId, moment.seconds + later)
  return Promise.all(
    chains.map(async (chainId) => ({
      chainId,
      low: from === undefined ? 0n : await blockAt(chainId, from, 0n),
      high: to === undefined ? MAX_BLOCK : (await blockAt(chainId, to, 1n)) - 1n,
    })),
  )
}

const idOf = (id: string | null): number | null => (id === null ? null : integer(id))

const amountsOf = ({ type, amount, fee, creationFee }: ActivityEntry) => {
  const { direction } = ledgerType(type)
  // The log of a creation does not name the fee for it; the deposit of the seed is a row of its own.
  const isCreation = type === 'event.created'
  const [gross, of] = isCreation && creationFee !== null ? ['0', creationFee] : [amount, fee ?? (amount && '0')]
  return {
    direction: isCreation ? ('out' as const) : (direction ?? null),
    amount: gross,
    fee: of,
    netAmount: gross === null || of === null ? null : netOf(direction ?? 'out', BigInt(gross), BigInt(of)).toString(),
  }
}

/**
 * The record of a row, and the token of its amounts: that of its event, or the one that the log names. The record has
 * what `known` has of the token.
 */
export const activityRecord = (row: ActivityEntry, known: KnownTokens) => {
  const { chainId, type, blockHash, txHash, logIndex, wallet } = row
  const topics = (row.topics.slice(2).match(/.{64}/g) ?? []).map((word) => `0x${word}` as const)
  const decoded = protocolLog({ topics, data: row.data })
  const args = decoded?.args ?? {}
  const named = typeof args.token === 'string' ? (args.token as Address) : null
  const address = row.token ?? named
  const token = address && known(chainId, address, row.token && row)
  const record: Activity = {
    chainId,
    type,
    blockNumber: integer(row.blockNumber),
    blockHash,
    blockTimestamp: integer(row.blockTimestamp),
    txHash,
    logIndex,
    eventId: idOf(row.eventId),
    depositId: idOf(row.depositId),
    positionId: idOf(row.positionId),
    wallet,
    ...amountsOf(row),
    token: token?.token ?? null,
    symbol: token?.symbol ?? null,
    decimals: token?.decimals ?? null,
    log: decoded?.name ?? null,
    args,
  }
  return { record, asks: token === null ? address : null }
}

/**
 * The record of a row. A token that the index does not know is asked for. Throws `service_unavailable` when no node is in
 * reach for that.
 */
export const recordOf = async ({ lists }: Pick<ListSources, 'lists'>, row: ActivityEntry): Promise<Activity> => {
  const { record, asks } = activityRecord(row, lists.token)
  return asks === null ? record : { ...record, ...(await lists.tokens.ask(row.chainId, asks)) }
}

type ActivityPage = Omit<Provenance, 'isIndexed'> & { readonly rows: readonly Activity[]; readonly meta: ActivityMeta }

const cursorsOf = (name: string, chains: readonly ChainId[], cursor: string | undefined): ChainCursor[] => {
  if (cursor === undefined) return []
  const cursors = decodeCursor(name, chains, cursor)
  if (cursors.some(({ after }) => Number(after?.key) > MAX_LOG_INDEX))
    throw invalidField('cursor', 'expected `meta.nextCursor` of this list')
  return cursors
}

/**
 * Reads a page of activity that is as of block `atLeast` of its one chain or a later block. Throws as `pageFor` does, and
 * `validation_error` for a block number in a request of several chains.
 */
export const activityOf = async (
  sources: ListSources,
  query: ActivityQuery,
  atLeast: bigint | null,
): Promise<ActivityPage> => {
  const { cursor, limit = DEFAULT_LIMIT, order = 'desc', eventId, depositId, positionId } = query
  const chains = chainsOf(query.chainId)
  const name = nameOf(chains, query)
  const previousCursors = cursorsOf(name, chains, cursor)
  const queries = await queriesOf(sources, chains, { previousCursors, finality: query.finality })
  const whole = (id: number | undefined): bigint | undefined => (id === undefined ? undefined : BigInt(id))
  const found = await sources.lists.activity.page({
    queries: queries.map((each) => each.query),
    windows: await windowsOf(sources, chains, query),
    filters: {
      wallets: query.wallet,
      eventId: whole(eventId),
      depositId: whole(depositId),
      positionId: whole(positionId),
      types: query.type,
    },
    order,
    // One row more than the page shows whether another page follows.
    limit: limit + 1,
  })
  const rows = found.rows.slice(0, limit)
  const hasMore = found.rows.length > limit
  const cursors = cursorsAfter(queries, previousCursors, found.tips, (chainId) => {
    const last = rows.findLast((row) => row.chainId === chainId)
    return last === undefined ? null : { id: BigInt(last.blockNumber), key: String(last.logIndex) }
  })
  const { asOf, freshness } = asOfTips(found.tips, cursors, sources)
  requireBlock(freshness, { atLeast, cursor, chainIds: chains })
  const completeFrom = found.completeFrom.map((each) => ({ ...each, blockNumber: integer(each.blockNumber) }))
  return {
    rows: await Promise.all(rows.map((row) => recordOf(sources, row))),
    meta: {
      limit,
      hasMore,
      nextCursor: hasMore ? encodeCursor(name, cursors) : null,
      asOf,
      ...(completeFrom.length > 0 && { completeFrom }),
    },
    freshness,
    refreshing: [],
  }
}

/** The resource of a page; null when it changes without a change of the index, by which blocks are final. */
export const activityResource = (query: ActivityQuery): Resource | null => {
  const { wallet, eventId, finality = 'latest' } = query
  if (finality !== 'latest') return null
  const scopes = wallet?.map(ofWallet) ?? [eventId === undefined ? activityScope : ofEvent(eventId)]
  return resourceOf(chainsOf(query.chainId), ...new Set(scopes))
}
