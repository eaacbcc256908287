import { sql } from 'drizzle-orm'
import type { ChainId } from '../../protocol/chains.ts'
import type { Handle } from '../pool.ts'

/*
 * From processes whose clients wait for news of a chain to the worker that follows it: a notification for each demand.
 * One that is lost costs the client at most the pause of a quiet chain.
 */

/** The PostgreSQL notification channel for demands. */
export const DEMANDS = 'demands'

/** That a client waits for a block of a chain or, with null, for any news, for some milliseconds. */
export type ChainDemand = { readonly chainId: ChainId; readonly block: bigint | null; readonly ms: number }

export const sendDemand = async (handle: Handle, { chainId, block, ms }: ChainDemand): Promise<void> => {
  await handle.execute(sql`SELECT pg_notify(${DEMANDS}, ${`${chainId} ${block ?? ''} ${ms}`})`)
}

/** The demand in a notification; null for a text of another form. */
export const parseDemand = (payload: string): ChainDemand | null => {
  const [, chainId, block, ms] = /^(\d{1,10}) (\d{0,20}) (\d{1,6})$/.exec(payload) ?? []
  if (chainId === undefined) return null
  return { chainId: Number(chainId), block: block ? BigInt(block) : null, ms: Number(ms) }
}
