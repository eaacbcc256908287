import { sql } from 'drizzle-orm'
import type { Address } from 'viem'
import { type Kind, ownerOf } from '../../protocol/entities.ts'
import type { Fact } from '../../protocol/logs.ts'
import type { Handle } from '../pool.ts'
import * as t from '../schema.ts'
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

/** A transaction that touches more scopes counts as a change of everything: a backfill touches nearly everything. */
export const MOST_SCOPES = 1_000

/** The scopes that a transaction touches; null means everything of the chain. */
export type Scopes = ReadonlySet<string> | null

/** The scopes that new facts touch. */
export const scopesOfFacts = (facts: readonly Fact[]): Scopes => {
  if (facts.length > MOST_SCOPES) return null
  const scopes = new Set<string>()
  for (const fact of facts) {
    scopes.add(ofKind(fact.kind))
    if (fact.kind === 'event') scopes.add(protocolScope)
    scopes.add(ofEvent(fact.kind === 'event' ? fact.id : fact.eventId)).add(ofWallet(ownerOf(fact)))
  }
  return scopes
}

/** The scopes that a change of stored entities touches: their kind, their events and their owners. */
export const scopesOf = async (handle: Handle, chainId: number, kind: Kind, ids: readonly bigint[]) => {
  if (ids.length === 0) return new Set<string>()
  if (ids.length > MOST_SCOPES) return null
  const { facts, owner } = entityTables[kind]
  const eventId = 'eventId' in facts ? facts.eventId : facts.id
  const { rows } = await handle.execute<{ event: string; owner: string }>(
    sql`SELECT DISTINCT ${eventId}::text AS event, encode(${owner}, 'hex') AS owner FROM ${facts}
      WHERE chain_id = ${chainId} AND id = ANY(${sql.param(ids.map(String))}::bigint[])`,
  )
  const each = rows.flatMap(({ event, owner }) => [ofEvent(BigInt(event)), ofWallet(`0x${owner}`)])
  return new Set([ofKind(kind), ...each])
}

/** What a settlement touches in addition to its events: the owners of deposits and positions, who may claim. */
export const scopesOfMembers = async (handle: Handle, chainId: number, eventIds: readonly bigint[]) => {
  if (eventIds.length === 0) return new Set<string>()
  const ofEvents = sql`chain_id = ${chainId} AND event_id = ANY(${sql.param(eventIds.map(String))}::bigint[])`
  const { rows } = await handle.execute<{ owner: string }>(
    sql`SELECT DISTINCT encode(owner, 'hex') AS owner FROM (SELECT lp AS owner FROM ${t.deposits} WHERE ${ofEvents}
      UNION ALL SELECT hedger FROM ${t.positions} WHERE ${ofEvents}) AS members LIMIT ${MOST_SCOPES + 1}`,
  )
  return rows.length > MOST_SCOPES ? null : new Set(rows.map(({ owner }) => ofWallet(`0x${owner}`)))
}

/** The scopes of all, which is everything if one is everything. */
export const union = (all: readonly Scopes[]): Scopes => {
  const scopes = new Set<string>()
  for (const some of all) {
    if (some === null) return null
    for (const scope of some) scopes.add(scope)
  }
  return scopes.size > MOST_SCOPES ? null : scopes
}
