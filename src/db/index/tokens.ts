import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Address } from 'viem'
import type { ChainId } from '../../protocol/chains.ts'
import type { Token } from '../../protocol/tokens.ts'
import { insertMany } from '../bulk.ts'
import { announce } from '../changes/changes.ts'
import { touchedByEvents, touchedByLedgerWhere, touchingAll, union } from '../changes/scopes.ts'
import type { Handle } from '../pool.ts'
import { ledger } from '../schema/ledger.ts'
import * as t from '../schema/records.ts'

/** A stored token that has other values now. */
type TokenChange = { readonly before: Token; readonly now: Token }

/** The stored tokens of a chain. They are few, because the protocol's owner allows each one. */
const storedTokens = async (handle: Handle, chainId: ChainId): Promise<Map<Address, Token>> => {
  const rows = await handle.select().from(t.tokens).where(eq(t.tokens.chainId, chainId))
  return new Map(rows.map(({ address, symbol, decimals }) => [address, { token: address, symbol, decimals }]))
}

/** Stores tokens and returns those that had other values. A token without decimals is not stored. */
export const storeTokens = async (
  handle: Handle,
  chainId: ChainId,
  tokens: readonly Token[],
): Promise<readonly TokenChange[]> => {
  const known = await storedTokens(handle, chainId)
  const changed = tokens.flatMap(({ token: address, symbol, decimals }) => {
    const before = known.get(address)
    const isKnown = before?.symbol === symbol && before.decimals === decimals
    return decimals === null || isKnown ? [] : [{ chainId, address, symbol, decimals }]
  })
  if (changed.length === 0) return []
  const onConflict = sql`ON CONFLICT (chain_id, address) DO UPDATE SET symbol = excluded.symbol, decimals = excluded.decimals`
  await insertMany(handle, t.tokens, changed, onConflict)
  // Rows show a token as soon as it is known, and filters find it by its symbol only then.
  const renamed = changed.flatMap(({ address }) => (known.has(address) ? [address] : []))
  const { id, chainId: ofChain, paymentToken } = t.eventObservations
  const isPaidInIt = inArray(paymentToken, renamed)
  const paidInIt = handle
    .select({ id })
    .from(t.eventObservations)
    .where(and(eq(ofChain, chainId), isPaidInIt))
  await announce(
    handle,
    chainId,
    union([
      touchingAll(null),
      await touchedByEvents(handle, chainId, isPaidInIt),
      await touchedByLedgerWhere(handle, chainId, inArray(ledger.eventId, paidInIt)),
    ]),
  )
  return changed.flatMap(({ address: token, symbol, decimals }) => {
    const before = known.get(token)
    return before === undefined ? [] : [{ before, now: { token, symbol, decimals } }]
  })
}
