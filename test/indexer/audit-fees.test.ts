import { expect, test } from 'vitest'
import { parseLogs } from '../../src/chain/rpc/log-shape.ts'
import type { Database } from '../../src/db/pool.ts'
import { compareFees } from '../../src/indexer/audit/fees.ts'
import type { FeeRates } from '../../src/protocol/abi/logs.ts'
import { jsonLog } from '../support/fake-log-chain.ts'
import { blockOf, seedDeployment } from '../support/seed-index.ts'
import { seededChain } from '../support/seeded-chain.ts'

/* The comparison of fee rates with a chain in memory, without a database. */

const { diamond } = seedDeployment(8453)
const old: FeeRates = { hedgerFeeRate: 9n, payoutFeeRate: 9n, lpProfitFeeRate: 9n, creatorLoyaltyRate: 9n }
/** The rates of the newest log and of the view. */
const now: FeeRates = { hedgerFeeRate: 2n, payoutFeeRate: 3n, lpProfitFeeRate: 4n, creatorLoyaltyRate: 5n }

const logs = parseLogs(
  [old, now].map((rates, at) =>
    jsonLog(diamond, 'FeesInitialized', { ...rates, hedgerPayoutFeeRate: rates.payoutFeeRate }, blockOf(BigInt(at)), 7),
  ),
)
const stored = [old, now].map((rates, at) => ({
  ...{ ...rates, blockNumber: BigInt(at), txHash: logs[at]?.transactionHash ?? '', logIndex: 7 },
}))

/** The differences of an index with these rows. */
const compare = async (rows: readonly object[], hasLogs = true) => {
  const database = { snapshot: async () => ({ anchor: blockOf(10n), rows }) } as unknown as Database
  const { chain } = seededChain(
    { events: [], deposits: [], positions: [] },
    {
      status: () => ({ endpoints: [], halted: false, hasLogs }),
      logs: async ({ from }) => ({
        endpoint: 0,
        logs: logs.slice(Number(from), Number(from) + 1),
        last: blockOf(from),
        before: null,
      }),
    },
  )
  return (await compareFees({ chain, database })).differences
}

test('equal fee rates have no difference', async () => {
  expect(await compare(stored)).toEqual([])
})

test.each(Object.keys(now))('another %s differs from the log and from the view', async (name) => {
  const [first, newest] = stored
  const found = await compare([first ?? {}, { ...newest, [name]: 8n }])
  expect(found.map((text) => text.split(':')[0])).toEqual(['fee_rates of block 1', 'fee_rates'])
})

test('fee rates are compared with the view alone where no node serves logs', async () => {
  const rows = stored.map((row) => ({ ...row, hedgerFeeRate: 8n }))
  expect(await compare(rows, false)).toEqual(['fee_rates: the newest are 8,3,4,5 in the index, 2,3,4,5 on the chain'])
})
