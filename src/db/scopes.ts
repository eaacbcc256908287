import { sql } from 'drizzle-orm'
import type { Address } from 'viem'
import type { Kind } from '../protocol/kinds.ts'
import type { Fact } from '../protocol/logs.ts'
import type { Handle } from './pool.ts'
import * as t from './schema.ts'

/*
 * What a change touches, as words: an event, a wallet, all of one kind, the protocol's own state, the settlements. Each is of one chain. A
 * reader names the scopes its answer depends on; an answer holds until one of them is touched.
 */

/** An event, with its deposits and positions. */
export const ofEvent = (id: bigint | number): string => `event:${id}`

/** A wallet: what it created, put in or bought. */
export const ofWallet = (address: Address): string => `wallet:${address.toLowerCase()}`

/** Every entity of a kind. */
export const ofKind = (kind: Kind): string => `${kind}s`

/** The protocol's own state. */
export const protocolScope = 'protocol'

/** Which events are settled. */
export const settlementsScope = 'settlements'

/** A transaction that touches more than this changes everything: nobody could keep so many apart, and a backfill touches all there is. */
export const MOST_SCOPES = 1_000

/** The scopes that a transaction touches; null for everything of the chain. */
export type Scopes = ReadonlySet<string> | null

/** What new facts touch. */
export const scopesOfFacts = (facts: readonly Fact[]): Scopes => {
  if (facts.length > MOST_SCOPES) return null
  const scopes = new Set<string>()
  for (const fact of facts) {
    scopes.add(ofKind(fact.kind))
    if (fact.kind === 'event') scopes.add(protocolScope).add(ofEvent(fact.id)).add(ofWallet(fact.creator))
    else scopes.add(ofEvent(fact.eventId)).add(ofWallet(fact.kind === 'deposit' ? fact.lp : fact.hedger))
  }
  return scopes
}

const owned = {
  event: sql`SELECT id AS event_id, creator AS owner FROM ${t.events}`,
  deposit: sql`SELECT event_id, lp AS owner FROM ${t.deposits}`,
  position: sql`SELECT event_id, hedger AS owner FROM ${t.positions}`,
} as const

/** What a change of entities that the index holds touches: themselves, their events and their owners. */
export const scopesOf = async (
  handle: Handle,
  chainId: number,
  kind: Kind,
  ids: readonly bigint[],
): Promise<Scopes> => {
  if (ids.length === 0) return new Set()
  if (ids.length > MOST_SCOPES) return null
  const { rows } = await handle.execute<{ event: string; owner: string }>(
    sql`SELECT DISTINCT event_id::text AS event, encode(owner, 'hex') AS owner FROM (${owned[kind]}
      WHERE chain_id = ${chainId} AND id = ANY(${sql.param(ids.map(String))}::bigint[])) AS touched`,
  )
  const each = rows.flatMap(({ event, owner }) => [ofEvent(BigInt(event)), ofWallet(`0x${owner}`)])
  return new Set([ofKind(kind), ...each])
}

/** What a change of how events were settled touches besides them: the wallets that have a part in them, and may claim it. */
export const scopesOfMembers = async (
  handle: Handle,
  chainId: number,
  eventIds: readonly bigint[],
): Promise<Scopes> => {
  if (eventIds.length === 0) return new Set()
  const ofEvents = sql`chain_id = ${chainId} AND event_id = ANY(${sql.param(eventIds.map(String))}::bigint[])`
  const { rows } = await handle.execute<{ owner: string }>(
    sql`SELECT DISTINCT encode(owner, 'hex') AS owner FROM (SELECT lp AS owner FROM ${t.deposits} WHERE ${ofEvents}
      UNION ALL SELECT hedger FROM ${t.positions} WHERE ${ofEvents}) AS members LIMIT ${MOST_SCOPES + 1}`,
  )
  return rows.length > MOST_SCOPES ? null : new Set(rows.map(({ owner }) => ofWallet(`0x${owner}`)))
}

/** All that any of them touches. */
export const union = (all: readonly Scopes[]): Scopes => {
  const scopes = new Set<string>()
  for (const some of all) {
    if (some === null) return null
    for (const scope of some) scopes.add(scope)
  }
  return scopes.size > MOST_SCOPES ? null : scopes
}
