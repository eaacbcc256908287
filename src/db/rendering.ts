import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Address } from 'viem'
import { ServiceError } from '../lib/errors.ts'
import type { ChainId, Deployment } from '../protocol/chains.ts'
import type { Kind } from '../protocol/kinds.ts'
import * as record from '../protocol/records.ts'
import { inclusionTexts, ROW_FORMAT, renderKeyOf, rowText } from '../protocol/rows.ts'
import { configuredTokens, type Token } from '../protocol/tokens.ts'
import { insertMany } from './bulk.ts'
import { announce } from './changes.ts'
import type { Handle } from './pool.ts'
import * as t from './schema.ts'
import {
  entityTables,
  type FactRow,
  rowsById,
  type SeenRow,
  storedDeposit,
  storedEvent,
  storedPosition,
} from './stored.ts'

/* Rows of lists as texts: rendered from an entity's columns, and stored next to its observation. See decision 22. */

/** Renders the rows of one deployment. */
export type Renderer = {
  readonly key: bigint
  /** A token as rows show it: as it is configured, else as it is stored. Null for one that is not known. */
  token(address: Address, stored: ReadonlyMap<Address, Token>): Token | null
  readonly row: { readonly [K in Kind]: (fact: FactRow<K>, seen: SeenRow<K>, token: Token) => string }
  /** The texts of `inclusions`. */
  inclusions(fact: FactRow<'event'>, seen: SeenRow<'event'>): string[]
}

/** The renderer of a deployment; `format` is this release's unless given. */
export const createRenderer = (deployment: Deployment, format = ROW_FORMAT): Renderer => {
  const configured = new Map(configuredTokens(deployment).map((it) => [it.token.toLowerCase(), it]))
  return {
    key: renderKeyOf(deployment, format),
    token: (address, stored) => configured.get(address.toLowerCase()) ?? stored.get(address) ?? null,
    row: {
      event: (fact, seen, token) => rowText(record.eventCore(storedEvent(fact, seen)), fact, token),
      deposit: (fact, seen, token) => {
        const { deposit, pending } = storedDeposit(fact, seen)
        return rowText(record.deposit(deposit, pending), fact, token)
      },
      position: (fact, seen, token) => rowText(record.position(storedPosition(fact, seen).position), fact, token),
    },
    inclusions: (fact, seen) =>
      inclusionTexts({ ...storedEvent(fact, seen), time: seen.blockTimestamp }, deployment.profile),
  }
}

/** Separates the texts of `inclusions` in their column, and the parts of a row in the answer of a list: JSON has it escaped. */
export const UNIT = '\u001f'

/** The tokens of a chain that are stored. An owner of the protocol allows them one by one, so they are few. */
const storedTokens = async (handle: Handle, chainId: ChainId): Promise<Map<Address, Token>> => {
  const rows = await handle.select().from(t.tokens).where(eq(t.tokens.chainId, chainId))
  return new Map(rows.map(({ address, symbol, decimals }) => [address, { token: address, symbol, decimals }]))
}

/** Stores what tokens return of themselves. Rows that show one that changed are rendered again. One without decimals is left out. */
export const storeTokens = async (handle: Handle, chainId: ChainId, tokens: readonly Token[]): Promise<void> => {
  const known = await storedTokens(handle, chainId)
  const changed = tokens.flatMap(({ token: address, symbol, decimals }) => {
    const before = known.get(address)
    const isKnown = before?.symbol === symbol && before.decimals === decimals
    return decimals === null || isKnown ? [] : [{ chainId, address, symbol, decimals }]
  })
  if (changed.length === 0) return
  const put = sql`ON CONFLICT (chain_id, address) DO UPDATE SET symbol = excluded.symbol, decimals = excluded.decimals`
  await insertMany(handle, t.tokens, changed, put)
  if (changed.some(({ address }) => known.has(address))) await announce(handle, chainId, null)
}

/** Events' tokens: those of their observations, and while one is gone the token that it had last. */
const eventTokens = async (
  handle: Handle,
  chainId: ChainId,
  ids: readonly bigint[],
): Promise<ReadonlyMap<bigint, Address | null>> => {
  if (ids.length === 0) return new Map()
  const { events, eventObservations: seen } = t
  const rows = await handle
    .select({ id: events.id, seen: seen.paymentToken, last: events.paymentToken })
    .from(events)
    .leftJoin(seen, and(eq(seen.chainId, events.chainId), eq(seen.id, events.id)))
    .where(and(eq(events.chainId, chainId), inArray(events.id, [...ids])))
  return new Map(rows.map(({ id, seen, last }) => [id, seen ?? last]))
}

/** The tokens of the entities' amounts. */
const tokensOf = async <K extends Kind>(
  handle: Handle,
  chainId: ChainId,
  renderer: Renderer,
  facts: ReadonlyMap<bigint, FactRow<K>>,
): Promise<(seen: SeenRow<K>) => Token | null> => {
  const stored = await storedTokens(handle, chainId)
  const eventOf = (id: bigint): bigint | null => {
    const fact = facts.get(id)
    return fact !== undefined && 'eventId' in fact ? fact.eventId : null
  }
  const eventIds = [...new Set([...facts.keys()].flatMap((id) => eventOf(id) ?? []))]
  const events = await eventTokens(handle, chainId, eventIds)
  return (seen) => {
    const address = 'paymentToken' in seen ? seen.paymentToken : events.get(eventOf(seen.id) ?? -1n)
    return address == null ? null : renderer.token(address as Address, stored)
  }
}

/** An observation with its texts; they are null where the entity's fact or its token is not known, and where they cannot be made. */
export type RenderedRow<K extends Kind> = SeenRow<K> & {
  readonly rowText: string | null
  readonly renderKey: bigint
  readonly inclusions?: string | null
}

/** Adds their texts to observations. The transaction must hold the chain's notes: what the texts depend on then stays as it is. */
export const withTexts = async <K extends Kind>(
  handle: Handle,
  chainId: ChainId,
  kind: K,
  renderer: Renderer,
  observations: readonly SeenRow<K>[],
): Promise<RenderedRow<K>[]> => {
  if (observations.length === 0) return []
  const ids = observations.map(({ id }) => id)
  const facts = await rowsById<FactRow<K>>(handle, entityTables[kind].facts, chainId, ids)
  const tokenOf = await tokensOf(handle, chainId, renderer, facts)
  return observations.map((seen) => {
    const [fact, token] = [facts.get(seen.id), tokenOf(seen)]
    const isEvent = kind === 'event'
    const base = { ...seen, renderKey: renderer.key }
    const withoutText = { ...base, rowText: null, ...(isEvent && { inclusions: null }) }
    if (fact === undefined || token === null) return withoutText
    try {
      const texts = isEvent && renderer.inclusions(fact as FactRow<'event'>, seen as unknown as SeenRow<'event'>)
      const rowText = renderer.row[kind](fact, seen, token)
      return { ...base, rowText, ...(texts && { inclusions: texts.join(UNIT) }) }
    } catch (fault) {
      // Nonsense that a node returned, an id above 2^53 say, must not keep the other entities from being stored.
      if (fault instanceof ServiceError) return withoutText
      throw fault
    }
  })
}
