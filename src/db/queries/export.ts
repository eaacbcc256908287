import type { Hex } from 'viem'
import { z } from 'zod'
import type { ChainId } from '../../protocol/chains.ts'
import type { Kind } from '../../protocol/entities.ts'
import { ledgerTypes } from '../../protocol/ledger.ts'
import type { Database } from '../pool.ts'
import { tables } from './rows.ts'

/** A range of blocks whose logs were not all read, or whose entities may lack their log. */
type Gap = { readonly from: bigint; readonly to: bigint }

/** What the index of a chain has, from which follows what of it is complete. Times are Unix seconds. */
export type ExportState = {
  /** The newest indexed block. */
  readonly block: { readonly number: bigint; readonly hash: Hex; readonly timestamp: bigint }
  /** The time of the first log; null without one. */
  readonly firstAt: bigint | null
  /** The newest first. Above `MOST_GAPS` the last one begins with the chain. */
  readonly gaps: readonly Gap[]
  /** The time of the first event whose token has not been read yet; null without one. */
  readonly unreadAt: bigint | null
}

const MOST_GAPS = 100

const whole = z.string().transform(BigInt)
const Gaps = z.array(z.object({ from: whole, to: whole }))

/** Where the ledger lacks rows without a gap for them, because a build without a ledger wrote the index. */
const withoutGap = `SELECT coalesce(ledger_number + 1, 0) AS low, block_number AS high FROM cursors
  WHERE chain_id = c.chain_id AND ledger_number IS DISTINCT FROM block_number`

/** A gap that only the ledger has is filled from its end. In others, rows above `unread_to` may still lack their log. */
const gaps = `SELECT json_agg(json_build_object('from', low::text, 'to', high::text)) FROM (
  SELECT CASE WHEN row_number() OVER (ORDER BY high DESC) > ${MOST_GAPS} THEN 0 ELSE low END AS low, high FROM (
    SELECT from_block AS low, CASE WHEN ledger_only THEN unread_to ELSE to_block END AS high FROM log_gaps
      WHERE chain_id = c.chain_id UNION ALL ${withoutGap}) AS each ORDER BY high DESC LIMIT ${MOST_GAPS + 1}) AS newest`

/** Reads the state of a chain's index; null before its first block. */
export const readExportState = async (rows: Database['rows'], chainId: ChainId): Promise<ExportState | null> => {
  const [cells] = await rows({
    text: `SELECT c.block_number, '0x' || encode(c.block_hash, 'hex'), c.block_timestamp,
        (SELECT block_timestamp FROM ledger WHERE chain_id = c.chain_id ORDER BY block_number LIMIT 1), (${gaps})::text,
        (SELECT min(block_timestamp) FROM events WHERE chain_id = c.chain_id AND payment_token IS NULL)
      FROM cursors c WHERE chain_id = $1::integer`,
    values: [chainId],
  })
  if (cells === undefined) return null
  const [number, hash, timestamp, firstAt, lacking, unreadAt] = cells
  return {
    block: { number: BigInt(number ?? 0), hash: hash as Hex, timestamp: BigInt(timestamp ?? 0) },
    firstAt: firstAt == null ? null : BigInt(firstAt),
    gaps: Gaps.parse(JSON.parse(lacking ?? '[]')),
    unreadAt: unreadAt == null ? null : BigInt(unreadAt),
  }
}

/** The blocks of a chain, both inclusive. */
export type Blocks = { readonly chainId: ChainId; readonly low: bigint; readonly high: bigint }

/** The first and the last id of the entities that were created in some blocks; null where there are none. */
export const idsCreatedIn = async (
  rows: Database['rows'],
  kind: Kind,
  { chainId, low, high }: Blocks,
): Promise<{ readonly first: bigint; readonly last: bigint } | null> => {
  const { facts } = tables[kind]
  // By block, because a plan by id would read the entities of all other days. Ids grow with their blocks.
  const end = (order: 'ASC' | 'DESC'): string =>
    `(SELECT id FROM ${facts} WHERE chain_id = $1::integer AND block_number BETWEEN $2::bigint AND $3::bigint
      ORDER BY block_number ${order}, id ${order} LIMIT 1)`
  const [[first, last] = []] = await rows({
    text: `SELECT ${end('ASC')}, ${end('DESC')}`,
    values: [chainId, `${low}`, `${high}`],
  })
  return first == null || last == null ? null : { first: BigInt(first), last: BigInt(last) }
}

/** Whether the worker still reads logs of a chain's past. */
export const hasOpenGap = async (rows: Database['rows'], chainId: ChainId): Promise<boolean> => {
  const [cells] = await rows({
    text: `SELECT EXISTS (SELECT FROM log_gaps WHERE chain_id = $1::integer AND state = 'open')`,
    values: [chainId],
  })
  return cells?.[0] === 't'
}

/**
 * The ids above `after` of the events that existed at the end of some blocks and either were not settled before them or
 * have a log in them, in their order and `limit` at most.
 */
export const idsAliveIn = async (
  rows: Database['rows'],
  { chainId, low, high }: Blocks,
  after: bigint,
  limit: number,
): Promise<bigint[]> => {
  const logged = 'SELECT event_id FROM ledger WHERE chain_id = $1::integer AND event_id IS NOT NULL'
  const found = await rows({
    text: `SELECT id FROM events WHERE chain_id = $1::integer AND id > $4::bigint AND block_number <= $3::bigint
      AND (id NOT IN (${logged} AND type = ${ledgerTypes['event.settled'].code} AND block_number < $2::bigint)
        OR id IN (${logged} AND block_number BETWEEN $2::bigint AND $3::bigint)) ORDER BY id LIMIT $5::integer`,
    values: [chainId, `${low}`, `${high}`, `${after}`, limit],
  })
  return found.map(([id]) => BigInt(id ?? 0))
}
