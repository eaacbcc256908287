import type { Client } from 'pg'
import type { ChainId } from '../../src/protocol/chains.ts'
import { type Plan, walletOf } from '../support/seed-index.ts'

/*
 * Copies seeded positions inside the database: tens of millions in minutes. The copies equal the rows of `seedPosition`
 * except for the amounts, which are those of the copied row.
 */

type Copied = { readonly chainId: ChainId; readonly plan: Plan; readonly sample: number; readonly rows: number }

/** 32 bytes of a number in hex. */
const hex = (number: string): string => `lpad(to_hex(${number}), 64, '0')`

const numbers = ({ plan, sample, rows }: Copied): string => `(SELECT g AS id, 1 + (g - 1) % ${sample} AS of,
    1 + g % ${plan.events} AS event_id, (g * 13) % ${plan.wallets} AS wallet, (g + ${plan.rowsABlock - 1}) / ${plan.rowsABlock} AS block,
    4000 + (g - 1) % ${plan.rowsABlock} AS log FROM generate_series(${sample + 1}::bigint, ${rows}) AS g) AS n`

const facts = (
  copied: Copied,
): string => `INSERT INTO positions (chain_id, id, event_id, hedger, notional, premium_paid, platform_fee,
    block_number, block_hash, block_timestamp, tx_hash, log_index)
  SELECT sample.chain_id, n.id, n.event_id, w.address, sample.notional, sample.premium_paid, sample.platform_fee, n.block,
    decode(${hex('n.block << 8')}, 'hex'), 1800000000 + 2 * n.block, decode(${hex('(n.block << 40) + n.log')}, 'hex'), n.log
  FROM ${numbers(copied)} JOIN sample ON sample.id = n.of JOIN wallets w ON w.n = n.wallet`

const observations = (copied: Copied): string => `INSERT INTO position_observations
    (chain_id, id, payout_amount, status, claimed, block_number, block_hash, block_timestamp)
  SELECT sample.chain_id, n.id, payout_amount, status, claimed, block_number, block_hash, block_timestamp
  FROM ${numbers(copied)} JOIN sample_seen AS sample ON sample.id = n.of`

/** Copies the first `sample` rows of a chain until it has `rows`, and rebuilds secondary indexes at the end. */
export const multiply = async (client: Client, copied: Copied): Promise<void> => {
  const { chainId, plan, sample, rows } = copied
  if (rows <= sample) return
  await client.query(
    `SET work_mem = '512MB'; SET maintenance_work_mem = '1GB'; SET max_parallel_workers_per_gather = 0`,
  )
  await client.query('CREATE TEMP TABLE wallets (n bigint, address bytea)')
  const wallets = Array.from({ length: plan.wallets }, (_, n) => walletOf(n))
  await client.query(
    `INSERT INTO wallets SELECT nth - 1, decode(substr(text, 3), 'hex') FROM unnest($1::text[]) WITH ORDINALITY AS w (text, nth)`,
    [wallets],
  )
  const isSample = `chain_id = ${chainId} AND id <= ${sample}`
  await client.query(`CREATE TEMP TABLE sample AS SELECT * FROM positions WHERE ${isSample}`)
  await client.query(`CREATE TEMP TABLE sample_seen AS SELECT * FROM position_observations WHERE ${isSample}`)
  await client.query('ANALYZE wallets; ANALYZE sample; ANALYZE sample_seen')
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
      WHERE indrelid IN ('positions'::regclass, 'position_observations'::regclass) AND NOT indisprimary`,
  )
  for (const { name } of indexes) await client.query(`DROP INDEX ${name}`)
  await client.query(facts(copied))
  await client.query(observations(copied))
  for (const { definition } of indexes) await client.query(definition)
  await client.query('DROP TABLE wallets, sample, sample_seen')
}
