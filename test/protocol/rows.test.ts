import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { createRenderer } from '../../src/db/rendering.ts'
import { kinds } from '../../src/protocol/entities.ts'
import { ROW_FORMAT } from '../../src/protocol/records.ts'
import { inclusions, renderKeyOf, withInclusions } from '../../src/protocol/rows.ts'
import { factsOf } from '../support/known-chains.ts'
import { seedDeployment } from '../support/seed-index.ts'

/*
 * Stored texts stay longer than the process that rendered them. So the bytes of a format never change: these samples
 * have one hash for each version of the format.
 */

const [address, hash] = [`0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d`, `0x${'5f'.repeat(32)}`] as const
const origin = { chainId: 8453, blockNumber: 31_415_926n, blockHash: hash, blockTimestamp: 1_800_000_000n, logIndex: 7 }
const seenAt = { chainId: 8453, blockNumber: 31_415_999n, blockHash: hash, blockTimestamp: 1_800_000_146n }
const most = 2n ** 256n - 1n

const eventFact = {
  ...{ ...origin, id: 1n, creator: address, underlying: 'USD/GHS', strike: 12_000_000n, premiumRate: 23_000n },
  ...{ expiryDate: 1_800_000_147n, initialLiquidity: 1_000_000n, paymentToken: address, txHash: hash },
}
const eventSeen = {
  ...{
    ...seenAt,
    id: 1n,
    name: 'Cedi "Q3" \u0000\u001f\u2028\u{1f600}\\',
    payoutCap: 13_500_000n,
    initialRate: 11_400_000n,
  },
  ...{ strikeAbove: true, paymentToken: address, status: 0, poolOpen: true, allowExternalLp: false, triggered: false },
  ...{ settlementPrice: 0n, settledAt: 0n, creatorEarnings: 3_300_291n, totalLiquidity: most, totalExposure: 1n },
  ...{ totalPremiums: 2n ** 63n, lpCount: 2n ** 53n, hedgerCount: 6n, totalMaxPayout: 18_365_508_250n },
  ...{ availableCapacity: 75_000_000_000n, utilizationPercent: 24_487_344n },
}
const deposit = {
  fact: { ...origin, id: 2n, eventId: 1n, lp: address, amount: most, shares: 10n ** 18n, txHash: null },
  seen: { ...seenAt, id: 2n, premiumsEarned: 5n, premiumsClaimed: 3n, pending: 4n, withdrawn: false },
}
const position = {
  fact: {
    ...{ ...origin, id: 3n, eventId: 1n, hedger: address, notional: 10_000_000_000n, premiumPaid: 230_000_000n },
    ...{ platformFee: 1_150_000n, txHash: hash },
  },
  seen: { ...seenAt, id: 3n, payoutAmount: 438_596_491n, status: 4, claimed: false },
}
const tokens = [
  { token: address, symbol: 'USDC', decimals: 6 },
  { token: address, symbol: null, decimals: 18 },
  { token: address, symbol: 'a"\\\u0000\u2028', decimals: 0 },
]

/** Every text of the samples, of both profiles. */
const samples = (): string[] =>
  (['reference', 'deployed'] as const).flatMap((profile) => {
    const { row, inclusions: included } = createRenderer({ ...seedDeployment(8453), profile })
    const texts = included(eventFact, eventSeen)
    return tokens.flatMap((token) => {
      const rows = {
        event: row('event', eventFact, eventSeen, token),
        deposit: row('deposit', deposit.fact, deposit.seen, token),
        position: row('position', position.fact, position.seen, token),
      }
      return kinds.flatMap((kind) => [rows[kind], withInclusions(rows[kind], () => texts, inclusions)])
    })
  })

/** The hash of the samples in each format that was released. Add a row for a new format; never change a row. */
const hashes: Readonly<Record<number, string>> = {
  1: '0900a56b4e6865115ff3bb23f25d86703fbe7dbcc1975796739257ee5d9a5f41',
  2: 'b5d737d76afd5dbe02e1c82e8b53f2afe951a01ccfffb2d29690d44fd3ac3456',
}

test('the bytes of a row format equal the stored ones', () => {
  const found = createHash('sha256').update(samples().join('\n')).digest('hex')
  expect(
    hashes[ROW_FORMAT],
    `rows are rendered to other bytes than row format ${ROW_FORMAT} has: raise ROW_FORMAT in src/protocol/records.ts, so that texts of the old format are not served as if they were the new ones. If you have raised it already, only add the hash to this file: ${found}`,
  ).toBe(found)
})

test('the render key differs by format, profile and configured tokens, and fits a bigint of PostgreSQL', () => {
  const base = seedDeployment(56)
  const keys = [
    renderKeyOf(base),
    renderKeyOf(base, ROW_FORMAT + 1),
    renderKeyOf({ ...base, profile: 'deployed' }),
    renderKeyOf({ ...base, usdc: address.replace('8', '9') as typeof base.usdc }),
    renderKeyOf({ ...base, usdt: '0x55d398326f99059fF775485246999027B3197955' }),
    renderKeyOf({ ...base, ...factsOf(8453), chainId: 8453 }),
  ]
  expect(new Set(keys).size).toBe(keys.length)
  for (const key of keys) expect(BigInt.asIntN(64, key)).toBe(key)
})
