import { Counter, Histogram } from 'prom-client'
import { isUnavailable } from '../lib/errors.ts'
import { DURATIONS, type Metrics, show } from '../lib/observe/metrics.ts'
import { type Database, databaseStatements } from './pool.ts'

/**
 * Measures statements of databases and the state of their pools, each under its key. Returns a function that stops the
 * measurement.
 */
export const measureDatabases = (metrics: Metrics, pools: Readonly<Record<string, Database>>): (() => void) => {
  const registers = [metrics]
  const durations = new Histogram({
    name: 'fx_database_duration_seconds',
    help: 'Duration of queries and transactions, including the wait for a connection, except for that of the jobs of a worker',
    labelNames: ['kind'],
    buckets: DURATIONS,
    registers,
  })
  const failures = new Counter({
    name: 'fx_database_failures_total',
    help: 'Failed queries and transactions; reason is unreachable (database out of reach) or failed (statement rejected)',
    labelNames: ['pool', 'kind', 'reason'],
    registers,
  })
  show(metrics, () => Object.entries(pools), [
    {
      name: 'fx_database_connections',
      help: 'Connections of a pool (total), idle connections, and requests that wait for a connection',
      labels: ['pool', 'state'],
      of: (all) =>
        all.flatMap(([pool, database]) =>
          Object.entries(database.connections()).map(([state, count]) => [{ pool, state }, count] as const),
        ),
    },
  ])
  return databaseStatements.subscribe({
    onEnd({ pool, kind, startedAt, error }) {
      durations.observe({ kind }, (performance.now() - startedAt) / 1_000)
      if (error !== undefined) failures.inc({ pool, kind, reason: isUnavailable(error) ? 'unreachable' : 'failed' })
    },
  })
}

/** Shows whether reads use the replica. */
export const showReplica = (metrics: Metrics, isUsed: () => boolean): void =>
  show(metrics, () => isUsed(), [
    {
      name: 'fx_database_replica_used',
      help: '1 while lists are read from the replica, 0 while they are read from the primary instead',
      labels: [],
      of: (used) => [[{}, Number(used)]],
    },
  ])
