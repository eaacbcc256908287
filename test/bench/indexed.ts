import { pino } from 'pino'
import type { Address } from 'viem'
import { announce } from '../../src/db/changes/changes.ts'
import { touchedByFacts, touching } from '../../src/db/changes/scopes.ts'
import { saveHeartbeat } from '../../src/db/index/work/heartbeat.ts'
import { type DatedFact, insertFacts, moveCursor } from '../../src/db/index/write.ts'
import { migrate } from '../../src/db/migrate.ts'
import { createDatabase, type Handle } from '../../src/db/pool.ts'
import { startPostgres } from '../../src/sandbox/parts/postgres.ts'
import { heartbeatAt } from '../support/healthy-index.ts'

const chainId = 8453
const log = pino({ level: 'silent' })
const hash = `0x${'22'.repeat(32)}` as const

/** A separate database with positions of one wallet, and the writes of an idle worker every second. */
export const startIndexed = async (owner: Address, positions: number) => {
  const postgres = await startPostgres()
  await migrate({ databaseUrl: postgres.url, log })
  const database = createDatabase({ url: postgres.url, log, maxConnections: 4, statementTimeoutMs: 5_000 })
  let number = 1n

  /** Moves the index to the next block, like a worker's transaction. */
  const commit = (write: (handle: Handle) => Promise<unknown> = async () => {}): Promise<void> =>
    database.transaction(async (handle) => {
      number += 1n
      const block = { number, hash, timestamp: BigInt(Math.floor(Date.now() / 1_000)) }
      await moveCursor(handle, chainId, block)
      await saveHeartbeat(handle, chainId, heartbeatAt(block, { proven: block }))
      await write(handle)
      await announce(handle, chainId, touching())
    })

  const facts = Array.from(
    { length: positions },
    (_, at): DatedFact => ({
      kind: 'position',
      id: BigInt(at + 1),
      eventId: 1n,
      hedger: owner,
      notional: 10n ** 9n,
      premiumPaid: 10n ** 7n,
      platformFee: 10n ** 4n,
      ...{ blockNumber: 1n, blockHash: hash, blockTimestamp: 1n, txHash: hash, logIndex: at },
    }),
  )
  await database.transaction(async (handle, copy) => {
    await insertFacts(copy, chainId, facts)
    await announce(handle, chainId, touchedByFacts(facts))
  })
  await commit()
  const beat = setInterval(() => void commit().catch(() => {}), 1_000)
  return {
    url: postgres.url,
    database,
    commit,
    async close(): Promise<void> {
      clearInterval(beat)
      await database.close()
      await postgres.close()
    },
  }
}
