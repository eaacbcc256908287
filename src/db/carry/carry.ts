import { sql } from 'drizzle-orm'
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { Client } from 'pg'
import { OperatorError } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { lockRefreshQueue } from '../index/work/refresh-queue.ts'
import { openPatient } from '../patient-client.ts'
import type { Handle } from '../pool.ts'
import { adviceOf, faultText, isOutOfReach } from '../refusals.ts'
import { feedEpochs } from '../schema/feed.ts'
import { changeCounter, cursors, logGaps, rollbacks } from '../schema/index-state.ts'
import { apiKeys, deliveries, webhookEndpoints } from '../schema/webhooks.ts'
import { calibrations, leases } from '../schema/work.ts'
import { ownFault, readApplied } from '../versions.ts'
import { announceRebuilt, carryNumbers } from './activity.ts'
import { refuseChanges } from './refuse-changes.ts'
import { carrySettlements } from './settlements.ts'
import { copyTable, type Databases } from './tables.ts'

/*
 * Carries what no chain has from the previous database to one whose index was built next to it: settlements and
 * activity with the numbers that clients have, webhook endpoints and their deliveries, calibrations, rollbacks, and the
 * histories to which cursors belong. The rows of the index stay as the chains led to them.
 */

const requireSchema = async (handle: Handle, name: string): Promise<void> => {
  const fault = ownFault(await readApplied(handle))
  if (fault !== null) throw new OperatorError(`the ${name} database: ${fault}`)
}

/** Throws an OperatorError while a worker may write to a database. */
const requireStopped = async (handle: Handle, name: string): Promise<void> => {
  const [lease] = await handle.select().from(leases).where(sql`${leases.expiresAt} > now()`).limit(1)
  if (lease === undefined) return
  const until = lease.expiresAt.toISOString()
  throw new OperatorError(
    `a worker of the ${name} database has the lease of chain ${lease.chainId} until ${until}: stop its workers, and run this again`,
  )
}

type Counter = Pick<typeof changeCounter.$inferSelect, 'last' | 'epoch'>

const counterOf = async (handle: Handle): Promise<Counter> => {
  const { last, epoch } = changeCounter
  const [row] = await handle.select({ last, epoch }).from(changeCounter)
  return row ?? { last: 0, epoch: '' }
}

/**
 * Whether the rebuilt database has everything already, from an earlier run. Throws an OperatorError when the two databases
 * are one, or when the previous one was written to since that run.
 */
const isCarried = async (rebuilt: Handle, before: Counter): Promise<boolean> => {
  if ((await counterOf(rebuilt)).epoch === before.epoch)
    throw new OperatorError(
      'both databases have the same history: DATABASE_URL is the rebuilt one, PREVIOUS_DATABASE_URL the other',
    )
  const [carried] = await rebuilt.select().from(feedEpochs).where(sql`${feedEpochs.epoch} = ${before.epoch}`)
  if (carried !== undefined && carried.last !== before.last)
    throw new OperatorError(
      'the previous database has changed since it was carried over: drop the rebuilt database, and build it again',
    )
  return carried !== undefined
}

/** The last block of each chain in the previous database. Throws an OperatorError when the rebuilt one is behind. */
const reachedBlocks = async ({ previous, rebuilt }: Databases): Promise<ReadonlyMap<ChainId, bigint>> => {
  const numbers = async (handle: Handle) => {
    const rows = await handle.select({ chainId: cursors.chainId, number: cursors.blockNumber }).from(cursors)
    return new Map(rows.map(({ chainId, number }) => [chainId, number]))
  }
  const before = await numbers(previous)
  const after = await numbers(rebuilt)
  for (const [chainId, number] of before) {
    const reached = after.get(chainId)
    if (reached === undefined || reached < number)
      throw new OperatorError(
        `chain ${chainId}: the rebuilt index is at block ${reached ?? 'none'}, the previous one at ${number}: run its worker until it has caught up`,
      )
    if ((await rebuilt.$count(logGaps, sql`${logGaps.chainId} = ${chainId} AND ${logGaps.state} = 'open'`)) > 0)
      throw new OperatorError(`chain ${chainId}: the rebuilt index still reads logs: wait until /status shows no gap`)
  }
  return before
}

/** Continues the history of the previous database: its numbers are below those of the rebuilt one from then on. */
const continueHistory = async (databases: Databases, { last, epoch }: Counter): Promise<void> => {
  const { rebuilt } = databases
  await copyTable(databases, feedEpochs)
  await rebuilt.insert(feedEpochs).values({ epoch, last })
  const next = sql`greatest(${changeCounter.last}, ${last}::bigint)`
  await rebuilt.update(changeCounter).set({ before: sql`${changeCounter.last}`, last: next, fed: next })
}

const continueSequence = (rebuilt: Handle, table: string, column: string) =>
  rebuilt.execute(
    sql.raw(
      `SELECT setval(pg_get_serial_sequence('${table}', '${column}'), coalesce(max(${column}), 0) + 1, false) FROM ${table}`,
    ),
  )

/** Replaces the rollbacks by those that cursors of lists name, and one more: rows of these lists may be others now. */
const carryRollbacks = async (databases: Databases, chainIds: Iterable<ChainId>): Promise<void> => {
  const { rebuilt } = databases
  const newest = await rebuilt.execute<{ chain_id: ChainId; last: string }>(
    sql`SELECT chain_id, max(last_request) AS last FROM ${rollbacks} GROUP BY chain_id`,
  )
  const lastOf = new Map(newest.rows.map((row) => [row.chain_id, BigInt(row.last)]))
  await rebuilt.delete(rollbacks)
  await copyTable(databases, rollbacks)
  await continueSequence(rebuilt, 'rollbacks', 'seq')
  // Their requests were those of the previous database.
  await rebuilt.update(rollbacks).set({ lastRequest: 0n })
  for (const chainId of chainIds)
    await rebuilt.insert(rollbacks).values({ chainId, ancestorNumber: -1n, lastRequest: lastOf.get(chainId) ?? 0n })
}

/** How many rows were carried over, and what was found that the previous database did not have. */
type Count = 'keys' | 'endpoints' | 'deliveries' | 'calibrations' | 'settlements' | 'events' | 'reversals' | 'news'
type Carried = Readonly<Record<Count, number>>

const carryAll = async (databases: Databases, onProgress: (line: string) => void): Promise<Carried | null> => {
  const { previous, rebuilt } = databases
  for (const [handle, name] of [
    [previous, 'previous'],
    [rebuilt, 'rebuilt'],
  ] as const)
    await requireStopped(handle, name)
  const before = await counterOf(previous)
  if (await isCarried(rebuilt, before)) return null
  const reached = await reachedBlocks(databases)
  // Steps and rollbacks take the same lock.
  for (const chainId of reached.keys()) await lockRefreshQueue(rebuilt, chainId)
  await continueHistory(databases, before)
  await carryRollbacks(databases, reached.keys())
  onProgress('copies calibrations, keys, webhook endpoints and their deliveries')
  await rebuilt.delete(calibrations)
  const versions = await copyTable(databases, calibrations)
  await continueSequence(rebuilt, 'calibrations', 'version')
  await rebuilt.delete(webhookEndpoints)
  await rebuilt.delete(apiKeys)
  const keys = await copyTable(databases, apiKeys)
  const endpoints = await copyTable(databases, webhookEndpoints)
  const messages = await copyTable(databases, deliveries)
  onProgress('copies settlements, and compares them with those of the rebuilt index')
  const settled = await carrySettlements(databases)
  onProgress('gives the activity of wallets the numbers that receivers know')
  await carryNumbers(databases)
  let [reversals, news] = [0, 0]
  for (const [chainId, number] of reached) {
    const found = await announceRebuilt(databases, chainId, number)
    reversals += found.reversals
    news += found.news
  }
  return { keys, endpoints, deliveries: messages, calibrations: versions, ...settled, reversals, news }
}

const open = async (url: string, name: string, variable: string): Promise<Client> => {
  return openPatient(url).catch((cause: unknown) => {
    const advice = adviceOf(cause).replaceAll('DATABASE_URL', variable)
    throw new OperatorError(`the ${name} database is out of reach (${faultText(cause)}): ${advice}`, { cause })
  })
}

/**
 * Carries what no chain has from the previous to the rebuilt database, in one transaction. The previous one stays as it
 * is, and refuses changes of what was carried from then on. No worker may run on either. Returns null when an earlier run
 * has carried everything. Throws an OperatorError with advice when something is not ready, which changes nothing, and
 * when the previous database was lost after the rebuilt one has everything: run it again then.
 */
export const carry = async (
  urls: { readonly previous: string; readonly rebuilt: string },
  onProgress: (line: string) => void = () => {},
): Promise<Carried | null> => {
  const clients: Client[] = []
  let hasAll = false
  try {
    const from = await open(urls.previous, 'previous', 'PREVIOUS_DATABASE_URL')
    clients.push(from)
    const to = await open(urls.rebuilt, 'rebuilt', 'DATABASE_URL')
    clients.push(to)
    const within = <T>(
      client: Client,
      work: (handle: Handle) => Promise<T>,
      config?: Parameters<NodePgDatabase['transaction']>[1],
    ) => drizzle(client).transaction(work, config)
    await requireSchema(drizzle(from), 'previous')
    await requireSchema(drizzle(to), 'rebuilt')
    return await within(
      from,
      async (previous) => {
        await refuseChanges(previous)
        // The previous database is committed last: it refuses changes only when the rebuilt one has all before them.
        const carried = await within(to, (rebuilt) => carryAll({ from, to, previous, rebuilt }, onProgress))
        hasAll = true
        return carried
      },
      { isolationLevel: 'repeatable read' },
    )
  } catch (cause) {
    if (cause instanceof OperatorError || !isOutOfReach(cause)) throw cause
    const done = hasAll
      ? 'the rebuilt database has everything, and the previous one does not refuse changes yet: run this again before any worker'
      : 'nothing was carried over'
    throw new OperatorError(`${done} (${faultText(cause)}): ${adviceOf(cause)}`, { cause })
  } finally {
    for (const client of clients) await client.end().catch(() => {})
  }
}
