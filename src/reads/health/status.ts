import { z } from 'zod'
import { endpointRanks } from '../../chain/endpoints/status.ts'
import { type AuditedTable, auditedTables, type Comparison, columnsOf } from '../../db/index/audit/columns.ts'
import type { IndexHealth } from '../../db/index/health.ts'
import type { Heartbeat, NodeStatus as Nodes } from '../../db/index/work/heartbeat.ts'
import { type ChainId, OfChain } from '../../protocol/chains.ts'
import { clamped, Integer, UnixSeconds } from '../../protocol/fields/response-fields.ts'
import { ENDPOINT_LAGGING_SECONDS, lagOfHealth } from '../lag/lag.ts'
import { Check, type CheckResult } from './checks.ts'
import { alarmsOf, provenAgeOf, stateOf, states } from './health.ts'
import { type LagSample, MAX_LAGS } from './lags.ts'

const BlockNumber = Integer.meta({ description: 'Block number' })
const Seconds = Integer.meta({ description: 'Seconds' })
const Total = Integer.meta({ description: 'A total since the first run' })
const Sentence = z.string()

const Endpoint = z
  .object({
    index: Integer.meta({ description: 'Zero-based position in `RPC_URLS_<chain>`' }),
    rank: z.enum(endpointRanks).meta({
      description:
        '`ok`; `incomplete logs`: left logs out; `lagging`: behind the newest known block; `penalized`: contradicted other nodes; `stale`: its height was read more than 20 s ago; `paused`: failed and is not used for a while; `unknown`: has not reported its chain yet; `wrong chain`: reports another chain id and is not used',
    }),
    height: BlockNumber.nullable().meta({ description: 'The newest block that it has reported' }),
    heightAgeSeconds: Seconds.nullable().meta({ description: 'Seconds since the height was read' }),
    width: Integer.meta({ description: 'Number of blocks in one request for logs' }),
    missingCapabilities: z.array(z.string()).meta({
      description: 'Requests that the node has refused as not supported, by kind',
    }),
    fault: z.string().nullable().meta({
      description: 'The last error of the node; null when there was none',
    }),
  })
  .meta({ id: 'Endpoint' })

const Audit = z
  .object({
    at: UnixSeconds.meta({ description: 'When rows were last compared, in Unix seconds' }),
    block: BlockNumber.meta({ description: 'The block at which rows were last compared' }),
    compared: Total.meta({ description: 'Rows compared since the first run' }),
    rounds: Total.meta({ description: 'Complete rounds over all rows since the first run' }),
    roundAt: UnixSeconds.nullable().meta({ description: 'When the last complete round ended, in Unix seconds' }),
    differences: Total.meta({ description: 'Rows that differed since the first run' }),
    repaired: Total.meta({ description: 'Rows that were repaired since the first run' }),
    lastDifference: Sentence.nullable().meta({ description: 'The last row that differed; null when none has' }),
    lastDifferenceAt: UnixSeconds.nullable().meta({ description: 'When it was found, in Unix seconds' }),
    compares: z.array(z.string()).meta({ description: 'The columns that are compared, by table' }),
    notCompared: z.array(z.string()).meta({
      description: 'The columns that only the `audit` command compares, and those with no counterpart on the chain',
    }),
  })
  .meta({ description: 'The continuous comparison of the index with the chain' })

const Upgrade = z
  .object({
    block: BlockNumber,
    transaction: z.string().nullable().meta({ description: 'Null when no node serves logs' }),
    at: UnixSeconds.meta({ description: 'When the worker recorded the upgrade, in Unix seconds' }),
  })
  .meta({
    description:
      "The newest change of the diamond's functions, which may be the deployment. After an upgrade every entity is read again; `observations` shows the progress",
  })

const Rows = Integer.meta({ description: 'Rows' })

const WithoutLog = z
  .object({
    pending: Rows.meta({ description: 'Rows whose log the worker still requests' }),
    absent: Rows.meta({ description: 'Rows whose log no node returned for 10 minutes' }),
    pruned: Rows.meta({ description: 'Rows whose log is in blocks of which no node has logs any more' }),
  })
  .meta({
    description:
      'The events, deposits and positions that were read without their log. Their transaction is null, and fees that depend on it are unknown. Pruned and absent logs are requested again every hour, and after a restart of the worker',
  })

const LedgerState = z
  .object({
    completeFrom: Integer.nullable().meta({
      description: 'The block from which on the activity is complete; null when it is complete from the first block',
    }),
    unreadBlocks: Integer.meta({ description: 'Blocks whose logs are still to be read' }),
    prunedBlocks: Integer.meta({ description: 'Those of them of which no node has logs any more' }),
    gaps: Integer.meta({ description: 'Ranges of blocks that the worker still reads' }),
    logs: Integer.meta({ description: 'Stored logs, as PostgreSQL estimates their number' }),
    summedTo: Integer.nullable().meta({
      description: 'The block up to which the ledger is summed by day; null while nothing is',
    }),
    sumsLagSeconds: Seconds.meta({
      description: 'For how long the oldest row that is not summed has been an hour old; 0 when there is none',
    }),
  })
  .meta({
    description:
      'The logs of the chain that activity, states of the past and series are made of. After an upgrade the newest are read first, and sums follow when all are read',
  })

export const ChainStatus = z
  .object({
    chainId: OfChain,
    state: z.enum(states),
    head: z.object({ number: BlockNumber, timestamp: UnixSeconds }).nullable().meta({
      description: 'The newest block that the worker has seen',
    }),
    indexedBlock: BlockNumber.nullable().meta({ description: 'The newest block of the index' }),
    lagSeconds: Seconds.nullable().meta({
      description:
        'How far the index is behind the chain, in seconds; while the worker is silent, its silence is included',
    }),
    lags: z
      .array(
        z.object({
          at: UnixSeconds,
          lagSeconds: Seconds.nullable().meta({ description: 'How far the index was behind; null while not known' }),
        }),
      )
      .max(MAX_LAGS)
      .meta({
        description: `How far the index was behind, once a minute since this process started, the oldest first; the last ${MAX_LAGS} of them`,
      }),
    proven: z.object({ number: BlockNumber, ageSeconds: Seconds }).nullable().meta({
      description:
        'The last block at which the index was proved equal to the chain, and how far the head is ahead, in seconds',
    }),
    heartbeat: z.object({ at: UnixSeconds, ageSeconds: Seconds }).nullable().meta({
      description: "The worker's last report on the chain; null before the first",
    }),
    source: z.enum(['logs', 'ids']).nullable().meta({
      description: '`logs` when the index follows logs, `ids` when no node serves logs and ids are polled',
    }),
    problem: Sentence.nullable().meta({
      description: 'The problem that prevents a proof of the index; null when there is none',
    }),
    observations: z
      .object({ waiting: Integer, oldestSeconds: Seconds.nullable() })
      .nullable()
      .meta({ description: 'The entities that are queued to be read again' }),
    withoutLog: WithoutLog.nullable(),
    ledger: LedgerState.nullable(),
    upgrade: Upgrade.nullable(),
    audit: Audit.nullable(),
    endpoints: z
      .object({ worker: z.array(Endpoint), api: z.array(Endpoint) })
      .meta({ description: 'The nodes as seen by the worker and by this process' }),
    checks: z.array(Check).meta({
      description: 'Checks of the configuration against the nodes, the diamond, its tokens and the pricing engine',
    }),
    alarms: z.array(z.string()).meta({
      description: 'The problems and their remedies; empty when there are none',
    }),
  })
  .meta({ id: 'ChainStatus' })

/**
 * The endpoints. One that is `ok` for itself is `lagging` when its block was behind the newest known one at the time at
 * which it was read.
 */
const endpoints = (
  nodes: Nodes | undefined,
  head: Pick<Heartbeat['head'], 'number' | 'timestamp'> | undefined,
): z.output<typeof Endpoint>[] =>
  (nodes?.endpoints ?? []).map(({ index, rank, height, timestamp, heightAgeSeconds, width, missing, fault }) => {
    const newest = timestamp == null ? null : timestamp + BigInt(heightAgeSeconds ?? 0)
    const isBehind = head !== undefined && newest !== null && head.timestamp - newest > ENDPOINT_LAGGING_SECONDS
    const shown = rank === 'ok' && isBehind ? 'lagging' : rank
    return {
      index,
      // Heartbeats of another version may have other ranks.
      rank: endpointRanks.find((known) => known === shown) ?? 'unknown',
      height: height === null ? null : Number(height),
      heightAgeSeconds: heightAgeSeconds ?? null,
      width: Number(width),
      missingCapabilities: [...missing],
      fault,
    }
  })

const unixSeconds = (date: Date): number => Math.floor(date.getTime() / 1_000)

const columnsBy = (...hows: readonly Comparison[]): string[] =>
  (Object.keys(auditedTables) as AuditedTable[]).flatMap((table) => {
    const columns = columnsOf(table, ...hows)
    return columns.length === 0 ? [] : `${table}: ${columns.join(', ')}`
  })

/** The columns that the continuous audit compares, and those that it does not. */
const compares = columnsBy('key', 'view', 'state')
const notCompared = columnsBy('log', 'block', 'own')

const auditOf = ({ audit }: IndexHealth): z.output<typeof Audit> | null =>
  audit && {
    at: unixSeconds(audit.auditedAt),
    block: Number(audit.blockNumber),
    compared: Number(audit.compared),
    rounds: Number(audit.rounds),
    roundAt: audit.roundAt && unixSeconds(audit.roundAt),
    differences: Number(audit.differences),
    repaired: Number(audit.repaired),
    lastDifference: audit.last?.difference ?? null,
    lastDifferenceAt: audit.last && unixSeconds(audit.last.at),
    compares,
    notCompared,
  }

/** The status of a chain and its index. `health` is null without the database; `nodes` are those of this process. */
export const chainStatus = (chain: {
  readonly chainId: ChainId
  readonly health: IndexHealth | null
  /** The error when the health cannot be read. */
  readonly fault?: unknown
  readonly nodes: Nodes
  readonly checks: readonly CheckResult[]
  readonly lags?: readonly LagSample[]
  readonly maxLagSeconds: number
}): z.output<typeof ChainStatus> => {
  const { chainId, health, fault, nodes, checks, lags = [], maxLagSeconds } = chain
  const state = stateOf(health, maxLagSeconds)
  const stored = health?.heartbeat ?? null
  const heartbeat = stored && { at: unixSeconds(stored.at), ageSeconds: Math.floor(stored.ageSeconds) }
  const queue = health?.observations ?? null
  return {
    chainId,
    state,
    head: stored && { number: Number(stored.head.number), timestamp: Number(stored.head.timestamp) },
    indexedBlock: health?.indexed ? Number(health.indexed.number) : null,
    lagSeconds: health && lagOfHealth(health),
    lags: [...lags],
    proven: stored?.proven
      ? { number: Number(stored.proven.number), ageSeconds: provenAgeOf({ heartbeat: stored }) ?? 0 }
      : null,
    heartbeat,
    source: stored?.source ?? null,
    problem: stored?.problem ?? null,
    observations: queue && {
      waiting: queue.waiting,
      oldestSeconds: queue.oldestSeconds === null ? null : Math.floor(queue.oldestSeconds),
    },
    withoutLog: health && {
      pending: health.withoutLog.pending,
      absent: health.withoutLog.absent,
      pruned: health.withoutLog.pruned,
    },
    ledger: health && {
      completeFrom: health.ledger.completeFrom === null ? null : clamped(health.ledger.completeFrom),
      unreadBlocks: clamped(health.ledger.unreadBlocks),
      prunedBlocks: clamped(health.ledger.prunedBlocks),
      gaps: health.ledger.gaps,
      logs: clamped(health.ledger.logs),
      summedTo: health.ledger.summedTo === null ? null : clamped(health.ledger.summedTo),
      sumsLagSeconds: Math.floor(health.ledger.sumsLagSeconds),
    },
    upgrade: health?.upgrade
      ? {
          block: Number(health.upgrade.blockNumber),
          transaction: health.upgrade.txHash,
          at: unixSeconds(health.upgrade.recordedAt),
        }
      : null,
    audit: health && auditOf(health),
    endpoints: { worker: endpoints(stored?.nodes, stored?.head), api: endpoints(nodes, stored?.head) },
    checks: [...checks],
    alarms: alarmsOf({ chainId, health, fault, state, checks }),
  }
}
