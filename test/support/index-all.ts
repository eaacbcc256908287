import { pino } from 'pino'
import type { Chain } from '../../src/chain/chain.ts'
import { releaseLease, takeLease } from '../../src/db/index/work/lease.ts'
import type { Database } from '../../src/db/pool.ts'
import { createObserver } from '../../src/indexer/observer.ts'
import { createStep } from '../../src/indexer/step.ts'

/** Longer than any test's indexing takes, in milliseconds. */
const LEASE_TTL_MS = 30_000

/** Steps the chain's index until it has nothing more to do, and observes its entities. */
export const indexAll = async ({ chain, database }: { chain: Chain; database: Database }): Promise<void> => {
  const lease = await takeLease(database, chain.chainId, 'test', LEASE_TTL_MS)
  if (lease === null) throw new Error(`chain ${chain.chainId} is indexed by another process: its lease is taken`)
  const log = pino({ level: 'silent' })
  const step = createStep({ chain, database, leaseTtlMs: LEASE_TTL_MS, log, proveEveryMs: 0 })
  for (let isDone = false; !isDone; ) isDone = (await step(lease)).isQuiet
  await createObserver({ chain, database, log }).observeAll(new AbortController().signal)
  await releaseLease(database, lease)
}
