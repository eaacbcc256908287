import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { kindNames, kinds } from './creations.ts'
import { createLedger } from './ledger.ts'
import type { Chains, Index } from './rig.ts'
import { quantile } from './target.ts'

const POLL_MS = 50

const WITH_ORIGIN = kindNames
  .map(
    (kind) => `SELECT '${kind} ' || id AS name FROM ${kinds[kind].table} WHERE chain_id = 8453 AND tx_hash IS NOT NULL`,
  )
  .join(' UNION ALL ')

/** The rows of some blocks and how long each took, in milliseconds, until it had its transaction. */
export type Origins = {
  readonly rows: number
  readonly worst: number
  readonly median: number
  /** The rows that had no transaction in time. Their times are infinite. */
  readonly without: readonly string[]
}

/** Watches when rows of the index get the transaction that created them. */
export const watchOrigins = async (index: Pick<Index, 'database'>, { chain, traffic }: Chains) => {
  const client = new Client(index.database.url)
  await client.connect()
  const ledger = createLedger(traffic.node, chain.diamond)
  const seen = new Map<string, number>()
  const over = new AbortController()
  const watch = async (): Promise<void> => {
    for (; !over.signal.aborted; await sleep(POLL_MS)) {
      const { rows } = await client.query<{ name: string }>(WITH_ORIGIN)
      const at = Date.now()
      for (const { name } of rows) if (!seen.has(name)) seen.set(name, at)
    }
  }
  const watching = watch()
  return {
    /**
     * Waits until the rows of the blocks have their transactions, at most `withinMs` after the last block. Times count
     * from the block of the row, or from `since` (Unix milliseconds) if that is later.
     */
    async of(from: number, to: number, withinMs: number, since = 0): Promise<Origins> {
      const begin = (at: number): number => Math.max(since, traffic.minedAt(at))
      const block = await traffic.node.block(to)
      const rows = block && (await ledger.upTo(block))
      if (rows === null) throw new Error(`the chain has no block ${to}`)
      const expected = [...rows].filter(([, row]) => row.block >= from)
      const without = (): string[] => expected.flatMap(([name]) => (seen.has(name) ? [] : name))
      for (const deadline = begin(to) + withinMs; without().length > 0 && Date.now() < deadline; ) await sleep(POLL_MS)
      const took = expected.map(([name, row]) =>
        Math.max(0, (seen.get(name) ?? Number.POSITIVE_INFINITY) - begin(row.block)),
      )
      return { rows: expected.length, worst: Math.max(...took), median: quantile(took, 0.5), without: without() }
    },
    async close(): Promise<void> {
      over.abort()
      await watching
      await client.end()
    },
  }
}
