import type { IndexHealth } from '../../db/index/health.ts'
import { type Metrics, type Shown, show } from '../../lib/observe/metrics.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { lagOfHealth } from '../lag/lag.ts'
import { type HealthSources, provenAgeOf, seenNodesOf, stateOf, states } from './health.ts'

type Value = number | bigint | null | undefined

type ChainHealth = { readonly chain: ChainId; readonly health: IndexHealth | null }

/** `start` is the configured start block. */
type Row = readonly [name: string, help: string, of: (health: IndexHealth, start: bigint | undefined) => Value]

const ageOf = (at: Date | null | undefined): number | null => (at == null ? null : (Date.now() - at.getTime()) / 1_000)

const rows: readonly Row[] = [
  ['fx_index_block', 'The block up to which the index is complete', (it) => it.indexed?.number],
  ['fx_index_head_block', 'The newest block that the worker has seen', (it) => it.heartbeat?.head.number],
  [
    'fx_index_lag_seconds',
    'How far the index is behind the chain, in seconds between the times of their newest blocks, plus the age of the last heartbeat while the worker is silent',
    lagOfHealth,
  ],
  ['fx_index_heartbeat_age_seconds', "Age of the worker's last heartbeat", (it) => it.heartbeat?.ageSeconds],
  [
    'fx_index_look_age_seconds',
    '(deprecated) Use fx_index_heartbeat_age_seconds, which has the same value',
    (it) => it.heartbeat?.ageSeconds,
  ],
  [
    'fx_index_proven_block',
    'The last block at which the index was proved equal to the chain',
    (it) => it.heartbeat?.proven?.number,
  ],
  [
    'fx_index_proven_age_seconds',
    'How far the head is ahead of the last proved block, in seconds between the times of both blocks',
    provenAgeOf,
  ],
  [
    'fx_chain_halted',
    '1 while all nodes of a chain report the same old block to the worker that follows it',
    (it) => {
      const nodes = seenNodesOf(it)
      return nodes && Number(nodes.halted)
    },
  ],
  ['fx_index_observations_waiting', 'Entities in the refresh queue', (it) => it.observations.waiting],
  [
    'fx_index_observations_oldest_seconds',
    'Age of the oldest entry of the refresh queue; 0 when the queue is empty',
    (it) => it.observations.oldestSeconds ?? 0,
  ],
  [
    'fx_index_gap_oldest_seconds',
    'Age of the oldest range of blocks whose logs are missing; 0 when there is none',
    (it) => it.withoutLog.oldestSeconds ?? 0,
  ],
  [
    'fx_index_unknown_logs_total',
    'Logs of the diamond that no release that indexed them knew',
    (it) => it.heartbeat?.unknownLogs?.many ?? 0,
  ],
  ['fx_audit_compared_total', 'Rows of the index that the audit compared with the chain', (it) => it.audit?.compared],
  ['fx_audit_rounds_total', 'Complete rounds of the audit over all rows', (it) => it.audit?.rounds],
  ['fx_audit_differences_total', 'Rows that the audit found different from the chain', (it) => it.audit?.differences],
  ['fx_audit_repaired_total', 'Rows that the audit repaired', (it) => it.audit?.repaired],
  [
    'fx_index_fees_contradicted',
    'Whether the fee rates of the protocol contradict those that its logs set: 1 or 0',
    (it) => (it.feesContradiction === null ? 0 : 1),
  ],
  [
    'fx_index_ledger_unread_blocks',
    'Blocks whose logs the ledger lacks, because they are still to be read or no node has them',
    (it) => it.ledger.unreadBlocks,
  ],
  ['fx_index_ledger_gaps', 'Ranges of blocks whose logs the worker still reads', (it) => it.ledger.gaps],
  ['fx_index_ledger_logs', 'Stored logs, as PostgreSQL estimates their number', (it) => it.ledger.logs],
  [
    'fx_index_sums_lag_seconds',
    'For how long the oldest row of the ledger that is not in the sums by day has been due; 0 when there is none',
    (it) => it.ledger.sumsLagSeconds,
  ],
  ['fx_audit_age_seconds', 'Time since the audit last compared rows', (it) => ageOf(it.audit?.auditedAt)],
  [
    'fx_index_start_ahead_blocks',
    'How many blocks the configured start block is above the newest block; 0 when it is not above',
    ({ heartbeat }, start) =>
      heartbeat && start !== undefined ? Math.max(0, Number(start - heartbeat.head.number)) : null,
  ],
]

const number = (value: Value): number | null => (value == null ? null : Number(value))

/** Exports the health of each chain's index; only the state `unknown` while the database is out of reach. */
export const showIndex = (metrics: Metrics, sources: HealthSources): void => {
  const startOf = (chain: ChainId): bigint | undefined => sources.chains.get(chain)?.deployment.startBlock
  const collect = (): Promise<ChainHealth[]> =>
    Promise.all(
      [...sources.chains.keys()].map(async (chain) => ({
        chain,
        health: await sources.healthOf(chain).catch(() => null),
      })),
    )

  show(metrics, collect, [
    ...rows.map(([name, help, of]): Shown<ChainHealth[]> => {
      const values = (all: ChainHealth[]) =>
        all.map(({ chain, health }) => [{ chain }, health && number(of(health, startOf(chain)))] as const)
      return { name, help, labels: ['chain'], of: values }
    }),
    {
      name: 'fx_index_rows_without_log',
      help: 'Rows that were read without their log, by whether it is still requested (pending), no node returns it (absent) or no node has logs as old (pruned)',
      labels: ['chain', 'log'],
      of: (all) =>
        all.flatMap(({ chain, health }) =>
          (['pending', 'absent', 'pruned'] as const).map(
            (log) => [{ chain, log }, health?.withoutLog[log] ?? null] as const,
          ),
        ),
    },
    {
      name: 'fx_node_paused',
      help: '1 while a node does not answer the worker that follows its chain',
      labels: ['chain', 'node'],
      of: (all) =>
        all.flatMap(({ chain, health }) =>
          ((health && seenNodesOf(health)?.endpoints) ?? []).map(
            ({ index, rank }) => [{ chain, node: index }, rank === 'paused' ? 1 : 0] as const,
          ),
        ),
    },
    {
      name: 'fx_index_state',
      help: 'State of a chain and its index: 1 for the current state, 0 for the others',
      labels: ['chain', 'state'],
      of: (all) =>
        all.flatMap(({ chain, health }) => {
          const current = stateOf(health, sources.maxLagSeconds)
          return states.map((state) => [{ chain, state }, state === current ? 1 : 0] as const)
        }),
    },
  ])
}
