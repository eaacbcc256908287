import type { Pool } from 'pg'
import { addresses } from '../../src/db/queries/listings.ts'
import { walletOf } from '../support/seed-index.ts'
import { chainId, from, planOf, ROWS } from './million.ts'

/* Compares portfolios of 100 wallets with one statement that only returns the same texts. */

const WALLETS = 100
const WARM_UP = 5

const kinds = [
  ['events', 'event_observations', 'creator'],
  ['deposits', 'deposit_observations', 'lp'],
  ['positions', 'position_observations', 'hedger'],
] as const

const each = kinds.map(
  ([facts, observations, owner]) => `SELECT s.row_text FROM unnest($2::bytea[]) AS w (by)
    JOIN ${facts} f ON f.chain_id = $1 AND f.${owner} = w.by JOIN ${observations} s USING (chain_id, id)`,
)
const texts = each.join(' UNION ALL ')

type Ask = (wallets: readonly ReturnType<typeof walletOf>[]) => Promise<unknown>

/** The contestants: each reads the portfolios of some wallets. */
const contestants = (url: string, pool: Pool) => {
  const statement = (name: string, text: string): Ask => {
    const types = { getTypeParser: () => (value: string | Buffer) => value.toString() }
    return (wallets) => pool.query({ name, text, values: [chainId, addresses(wallets)], rowMode: 'array', types })
  }
  const portfolios: Ask = async (wallets) => {
    const body = JSON.stringify({ wallets, chainIds: [chainId], state: 'all' })
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${url}/v1/wallets/portfolio`, { method: 'POST', headers, body })
    await answer.arrayBuffer()
    if (answer.status !== 200) throw new Error(`status ${answer.status}`)
  }
  return {
    portfolios,
    'the texts, one a row': statement('portfolio texts', texts),
    'the texts as one': statement('portfolio text', `SELECT array_to_string(ARRAY(${texts}), ',')`),
  }
}

/** The milliseconds of each contestant, sorted. They run in turn, with other wallets in each round. */
export const timePortfolios = async (url: string, pool: Pool, rounds: number) => {
  const all = Object.entries(contestants(url, pool)).map(([name, ask]) => ({ name, ask, ms: [] as number[] }))
  for (let round = 0; round < rounds + WARM_UP; round += 1) {
    const wallets = from(round * WALLETS, WALLETS).map((nth) => walletOf(nth % planOf(ROWS).wallets))
    for (const { ask, ms } of all) {
      const start = performance.now()
      await ask(wallets)
      if (round >= WARM_UP) ms.push(performance.now() - start)
    }
  }
  return all.map(({ name, ms }) => ({ name, ms: ms.sort((a, b) => a - b) }))
}
