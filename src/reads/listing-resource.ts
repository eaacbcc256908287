import { ofEvent, ofKind, ofWallet } from '../db/scopes.ts'
import { type ChainId, chainIds } from '../protocol/chains.ts'
import type { Kind } from '../protocol/kinds.ts'
import { type Resource, resourceOf } from './changes.ts'
import type { ListingQuery } from './listing-query.ts'

type Asked = Pick<
  Partial<ListingQuery>,
  'chainId' | 'ids' | 'wallet' | 'creator' | 'eventId' | 'claimable' | 'include' | 'state' | 'finality'
>

/** The chains of a request, each once: all where it names none. */
export const chainsOf = (asked: readonly ChainId[] | undefined): readonly ChainId[] =>
  chainIds.filter((id) => asked === undefined || asked.includes(id))

/** The rows themselves: those of wallets and of events are told apart from the others. */
const rowScopes = (kind: Kind, { ids, wallet, creator, eventId }: Asked): string[] => {
  const owners = wallet ?? creator
  if (owners !== undefined) return owners.map(ofWallet)
  if (eventId !== undefined) return [ofEvent(eventId)]
  return ids !== undefined && kind === 'event' ? ids.map(ofEvent) : [ofKind(kind)]
}

/** What is told of the rows' events: records beside them, and whether something can be claimed, of which the owners are told themselves. */
const eventScopes = ({ wallet, eventId, claimable, include = [] }: Asked): string[] => {
  const isShown = include.length > 0 || (claimable !== undefined && wallet === undefined)
  if (!isShown) return []
  return [eventId === undefined ? ofKind('event') : ofEvent(eventId)]
}

/** What a page of a list depends on; null where time alone changes it: which events are expired, and which blocks are final. */
export const pageResource = (kind: Kind, asked: Asked): Resource | null => {
  const { state, finality = 'latest' } = asked
  if (state === 'open' || state === 'expired' || finality !== 'latest') return null
  const scopes = [...rowScopes(kind, asked), ...(kind === 'event' ? [] : eventScopes(asked))]
  return resourceOf(chainsOf(asked.chainId), ...new Set(scopes))
}
