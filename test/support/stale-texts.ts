import { and, eq } from 'drizzle-orm'
import type { Address } from 'viem'
import type { Handle } from '../../src/db/pool.ts'
import { type Renderer, UNIT } from '../../src/db/rendering.ts'
import * as t from '../../src/db/schema.ts'
import { entityTables, type FactRow, type ObservationRow } from '../../src/db/stored.ts'
import { type Kind, kinds } from '../../src/protocol/entities.ts'

/**
 * The stored texts of a chain under a renderer's key that differ from rendering the columns as they are now, each in
 * words. A text whose fact, event or token is gone counts too: what comes back in their place may be another.
 */
export const staleTexts = async (handle: Handle, chainId: number, renderer: Renderer): Promise<string[]> => {
  const tokens = await handle.select().from(t.tokens).where(eq(t.tokens.chainId, chainId))
  const stored = new Map<Address, (typeof tokens)[number] & { readonly token: Address }>(
    tokens.map((it) => [it.address, { ...it, token: it.address }]),
  )
  const events = await handle.select().from(t.events).where(eq(t.events.chainId, chainId))
  const seenEvents = await handle.select().from(t.eventObservations).where(eq(t.eventObservations.chainId, chainId))
  // A member shows the token of its event's observation; while that is gone, the one that it had last.
  const tokenOfEvent = (id: bigint): Address | null => {
    const event = events.find((it) => it.id === id)
    return event === undefined ? null : (seenEvents.find((it) => it.id === id)?.paymentToken ?? event.paymentToken)
  }
  const staleOf = async <K extends Kind>(kind: K): Promise<string[]> => {
    const { facts, observations } = entityTables[kind]
    const rows = await handle
      .select()
      .from(observations as typeof t.eventObservations)
      .where(and(eq(observations.chainId, chainId), eq(observations.renderKey, renderer.key)))
    const made = await handle
      .select()
      .from(facts as typeof t.events)
      .where(eq(facts.chainId, chainId))
    return rows.flatMap((row) => {
      if (row.rowText === null) return []
      const seen = row as unknown as ObservationRow<K>
      const fact = made.find(({ id }) => id === row.id) as unknown as FactRow<K> | undefined
      if (fact === undefined) return `${kind} ${row.id} has a text and no fact`
      const address = 'eventId' in fact ? tokenOfEvent(fact.eventId) : row.paymentToken
      const known = address && renderer.token(address, stored)
      if (known == null) return `${kind} ${row.id} has a text and no token`
      const { token, symbol, decimals } = known
      const text = renderer.row(kind, fact, seen, { token, symbol, decimals })
      if (row.rowText !== text) return `${kind} ${row.id}: ${row.rowText} is stored, ${text} is rendered`
      if (kind !== 'event') return []
      const included = renderer.inclusions(fact as FactRow<'event'>, row).join(UNIT)
      return row.inclusions === included
        ? []
        : `${kind} ${row.id}: ${row.inclusions} is stored, ${included} is rendered`
    })
  }
  return (await Promise.all(kinds.map(staleOf))).flat()
}
