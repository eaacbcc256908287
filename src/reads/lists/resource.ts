import { ofEvent, ofKind, ofWallet } from '../../db/changes/scopes.ts'
import { type ChainId, configuredChains } from '../../protocol/chains.ts'
import type { Kind } from '../../protocol/entities.ts'
import { showsValues } from '../../protocol/rows.ts'
import { type Resource, resourceOf } from '../cache/resources.ts'
import type { ListingQuery } from './query.ts'

/** The chains of a request in the configured order, without duplicates: all chains when it names none. */
export const chainsOf = (requested: readonly ChainId[] | undefined): readonly ChainId[] =>
  configuredChains().filter((id) => requested === undefined || requested.includes(id))

/** The scopes of the rows themselves. Rows of wallets and of events have scopes of their own. */
const rowScopes = (kind: Kind, { ids, wallet, creator, eventId }: ListingQuery): string[] => {
  const owners = wallet ?? creator
  if (owners !== undefined) return owners.map(ofWallet)
  if (eventId !== undefined) return [ofEvent(eventId)]
  return ids !== undefined && kind === 'event' ? ids.map(ofEvent) : [ofKind(kind)]
}

/**
 * The scopes of the rows' events, when the list includes their records or filters by claimable amounts. The scope of a
 * wallet covers changes of its claimable amounts.
 */
const eventScopes = ({ wallet, eventId, claimable, include = [] }: ListingQuery): string[] => {
  const isShown = include.length > 0 || (claimable !== undefined && wallet === undefined)
  if (!isShown) return []
  return [eventId === undefined ? ofKind('event') : ofEvent(eventId)]
}

/**
 * The resource of a page; null when it changes without a change of the index: by which events expired, which blocks are
 * final, or what positions are worth.
 */
export const pageResource = (kind: Kind, query: ListingQuery): Resource | null => {
  const { state, finality = 'latest', include } = query
  if (state === 'open' || state === 'expired' || finality !== 'latest' || showsValues(include)) return null
  const scopes = [...rowScopes(kind, query), ...(kind === 'event' ? [] : eventScopes(query))]
  return resourceOf(chainsOf(query.chainId), ...new Set(scopes))
}
