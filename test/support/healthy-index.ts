import type { IndexHealth } from '../../src/db/index/health.ts'
import type { Heartbeat } from '../../src/db/index/work/heartbeat.ts'
import type { StoredBlock } from '../../src/db/stored.ts'

const hash = `0x${'5f'.repeat(32)}` as const

/** A block by its number and time. */
export const datedBlock = (number: bigint, timestamp: bigint) => ({ number, hash, timestamp })

export const healthyNodes = { endpoints: [], halted: false, hasLogs: true }

/** The report of a leader that follows logs, at a head. Nothing is proved unless given. */
export const heartbeatAt = (head: StoredBlock, changed: Partial<Heartbeat> = {}): Heartbeat => ({
  ...{ head, proven: null, isQuiet: false, source: 'logs', problem: null },
  nodes: healthyNodes,
  ...changed,
})

/** The last heartbeat of a healthy index, of a chain whose clock is years behind. */
export const healthyHeartbeat: NonNullable<IndexHealth['heartbeat']> = {
  at: new Date(1_800_000_000_500),
  ageSeconds: 0.4,
  head: { number: 100n, timestamp: 1_000n },
  isQuiet: false,
  unknownLogs: null,
  proven: datedBlock(99n, 998n),
  source: 'logs',
  problem: null,
  nodes: healthyNodes,
}

/** Its last audit, without a difference. */
export const healthyAudit: NonNullable<IndexHealth['audit']> = {
  blockNumber: 98n,
  auditedAt: new Date(1_799_999_999_000),
  compared: 500n,
  rounds: 2n,
  roundAt: new Date(1_799_999_990_000),
  differences: 0n,
  repaired: 0n,
  last: null,
}

export const healthyIndex: IndexHealth = {
  indexed: datedBlock(99n, 998n),
  heartbeat: healthyHeartbeat,
  audit: healthyAudit,
  feesContradiction: null,
  observations: { waiting: 1, oldestSeconds: 0.2 },
  ledger: {
    ...{ completeFrom: null, unreadBlocks: 0n, prunedBlocks: 0n, gaps: 0 },
    ...{ logs: 12n, summedTo: 7n, sumsLagSeconds: 0.5 },
  },
  withoutLog: { pending: 0, absent: 0, pruned: 0, oldestSeconds: null },
  upgrade: {
    blockNumber: 40n,
    blockHash: `0x${'40'.repeat(32)}`,
    txHash: null,
    recordedAt: new Date('2026-11-01T00:00:00Z'),
  },
}
