import { type SQL, sql } from 'drizzle-orm'
import type { Address, Hex } from 'viem'
import type { Fact } from '../../protocol/abi/logs.ts'
import { type Kind, kinds, memberKinds, ownerOf } from '../../protocol/entities.ts'
import { bigints } from '../bulk.ts'
import type { Handle } from '../pool.ts'
import type { resetReasons } from '../schema/feed.ts'
import { ledger } from '../schema/ledger.ts'
import * as t from '../schema/records.ts'
import { entityTables } from '../stored.ts'

/*
 * Scopes name the data that a change touches, within one chain: an event, a wallet, all entities of a kind, the
 * protocol's own state, the settlements. A reader names the scopes that its answer depends on; the answer is valid
 * until a change touches one of them.
 */

/** An event, with its deposits and positions. */
export const ofEvent = (id: bigint | number): string => `event:${id}`

/** A wallet: the events that it created, its deposits and its positions. */
export const ofWallet = (address: Address): string => `wallet:${address.toLowerCase()}`

/** Every entity of a kind. */
export const ofKind = (kind: Kind): string => `${kind}s`

/** The protocol's own state. */
export const protocolScope = 'protocol'

/** The settlements of all events. */
export const settlementsScope = 'settlements'

/** The activity of a chain: the rows of the ledger. */
export const activityScope = 'activity'

/** What can change about a wallet or an event, as bits. */
export const aspects = { events: 1, deposits: 2, positions: 4, claimables: 8, activity: 16 } as const

const aspectOf = { event: aspects.events, deposit: aspects.deposits, position: aspects.positions }

/** What a transaction touches. */
export type Touched = {
  /** The touched scopes, each with the `aspects` that the feed reports. */
  readonly scopes: ReadonlyMap<string, number>
  /** Whether every cached answer of the chain may have changed, not only those that depend on the scopes. */
  readonly all: boolean
  /** Why the feed cannot name what changed; null when the scopes are complete. */
  readonly reset: (typeof resetReasons)[number] | null
}

/** Most scopes of one transaction. */
export const MOST_SCOPES = 20_000

/** Scopes that change as a whole. */
export const touching = (...scopes: readonly string[]): Touched => ({
  scopes: new Map(scopes.map((scope) => [scope, 0])),
  all: false,
  reset: null,
})

/** Everything of a chain. */
export const touchingAll = (reset: Touched['reset']): Touched => ({ ...touching(), all: true, reset })

/** What several changes touch together: everything of the chain if that is more than `most` scopes. */
export const union = (parts: readonly Touched[], most = MOST_SCOPES): Touched => {
  const scopes = new Map<string, number>()
  for (const part of parts) for (const [scope, bits] of part.scopes) scopes.set(scope, (scopes.get(scope) ?? 0) | bits)
  const reset = parts.find((part) => part.reset !== null)?.reset ?? null
  if (scopes.size > most) return touchingAll(reset ?? 'many_changes')
  return { scopes, all: parts.some(({ all }) => all), reset }
}

/** One touched entity: its kind, its event and its owner. */
type TouchedEntity = { readonly kind: Kind; readonly eventId: bigint; readonly owner: Address }

const touchingEntities = (entities: readonly TouchedEntity[]): Touched => {
  const scopes = new Map<string, number>()
  const add = (scope: string, bits: number): void => void scopes.set(scope, (scopes.get(scope) ?? 0) | bits)
  for (const { kind, eventId, owner } of entities) {
    add(ofKind(kind), 0)
    add(ofEvent(eventId), aspectOf[kind])
    add(ofWallet(owner), aspectOf[kind] | aspects.claimables)
  }
  return { scopes, all: false, reset: null }
}

/** What new facts touch: everything of the chain if these are more than `most` facts or scopes. */
export const touchedByFacts = (facts: readonly Fact[], most = MOST_SCOPES): Touched => {
  if (facts.length > most) return touchingAll('many_changes')
  const eventIdOf = (fact: Fact): bigint => (fact.kind === 'event' ? fact.id : fact.eventId)
  const entities = facts.map((fact) => ({ kind: fact.kind, eventId: eventIdOf(fact), owner: ownerOf(fact) }))
  const hasEvents = facts.some(({ kind }) => kind === 'event')
  return union([touchingEntities(entities), hasEvents ? touchingProtocol : touching()], most)
}

type LedgerEntry = { readonly eventId: bigint | null; readonly wallet: Hex | null }

/**
 * What a change of rows of the ledger touches: the activity of their events and wallets, of the protocol where a row has
 * neither, and everything of the chain if these are more than `most` rows.
 */
export const touchedByLedger = (rows: readonly LedgerEntry[], most = MOST_SCOPES): Touched => {
  if (rows.length === 0) return touching()
  if (rows.length > most) return touchingAll('many_changes')
  const scopes = rows.flatMap(({ eventId, wallet }) => {
    const named = [...(eventId === null ? [] : [ofEvent(eventId)]), ...(wallet === null ? [] : [ofWallet(wallet)])]
    return named.length === 0 ? [protocolScope] : named
  })
  const bits = new Map(scopes.map((scope) => [scope, aspects.activity]))
  return union([touching(activityScope), { ...touching(), scopes: bits }], most)
}

/** What a change of the stored rows of the ledger touches that fulfil a condition. */
export const touchedByLedgerWhere = async (
  handle: Handle,
  chainId: number,
  condition: SQL,
  most = MOST_SCOPES,
): Promise<Touched> => {
  const { eventId, wallet } = ledger
  const found = handle.selectDistinct({ eventId, wallet }).from(ledger)
  return touchedByLedger(await found.where(sql`${ledger.chainId} = ${chainId} AND ${condition}`).limit(most + 1), most)
}

/** The protocol's own state. */
export const touchingProtocol: Touched = touching(protocolScope)

/** What a change of the stored entities of a kind touches that fulfil a condition. */
const touchedWhere = async (
  handle: Handle,
  chainId: number,
  kind: Kind,
  condition: SQL,
  most = MOST_SCOPES,
): Promise<Touched> => {
  const { facts, owner } = entityTables[kind]
  const eventId = 'eventId' in facts ? facts.eventId : facts.id
  const { rows } = await handle.execute<{ event: string; owner: string }>(
    sql`SELECT DISTINCT ${eventId}::text AS event, encode(${owner}, 'hex') AS owner FROM ${facts}
      WHERE chain_id = ${chainId} AND ${condition} LIMIT ${most + 1}`,
  )
  if (rows.length > most) return touchingAll('many_changes')
  return touchingEntities(rows.map((row) => ({ kind, eventId: BigInt(row.event), owner: `0x${row.owner}` })))
}

/** What a change of stored entities touches: their kind, their events and their owners. */
export const touchedByIds = async (handle: Handle, chainId: number, kind: Kind, ids: readonly bigint[]) =>
  ids.length === 0 ? touching() : touchedWhere(handle, chainId, kind, sql`id = ANY(${bigints(ids)})`)

/** What a change of all deposits and positions of events touches, for example a settlement: who may claim. */
export const touchedByMembers = async (handle: Handle, chainId: number, eventIds: readonly bigint[]) => {
  if (eventIds.length === 0) return touching()
  const ofEvents = sql`event_id = ANY(${bigints(eventIds)})`
  const members: Touched[] = []
  for (const kind of memberKinds) members.push(await touchedWhere(handle, chainId, kind, ofEvents))
  return union(members)
}

/** What a change of events touches, with all of their deposits and positions; of more than `most` events, everything. */
export const touchedByEvents = async (
  handle: Handle,
  chainId: number,
  condition: SQL,
  most = MOST_SCOPES,
): Promise<Touched> => {
  const { rows } = await handle.execute<{ id: string }>(
    sql`SELECT id FROM ${t.events} LEFT JOIN ${t.eventObservations} USING (chain_id, id)
      WHERE chain_id = ${chainId} AND ${condition} LIMIT ${most + 1}`,
  )
  if (rows.length > most) return touchingAll('many_changes')
  const ids = rows.map(({ id }) => BigInt(id))
  return union([await touchedByIds(handle, chainId, 'event', ids), await touchedByMembers(handle, chainId, ids)])
}

/**
 * What the facts and the rows of the ledger above a block touch: everything if these are more than `most` pairs of an event
 * and a wallet.
 */
export const touchedAbove = async (
  handle: Handle,
  chainId: number,
  number: bigint | SQL,
  most = MOST_SCOPES,
): Promise<Touched> => {
  const above: Touched[] = []
  for (const kind of kinds) above.push(await touchedWhere(handle, chainId, kind, sql`block_number > ${number}`, most))
  above.push(await touchedByLedgerWhere(handle, chainId, sql`block_number > ${number}`, most))
  return union(above)
}
