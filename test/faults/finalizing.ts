import type { Client } from 'pg'
import { untilRow, untilWaiting, withoutSettlementWrites } from './database-rows.ts'
import type { Process } from './process.ts'
import type { Traffic } from './traffic.ts'

/**
 * Makes indexed settlements final, and kills a worker in the middle of the transaction that stores that. Throws when none
 * is indexed or stored in time.
 */
export const killWhileItFinalizes = async (options: {
  readonly client: Client
  readonly worker: Process
  readonly traffic: Traffic
  /** The block of the last settlement. A reorg can give its event the id of an earlier one. */
  readonly settledAt: number
  readonly withinMs: number
}): Promise<void> => {
  const { client, worker, traffic, settledAt, withinMs } = options
  const indexed = `SELECT FROM settlements WHERE type = 'settled' AND block_number >= ${settledAt}`
  await untilRow(client, 'a settlement', indexed, withinMs)
  await withoutSettlementWrites(client, async () => {
    await traffic.makeFinal()
    const storing = 'UPDATE "settlements" SET finalized_seq%'
    await untilWaiting(client, 'a worker that stores that settlements are final', storing, withinMs)
    await worker.kill()
  })
}
