import { type Address, getAddress } from 'viem'
import type { ChainId } from '../../protocol/chains.ts'
import { kinds } from '../../protocol/entities.ts'
import type { Token } from '../../protocol/tokens.ts'
import type { Database } from '../pool.ts'
import { addresses } from './listings.ts'
import { tables } from './rows.ts'

/** A payment token of a wallet's events, deposits or positions on a chain. */
export type HeldToken = {
  /** The index of the wallet in the query, from 0. */
  readonly wallet: number
  readonly chainId: ChainId
  /** Without symbol and decimals where they are not stored: configured tokens are not. */
  readonly token: Token
}

/** The newest rows of each kind, per wallet and chain, whose tokens are read. */
const MAX_ROWS_PER_KIND = 1_000

const ownEvents = (maxRows: number): string =>
  kinds
    .map(
      (kind) => `(SELECT f.${kind === 'event' ? 'id' : 'event_id'} FROM ${tables[kind].facts} f
      WHERE f.chain_id = asked.chain_id AND f.${tables[kind].owner} = owned.by ORDER BY f.id DESC LIMIT ${maxRows})`,
    )
    .join(' UNION ')

const textOf = (
  maxRows: number,
): string => `SELECT owned.nth, asked.chain_id, encode(held.token, 'hex'), encode(t.symbol, 'hex'), t.decimals
  FROM unnest($1::bytea[]) WITH ORDINALITY AS owned (by, nth) CROSS JOIN unnest($2::integer[]) AS asked (chain_id)
  CROSS JOIN LATERAL (SELECT e.token, max(own.event_id) AS newest FROM (${ownEvents(maxRows)}) AS own (event_id)
    CROSS JOIN LATERAL (SELECT payment_token FROM events WHERE chain_id = asked.chain_id AND id = own.event_id LIMIT 1) AS e (token)
    WHERE e.token IS NOT NULL GROUP BY e.token ORDER BY newest DESC LIMIT $3) AS held
  LEFT JOIN tokens t ON t.chain_id = asked.chain_id AND t.address = held.token
  ORDER BY owned.nth, asked.chain_id, held.newest DESC`

/**
 * Creates the query of the payment tokens that wallets have to do with: those of the newest events that they created,
 * deposited into or bought protection from, at most `limit` per wallet and chain. Throws `service_unavailable` when the
 * database is out of reach.
 */
export const createHeldTokens = (database: Pick<Database, 'rows'>, maxRows = MAX_ROWS_PER_KIND) => {
  const text = textOf(maxRows)
  return async (wallets: readonly Address[], chainIds: readonly ChainId[], limit: number): Promise<HeldToken[]> => {
    const values = [addresses(wallets), `{${chainIds.join()}}`, limit]
    const rows = await database.rows({ name: `held tokens ${maxRows}`, text, values })
    return rows.map(([nth, chainId, token, symbol = null, decimals = null]) => ({
      wallet: Number(nth) - 1,
      chainId: Number(chainId),
      token: {
        token: getAddress(`0x${token}`),
        symbol: symbol === null ? null : Buffer.from(symbol, 'hex').toString('utf8'),
        decimals: decimals === null ? null : Number(decimals),
      },
    }))
  }
}
