import type { Chain } from '../../chain/chain.ts'
import { announce } from '../../db/changes/changes.ts'
import { touchingAll } from '../../db/changes/scopes.ts'
import type { AuditedKind } from '../../db/index/audit/rows.ts'
import { type Findings, readPart, readSlice, type Slice, saveSlice } from '../../db/index/audit/runs.ts'
import { AnchorLost, holdAnchor } from '../../db/index/work/progress.ts'
import { lockRefreshQueue, type RefreshSubject, requestRefresh } from '../../db/index/work/refresh-queue.ts'
import type { Database } from '../../db/pool.ts'
import { isUnavailable } from '../../lib/errors.ts'
import type { Logger } from '../../lib/observe/log.ts'
import { type Comparison, compareRows, type Difference, describe } from './compare.ts'
import { withoutCache } from './confirm.ts'
import { type Confirm, repair, type Verdict, verdictOf } from './repair.ts'

type Deps = {
  readonly chain: Chain
  readonly database: Database
  readonly confirm: Confirm
  /** When it aborts, the next run compares the slice. */
  readonly signal?: AbortSignal
  /** The ids that one run compares. */
  readonly size?: bigint
  readonly log: Logger
}

/** A few batches of requests. */
const SIZE = 400n

type Decided = Difference & { readonly verdict: Verdict }

/**
 * Runs one step of the continuous audit: compares the next slice of a chain's rows with the chain, repairs differences
 * that a second comparison confirms, and stores the position, so that any process can run the next step. Differences
 * are logged as errors. Wrong observations are queued to be observed again. A row that the chain lacks is never
 * deleted, because only the follower rolls back. Returns false when the step could not be completed.
 */
export const auditSlice = async ({ chain, database, confirm, signal, size = SIZE, log }: Deps): Promise<boolean> => {
  const { chainId } = chain
  try {
    const slice = await readSlice(database, chainId, size)
    if (slice === null) return false
    const compared = await compareRows({ chain, log }, slice.kind, slice.ids, slice)
    const again = { chain: withoutCache(chain), log }
    const decided: Decided[] = []
    for (const it of compared.differences) {
      if (signal?.aborted) return false
      decided.push(await decideEntity(again, slice, it, confirm))
    }
    // The protocol's own state is one row, which is compared with the first slice of events.
    if (slice.kind === 'event' && slice.nextId === 0n) decided.push(...(await decideProtocol({ chain, database, log })))
    if (signal?.aborted || !(await store({ chain, database }, slice, compared, decided))) return false
    report({ chain, log }, decided)
    return true
  } catch (fault) {
    // A reorg removed the block, or nodes or the database are out of reach. The follower reports that, and the next run
    // repeats the slice.
    if (fault instanceof AnchorLost || isUnavailable(fault)) log.debug({ chainId, fault: fault.message }, 'audit waits')
    else throw fault
    return false
  }
}

type Reading = { readonly chain: Chain; readonly log: Logger }

/** Compares an observation again at the same block, without the cache of answers. */
const decideObserved = async (again: Reading, indexed: Slice | Part, it: Difference): Promise<Decided> => {
  const { differences } = await compareRows(again, it.kind, [it.id], indexed)
  const second = differences[0]?.observed ?? []
  return second.length === 0 ? { ...it, verdict: 'withdrawn' } : { ...it, observed: second, verdict: 'observed again' }
}

type Part = NonNullable<Awaited<ReturnType<typeof readPart>>>

const decideEntity = async (again: Reading, slice: Slice, it: Difference, confirm: Confirm): Promise<Decided> => {
  if (it.created.length === 0) return decideObserved(again, slice, it)
  const entity = { kind: slice.kind, id: it.id }
  const verdict = verdictOf({ entity, row: it.row, record: it.record }, await confirm(entity))
  if (verdict !== 'withdrawn' || it.observed.length === 0) return { ...it, verdict }
  return decideObserved(again, slice, { ...it, created: [] })
}

const decideProtocol = async ({
  chain,
  database,
  log,
}: Reading & { readonly database: Database }): Promise<Decided[]> => {
  const ids = [BigInt(chain.chainId)]
  const part = await readPart(database, chain.chainId, 'chain', () => ids)
  if (part === null) return []
  const { differences } = await compareRows({ chain, log }, 'chain', ids, part)
  return Promise.all(differences.map((it) => decideObserved({ chain: withoutCache(chain), log }, part, it)))
}

const subjectOf = (kind: AuditedKind, id: bigint): RefreshSubject =>
  kind === 'chain' ? { subject: kind, id: 0n } : { subject: kind, id }

const store = (
  { chain: { chainId }, database }: Pick<Deps, 'chain' | 'database'>,
  slice: Slice,
  { onChain }: Comparison,
  decided: readonly Decided[],
): Promise<boolean> => {
  const open = decided.filter(({ verdict }) => verdict !== 'withdrawn')
  const records = decided.flatMap(({ verdict, record }) => (verdict === 'repairable' && record ? [record] : []))
  const again = decided.filter(({ verdict }) => verdict === 'observed again')
  const last = open.at(-1)
  const found: Findings = {
    compared: Math.max(onChain, slice.rowCount),
    differences: open.length,
    repaired: records.length + again.length,
    lastDifference: last === undefined ? null : describe(last).join('; '),
  }
  return database.transaction(async (handle) => {
    await lockRefreshQueue(handle, chainId)
    await holdAnchor(handle, chainId, slice.anchor)
    if (!(await saveSlice(handle, chainId, slice, found))) return false
    for (const record of records) await repair(handle, chainId, slice.anchor, record)
    await requestRefresh(
      handle,
      chainId,
      again.map(({ kind, id }) => subjectOf(kind, id)),
    )
    // The scopes of the wrong row, such as its former owner, are unknown, so everything counts as changed.
    if (records.length > 0) await announce(handle, chainId, touchingAll('repaired'))
    return true
  })
}

/** The repair of a difference, for the log. */
const repairs: Readonly<Record<Exclude<Verdict, 'withdrawn'>, boolean | string>> = {
  repairable: true,
  'observed again': 'queued to be observed again',
  open: false,
}

const report = ({ chain: { chainId }, log }: Pick<Deps, 'chain' | 'log'>, decided: readonly Decided[]): void => {
  for (const { verdict, ...difference } of decided) {
    const fields = { chainId, difference: describe(difference).join('; ') }
    if (verdict === 'withdrawn') log.warn(fields, 'a second answer of a node does not show the difference')
    else log.error({ ...fields, repaired: repairs[verdict] }, 'the index differs from the chain')
  }
}
