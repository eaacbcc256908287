import { Client } from 'pg'
import { zeroAddress } from 'viem'
import { z } from 'zod'
import type { Statement } from '../../src/db/pool.ts'
import type { Filters } from '../../src/db/queries/filters.ts'
import { createListings } from '../../src/db/queries/listings.ts'
import type { Kind } from '../../src/protocol/entities.ts'
import { seedDeployment, seedToken, walletOf } from '../support/seed-index.ts'
import { chainId, ROWS, startMillion } from './million.ts'

/*
 * Counts the rows that a page of fifty reads for each filter of the lists, on a million positions. The server counts
 * them when it runs the statement: by its generic plan if the service prepares it, else by the plan for the values.
 *
 *   npm run bench:plans
 */

const LIMIT = 51

/**
 * The most rows that a page may read from all tables: each returned row with its two observations, and up to twenty
 * times as many filtered ones.
 */
const MOST = 20 * 4 * LIMIT

const nobody = '0x000000000000000000000000000000000000dEaD'

/** Each single filter, with values that many rows have and that no row has. */
const filters: Readonly<Record<Kind, readonly Filters[]>> = {
  event: [
    {},
    { owners: [walletOf(7)] },
    { owners: [nobody] },
    { underlying: 'USD/GHS' },
    { underlying: 'USD/XXX' },
    { symbol: 'usdc' },
    { symbol: 'none' },
    { capacityFrom: 1n },
    { capacityFrom: 1_000_000_000_000n },
    { paymentToken: seedToken },
    { paymentToken: zeroAddress },
    { strikeAbove: true },
    { strikeAbove: false },
    { poolOpen: true },
    { poolOpen: false },
    { state: 'open' },
    { state: 'expired' },
    { state: 'settled' },
    { state: 'triggered' },
    { expiryFrom: 1_800_030_000n },
    { expiryTo: 1_800_000_000n },
    { expiryFrom: 1_900_000_000n },
    { claimable: true },
    { claimable: false },
  ],
  deposit: [
    {},
    { owners: [walletOf(7)] },
    { eventId: 7n },
    { eventId: 999_999_999n },
    { claimable: true },
    { claimable: false },
    { withdrawn: true },
    { withdrawn: false },
  ],
  position: [
    {},
    { owners: [walletOf(7)] },
    { owners: [nobody] },
    { owners: Array.from({ length: 100 }, (_, at) => walletOf(at)) },
    { eventId: 8n },
    { eventId: 999_999_999n },
    { claimable: true },
    { claimable: false },
    { claimed: true },
    { claimed: false },
    { eventId: 8n, claimed: true },
    { owners: [walletOf(7)], claimable: true },
  ],
}

type Node = { readonly scanned: number; readonly plans: readonly Node[] }

/** Rows that a node of a plan read from a table or an index and then filtered out. */
const Plan: z.ZodType<Node> = z.lazy(() =>
  z
    .object({
      'Node Type': z.string(),
      'Actual Rows': z.number(),
      'Actual Loops': z.number(),
      'Rows Removed by Filter': z.number().optional(),
      'Rows Removed by Index Recheck': z.number().optional(),
      Plans: z.array(Plan).optional(),
    })
    .transform((node) => {
      const isScan = /Seq Scan|Index Scan|Index Only Scan|Bitmap Heap Scan/.test(node['Node Type'])
      const rows =
        node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
      return { scanned: isScan ? rows * node['Actual Loops'] : 0, plans: node.Plans ?? [] }
    }),
)
const Explained = z.tuple([z.object({ Plan, 'Execution Time': z.number() })])

const total = ({ scanned, plans }: Node): number => plans.reduce((sum, plan) => sum + total(plan), scanned)

const say = (kind: Kind, given: Filters, sort: string): string => {
  const told = Object.entries(given).map(([name, value]) =>
    Array.isArray(value) ? `${value.length} ${name}${value[0] === nobody ? ' (nobody)' : ''}` : `${name}=${value}`,
  )
  return `${kind}s ${told.join(' ') || 'all'}${sort === 'expiry' ? ' by expiry' : ''}`
}

const postgres = await startMillion()
const client = new Client(postgres.url)
await client.connect()

let nth = 0
/** Runs a statement as the service does and returns the server's EXPLAIN output. */
const explain = async ({ name, text, values }: Statement) => {
  nth += 1
  const given = values.map((value) => (value === null ? 'NULL' : client.escapeLiteral(String(value))))
  await client.query(`SET plan_cache_mode = ${name === undefined ? 'force_custom_plan' : 'force_generic_plan'}`)
  await client.query(`PREPARE page_${nth} AS ${text}`)
  const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE page_${nth}(${given.join()})`)
  await client.query(`DEALLOCATE page_${nth}`)
  const [explained] = Explained.parse(rows[0]?.['QUERY PLAN'])
  return { scanned: total(explained.Plan), ms: explained['Execution Time'] }
}

try {
  let bad = 0
  console.log(`rows that a page of ${LIMIT} looks at, of ${ROWS} positions (at most ${MOST})`)
  for (const [kind, sets] of Object.entries(filters) as [Kind, readonly Filters[]][]) {
    for (const given of sets) {
      for (const sort of kind === 'event' ? (['created', 'expiry'] as const) : (['created'] as const)) {
        let seen = { scanned: 0, ms: 0 }
        const listings = createListings({
          async rows(statement) {
            seen = await explain(statement)
            return []
          },
        })
        const query = { chainId, after: null, upTo: null, now: null, rollback: null }
        await listings.page({
          ...{
            kind,
            queries: [query],
            filters: given,
            deployments: [seedDeployment(chainId)],
            sort,
            order: 'desc',
            include: [],
            limit: LIMIT,
            count: false,
          },
        })
        // Each wallet's page is read before the pages are merged.
        const isBad = seen.scanned > Math.max(1, (given.owners?.length ?? 0) / 20) * MOST
        if (isBad) bad += 1
        console.log(
          `  ${say(kind, given, sort).padEnd(48)} ${seen.scanned.toFixed(0).padStart(9)} rows ${seen.ms.toFixed(1).padStart(8)} ms${isBad ? '  TOO MANY' : ''}`,
        )
      }
    }
  }
  if (bad > 0) process.exitCode = 1
} finally {
  await client.end()
  await postgres.close()
}
