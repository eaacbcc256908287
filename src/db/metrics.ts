import { Counter, Histogram } from 'prom-client'
import { isUnavailable } from '../lib/errors.ts'
import { DURATIONS, type Metrics, show } from '../lib/metrics.ts'
import type { Connections, Database } from './pool.ts'
import { databaseReports } from './reports.ts'

const states = ['total', 'idle', 'waiting'] as const satisfies (keyof Connections)[]

/** Measures what is asked of databases and how their pools are, each by the name it is given under. What comes back ends it. */
export const measureDatabases = (metrics: Metrics, pools: Readonly<Record<string, Database>>): (() => void) => {
  const registers = [metrics]
  const durations = new Histogram({
    name: 'fx_database_duration_seconds',
    help: 'Queries and transactions, the wait for a connection included',
    labelNames: ['kind'],
    buckets: DURATIONS,
    registers,
  })
  const failures = new Counter({
    name: 'fx_database_failures_total',
    help: 'Queries and transactions that failed, because the database was out of reach or for what was asked',
    labelNames: ['pool', 'kind', 'reason'],
    registers,
  })
  show(metrics, () => Object.entries(pools), [
    {
      name: 'fx_database_connections',
      help: 'Connections of a pool, those of them that are idle, and requests that wait for one',
      labels: ['pool', 'state'],
      of: (all) =>
        all.flatMap(([pool, database]) => {
          const connections = database.connections()
          return states.map((state) => [{ pool, state }, connections[state]] as const)
        }),
    },
  ])
  return databaseReports.listen({
    over({ pool, kind, startedAt, error }) {
      durations.observe({ kind }, (performance.now() - startedAt) / 1_000)
      if (error !== undefined) failures.inc({ pool, kind, reason: isUnavailable(error) ? 'unreachable' : 'failed' })
    },
  })
}
