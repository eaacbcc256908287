import { and, eq, getTableColumns, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { ChainId } from '../../../protocol/chains.ts'
import { type MemberKind, memberKinds } from '../../../protocol/entities.ts'
import type { Database, Handle } from '../../pool.ts'
import { audits } from '../../schema/work.ts'
import { entityTables } from '../../stored.ts'
import { lastIdAt } from '../facts.ts'
import { readCursor } from '../work/progress.ts'

/** The largest id of the events of a chain; 0 without one. */
export const lastEvent = (database: Pick<Database, 'snapshot'>, chainId: ChainId): Promise<bigint> =>
  database.snapshot(async (handle) => {
    const cursor = await readCursor(handle, chainId)
    return (cursor && (await lastIdAt(handle, chainId, 'event', cursor.number))) ?? 0n
  })

type SeenMember = Readonly<Record<string, unknown>> & { readonly id: bigint; readonly blockNumber: bigint }

/** What the views returned last for the deposits and positions of an event, in the order of the blocks. */
export const readMembers = async (handle: Handle, chainId: ChainId, eventId: bigint) => {
  const found: { readonly kind: MemberKind; readonly seen: SeenMember }[] = []
  for (const kind of memberKinds) {
    const { facts, observations } = entityTables[kind]
    const rows: object[] = await handle
      .select(getTableColumns(observations as PgTable))
      .from(facts as PgTable)
      .innerJoin(observations, and(eq(observations.chainId, facts.chainId), eq(observations.id, facts.id)))
      .where(and(eq(facts.chainId, chainId), eq(facts.eventId, eventId)))
    found.push(...rows.map((seen) => ({ kind, seen: seen as SeenMember })))
  }
  return found.sort((a, b) => (a.seen.blockNumber < b.seen.blockNumber ? -1 : 1))
}

/** Adds the results of a comparison to those of the audit of a chain. */
export const savePasts = async (
  database: Pick<Database, 'run'>,
  chainId: ChainId,
  { compared, differences }: { readonly compared: number; readonly differences: readonly string[] },
): Promise<void> => {
  await database.run((handle) =>
    handle
      .update(audits)
      .set({
        compared: sql`${audits.compared} + ${compared}`,
        differences: sql`${audits.differences} + ${differences.length}`,
        ...(differences.length > 0 && { lastDifference: differences.at(-1) ?? null, lastDifferenceAt: sql`now()` }),
      })
      .where(eq(audits.chainId, chainId)),
  )
}
