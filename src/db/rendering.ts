import { and, eq, inArray } from 'drizzle-orm'
import type { Address } from 'viem'
import { ServiceError } from '../lib/errors.ts'
import type { ChainId, Deployment } from '../protocol/chains.ts'
import type { Kind } from '../protocol/entities.ts'
import { entityRecord, ROW_FORMAT } from '../protocol/records.ts'
import { inclusionTexts, renderKeyOf, rowText } from '../protocol/rows.ts'
import { configuredTokens, type Token } from '../protocol/tokens.ts'
import type { Handle } from './pool.ts'
import * as t from './schema.ts'
import { entityTables, type FactRow, type ObservationRow, rowsById, storedEntity } from './stored.ts'

/* Renders list rows as JSON texts from an entity's columns. They are stored with its observation (decision 22). */

/** Renders the rows of one deployment. */
export type Renderer = {
  readonly key: bigint
  /** The token that rows show: the configured one, else the stored one. Null for an unknown token. */
  token(address: Address, stored: ReadonlyMap<Address, Token>): Token | null
  row<K extends Kind>(kind: K, fact: FactRow<K>, seen: ObservationRow<K>, token: Token): string
  /** The texts of `inclusions`, in their order. */
  inclusions(fact: FactRow<'event'>, seen: ObservationRow<'event'>): string[]
}

/** Creates the renderer of a deployment; `format` is that of this release by default. */
export const createRenderer = (deployment: Deployment, format = ROW_FORMAT): Renderer => {
  const configured = new Map(configuredTokens(deployment).map((it) => [it.token.toLowerCase(), it]))
  return {
    key: renderKeyOf(deployment, format),
    token: (address, stored) => configured.get(address.toLowerCase()) ?? stored.get(address) ?? null,
    row: (kind, fact, seen, token) => rowText(entityRecord[kind](storedEntity(kind, fact, seen)), fact, token),
    inclusions: (fact, seen) =>
      inclusionTexts({ ...storedEntity('event', fact, seen), time: seen.blockTimestamp }, deployment.profile),
  }
}

/** Separates the texts of `inclusions` in their column, and parts of a list row. JSON escapes it, so no text has it. */
export const UNIT = '\u001f'

/** The stored tokens of a chain. They are few, because the protocol's owner allows each one. */
export const storedTokens = async (handle: Handle, chainId: ChainId): Promise<Map<Address, Token>> => {
  const rows = await handle.select().from(t.tokens).where(eq(t.tokens.chainId, chainId))
  return new Map(rows.map(({ address, symbol, decimals }) => [address, { token: address, symbol, decimals }]))
}

/** The tokens of events: the observed one, or the last known one while a rollback has deleted the observation. */
const eventTokens = async (handle: Handle, chainId: ChainId, ids: readonly bigint[]) => {
  if (ids.length === 0) return new Map<bigint, Address | null>()
  const { events, eventObservations: seen } = t
  const rows = await handle
    .select({ id: events.id, seen: seen.paymentToken, last: events.paymentToken })
    .from(events)
    .leftJoin(seen, and(eq(seen.chainId, events.chainId), eq(seen.id, events.id)))
    .where(and(eq(events.chainId, chainId), inArray(events.id, [...ids])))
  return new Map(rows.map(({ id, seen, last }) => [id, seen ?? last]))
}

/** The token of each entity's amounts. */
const tokensOf = async <K extends Kind>(
  handle: Handle,
  chainId: ChainId,
  renderer: Renderer,
  facts: ReadonlyMap<bigint, FactRow<K>>,
) => {
  const stored = await storedTokens(handle, chainId)
  const eventIds = new Map([...facts].flatMap(([id, fact]) => ('eventId' in fact ? [[id, fact.eventId]] : [])))
  const events = await eventTokens(handle, chainId, [...new Set(eventIds.values())])
  return (seen: ObservationRow<K>): Token | null => {
    const address = 'paymentToken' in seen ? seen.paymentToken : events.get(eventIds.get(seen.id) ?? -1n)
    return address == null ? null : renderer.token(address as Address, stored)
  }
}

/**
 * Adds texts to observations: null where the fact or the token is unknown, and where the values cannot be rendered. The
 * transaction must hold the lock of the refresh queue, so that the inputs of the texts do not change.
 */
export const withTexts = async <K extends Kind>(
  handle: Handle,
  chainId: ChainId,
  kind: K,
  renderer: Renderer,
  observations: readonly ObservationRow<K>[],
) => {
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
      const texts = isEvent && renderer.inclusions(fact as FactRow<'event'>, seen as unknown as ObservationRow<'event'>)
      const rowText = renderer.row(kind, fact, seen, token)
      return { ...base, rowText, ...(texts && { inclusions: texts.join(UNIT) }) }
    } catch (fault) {
      // A nonsensical value of a node, such as an id above 2^53, must not prevent the other entities from being stored.
      if (fault instanceof ServiceError) return withoutText
      throw fault
    }
  })
}
