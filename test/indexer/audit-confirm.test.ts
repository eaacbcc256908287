import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { Part } from '../../src/db/index/audit/runs.ts'
import { observationRows } from '../../src/db/index/observations.ts'
import type { Database } from '../../src/db/pool.ts'
import { compareUntilConfirmed } from '../../src/indexer/audit/confirm.ts'
import { blockOf, seedRows, seedToken } from '../support/seed-index.ts'
import { seededChain } from '../support/seeded-chain.ts'

const rows = seedRows(
  { token: seedToken, rowsABlock: 2, wallets: 7, events: 1 },
  { events: 1, deposits: 1, positions: 0 },
)
const head = blockOf(10n)
const seen = { events: [], deposits: rows.deposits.map((it) => it.seen), positions: [], protocol: null }
const mapOf = <T extends { readonly id: bigint }>(all: readonly T[]) => new Map(all.map((it) => [it.id, { ...it }]))

/** An index that equals the chain. */
const part: Part = {
  ...{ anchor: head, ids: [1n], last: 1n, isComplete: true, waiting: new Set<bigint>() },
  rows: {
    deposits: mapOf(rows.deposits.map((it) => it.fact)),
    deposit_observations: mapOf(observationRows(8453, head, seen).deposits),
  },
}

test('a difference by a wrong cached answer is not confirmed', async () => {
  const database = { snapshot: async () => part } as unknown as Database
  const { chain: cached } = seededChain(rows, { head, views: { pendingPremiums: () => 7n } })
  const { chain } = seededChain(rows, { head, readAt: cached.readAt })
  const deps = { chain, database, log: pino({ level: 'silent' }), waitBudget: { leftMs: 0 }, pauseMs: 0, size: 1n }
  const { first, differences } = await compareUntilConfirmed(deps, 'deposit', () => [1n])
  expect(first.comparison.differences).toHaveLength(1)
  expect(differences).toEqual([])
})
