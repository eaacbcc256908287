import { deepStrictEqual } from 'node:assert'
import type { Pool } from 'pg'
import { z } from 'zod'
import { addresses } from '../../src/db/queries/listings.ts'
import { rowReader, tables } from '../../src/db/queries/rows.ts'
import { type Kind, kinds } from '../../src/protocol/entities.ts'
import { ledgerTypes } from '../../src/protocol/ledger.ts'
import { walletOf } from '../support/seed-index.ts'
import { asText, bareRow } from './bare.ts'
import { chainId, from, planOf, ROWS } from './million.ts'

/*
 * Compares portfolios of 100 wallets with one bare statement of the same rows, whose columns become objects and then
 * JSON. It computes no totals.
 */

const WALLETS = 100
const WARM_UP = 5

const Row = z.looseObject({ id: z.int() })
const Portfolios = z.object({
  data: z.array(z.object({ events: z.array(Row), deposits: z.array(Row), positions: z.array(Row) })),
})

type Wallets = readonly ReturnType<typeof walletOf>[]

const joins: Readonly<Record<Kind, string>> = {
  event: 'JOIN event_observations e USING (chain_id, id)',
  deposit: 'JOIN deposit_observations s USING (chain_id, id)',
  position: 'JOIN position_observations s USING (chain_id, id)',
}

/** The log that ended a row. */
const ended: Readonly<Record<Kind, string>> = {
  event: 'LEFT JOIN settlement_logs l ON l.chain_id = f.chain_id AND l.event_id = f.id',
  deposit: `LEFT JOIN ledger l ON l.chain_id = f.chain_id AND l.deposit_id = f.id AND l.type = ${ledgerTypes['capital.withdrawn'].code}`,
  position: `LEFT JOIN ledger l ON l.chain_id = f.chain_id AND l.position_id = f.id AND l.type = ${ledgerTypes['payout.claimed'].code}`,
}

/** The rows of a kind: the kind, and the columns that the service reads, as texts. */
const textOf = (kind: Kind, width: number): string => {
  const { expressions } = rowReader(kind, [])
  const texts = Array.from({ length: width }, (_, at) => (at in expressions ? `(${expressions[at]})::text` : 'NULL'))
  const token =
    kind === 'event'
      ? 'LEFT JOIN tokens t ON t.chain_id = f.chain_id AND t.address = e.payment_token'
      : `JOIN events o ON o.chain_id = f.chain_id AND o.id = f.event_id
        LEFT JOIN tokens t ON t.chain_id = f.chain_id AND t.address = o.payment_token`
  const { facts, owner } = tables[kind]
  return `SELECT '${kind}', ${texts.join()} FROM unnest($2::bytea[]) AS w (by)
    JOIN ${facts} f ON f.chain_id = $1 AND f.${owner} = w.by ${joins[kind]} ${token} ${ended[kind]}`
}

const width = Math.max(...kinds.map((kind) => rowReader(kind, []).expressions.length))
const text = kinds.map((kind) => textOf(kind, width)).join(' UNION ALL ')

/** The rows of wallets by one bare statement. */
const bareRows = async (pool: Pool, wallets: Wallets) => {
  const values = [chainId, addresses(wallets)]
  const asked = { name: 'portfolio rows', text, values, rowMode: 'array', types: asText } as const
  const rows: Record<Kind, object[]> = { event: [], deposit: [], position: [] }
  for (const [kind, ...texts] of (await pool.query<[Kind, ...string[]]>(asked)).rows)
    rows[kind].push(bareRow[kind](texts))
  return rows
}

/** The portfolios of wallets as the service sends them. */
const portfolios = async (url: string, wallets: Wallets): Promise<ArrayBuffer> => {
  const body = JSON.stringify({ wallets, chainIds: [chainId], state: 'all' })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}/v1/wallets/portfolio`, { method: 'POST', headers, body })
  if (answer.status !== 200) throw new Error(`status ${answer.status}`)
  return answer.arrayBuffer()
}

/** The wallets of a round. */
const walletsOf = (round: number): Wallets =>
  from(round * WALLETS, WALLETS).map((nth) => walletOf(nth % planOf(ROWS).wallets))

/** Throws unless both contestants have the same rows. */
const checkRows = async (url: string, pool: Pool): Promise<void> => {
  const wallets = [...new Set(walletsOf(0))]
  const { data } = Portfolios.parse(JSON.parse(Buffer.from(await portfolios(url, wallets)).toString()))
  const bare = await bareRows(pool, wallets)
  const sorted = (rows: unknown) =>
    z
      .array(Row)
      .parse(rows)
      .sort((a, b) => a.id - b.id)
  for (const kind of kinds)
    deepStrictEqual(sorted(bare[kind]), sorted(data.flatMap((portfolio) => portfolio[`${kind}s` as const])))
}

/** The milliseconds of each contestant, sorted. They run in turn, with other wallets in each round. */
export const timePortfolios = async (url: string, pool: Pool, rounds: number) => {
  await checkRows(url, pool)
  const contestants: Readonly<Record<string, (wallets: Wallets) => Promise<unknown>>> = {
    portfolios: (wallets) => portfolios(url, wallets),
    'the same rows, without totals': async (wallets) => JSON.stringify(await bareRows(pool, wallets)),
  }
  const all = Object.entries(contestants).map(([name, ask]) => ({ name, ask, ms: [] as number[] }))
  for (let round = 0; round < rounds + WARM_UP; round += 1) {
    const wallets = walletsOf(round)
    for (const { ask, ms } of all) {
      const start = performance.now()
      await ask(wallets)
      if (round >= WARM_UP) ms.push(performance.now() - start)
    }
  }
  return all.map(({ name, ms }) => ({ name, ms: ms.sort((a, b) => a - b) }))
}
