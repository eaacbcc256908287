import type { Chain } from '../../chain/chain.ts'
import { lastEvent, readMembers, savePasts } from '../../db/index/audit/pasts.ts'
import { readHeartbeat, stillUnknown } from '../../db/index/work/heartbeat.ts'
import type { Database } from '../../db/pool.ts'
import { createHistory } from '../../db/queries/history.ts'
import { isUnavailable } from '../../lib/errors.ts'
import type { Logger } from '../../lib/observe/log.ts'
import { type EventRecord, historyOf } from '../../protocol/history/history.ts'

/*
 * Compares what views returned with what the logs of the ledger lead to at the same block. It reads the database only: the
 * views and the logs are two ways to the same values.
 */

/** The number of compared events, and their differences. */
export type Pasts = { readonly compared: number; readonly differences: readonly string[] }

type Deps = {
  readonly chain: Pick<Chain, 'chainId'> & { readonly deployment: Pick<Chain['deployment'], 'profile'> }
  readonly database: Pick<Database, 'snapshot' | 'run'>
  /** From 0 to below 1. */
  readonly random: () => number
}

type Members = Awaited<ReturnType<typeof readMembers>>

/** The differences of an event and its members from what its logs lead to. Members are in the order of their blocks. */
const differencesOf = (id: bigint, record: EventRecord, members: Members, { deployment }: Deps['chain']): string[] => {
  const history = historyOf(record, deployment.profile)
  if ('why' in history) return [`event ${id}: ${history.why}`]
  const fold = history.start()
  let next = 0
  return members.flatMap(({ kind, seen }) => {
    // An observation can be ahead of the ledger for a moment.
    if (seen.blockNumber > (record.completeTo ?? -1n)) return []
    for (
      let log = history.logs[next];
      log !== undefined && log.blockNumber <= seen.blockNumber;
      log = history.logs[next]
    ) {
      fold.apply(log)
      next += 1
    }
    const state = kind === 'deposit' ? fold.deposit(seen.id) : fold.position(seen.id)
    if (state === null) return [`${kind} ${seen.id}: the ledger has no log of its creation`]
    const values: Readonly<Record<string, unknown>> = seen
    return Object.entries(state).flatMap(([field, value]) =>
      values[field] === value
        ? []
        : [
            `${kind} ${seen.id}: its logs lead to ${field} ${value}, the chain had ${values[field]} at block ${seen.blockNumber}`,
          ],
    )
  })
}

/** Different events of a chain, at most `size`, of which each is as likely as any other. */
const sampleOf = async ({ chain, database, random }: Deps, size: number): Promise<ReadonlySet<bigint>> => {
  const last = Number(await lastEvent(database, chain.chainId))
  const ids = new Set<bigint>()
  while (ids.size < Math.min(size, last))
    ids.add(last <= size ? BigInt(ids.size + 1) : BigInt(1 + Math.floor(random() * last)))
  return ids
}

/**
 * Compares a sample of `size` events with their logs: at most 20,000 logs, 200 deposits and 500 positions of each. Events
 * of which the ledger lacks logs are left out, and all while the diamond emits logs that this build does not know. Throws
 * `service_unavailable` when the database is out of reach.
 */
export const comparePasts = async (deps: Deps, size: number): Promise<Pasts> => {
  const { chain, database } = deps
  const heartbeat = await database.run((handle) => readHeartbeat(handle, chain.chainId))
  // A log that this build does not know may have changed any event.
  if (stillUnknown(heartbeat?.unknownLogs) !== null) return { compared: 0, differences: [] }
  const differences: string[] = []
  let compared = 0
  for (const id of await sampleOf(deps, size)) {
    const { record, members } = await database.snapshot(async (handle, rows) => {
      const [record] = await createHistory({ run: (work) => work(handle), rows }).events(chain.chainId, [id])
      return { record, members: record ? await readMembers(handle, chain.chainId, id) : [] }
    })
    if (record === undefined || record.completeTo === null) continue
    compared += 1
    differences.push(...differencesOf(id, record, members, chain))
  }
  return { compared, differences }
}

/** Events that one step of the continuous audit compares. */
const SAMPLE = 10

/** Runs one step of the continuous audit of the past, and logs each difference as an error. Nothing is repaired. */
export const auditPasts = async ({ log, ...deps }: Deps & { readonly log: Logger }): Promise<void> => {
  const { chainId } = deps.chain
  try {
    const found = await comparePasts(deps, SAMPLE)
    await savePasts(deps.database, chainId, found)
    for (const difference of found.differences)
      log.error({ chainId, difference }, 'the ledger does not lead to what the views returned')
  } catch (fault) {
    if (!isUnavailable(fault)) throw fault
    log.debug({ chainId, fault: fault.message }, 'the audit of the past waits')
  }
}
