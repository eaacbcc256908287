import type { Chain } from '../chain/chain.ts'
import { type AuditedKind, clearTexts } from '../db/audit-rows.ts'
import { type Findings, readPart, readSlice, type Slice, saveSlice } from '../db/audits.ts'
import { announce } from '../db/changes.ts'
import type { Database } from '../db/pool.ts'
import { AnchorGone, holdAnchor } from '../db/progress.ts'
import { createRenderer } from '../db/rendering.ts'
import { holdNotes, markUnobserved, type Subject } from '../db/unobserved.ts'
import { isUnavailable } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { uncached } from './audit-look.ts'
import { type Confirm, judge, repair, type Verdict } from './audit-repair.ts'
import { type Comparison, compareRows, type Difference, wordsOf } from './compare.ts'

type Deps = {
  readonly chain: Chain
  readonly database: Database
  readonly confirm: Confirm
  /** When it aborts, the slice is left to the next run. */
  readonly signal?: AbortSignal
  readonly log: Logger
}

/** Ids that one run compares: a few batches to a node. */
const SIZE = 200n

type Judged = Difference & { readonly verdict: Verdict }

/**
 * The continuous audit's one step: compares the next slice of a chain's rows with the chain, puts right what two looks tell alike, and
 * remembers where to go on, so that any process may take the next. Differences are alarms. What was observed wrongly is queued to be
 * observed again; a row that the chain does not have is never deleted: a rollback is the follower's. False when it could not go on.
 */
export const auditSlice = async ({ chain, database, confirm, signal, log }: Deps): Promise<boolean> => {
  const { chainId } = chain
  try {
    const slice = await readSlice(database, chainId, createRenderer(chain.deployment), SIZE)
    if (slice === null) return false
    const compared = await compareRows({ chain, log }, slice.kind, slice.ids, slice)
    const again = { chain: uncached(chain), log }
    const judged: Judged[] = []
    for (const it of compared.differences) {
      if (signal?.aborted) return false
      const { texts, ...ofChain } = it
      if (texts.length > 0) judged.push({ ...it, created: [], observed: [], verdict: 'cleared' })
      if (it.created.length + it.observed.length > 0)
        judged.push(await judgeEntity(again, slice, { ...ofChain, texts: [] }, confirm))
    }
    // The protocol's own state is one row: it goes with the first events.
    if (slice.kind === 'event' && slice.nextId === 0n) judged.push(...(await judgeProtocol({ chain, database, log })))
    if (signal?.aborted || !(await store({ chain, database }, slice, compared, judged))) return false
    report({ chain, log }, judged)
    return true
  } catch (fault) {
    // The block left the chain, or nodes or database are gone: the follower says so, and the slice waits for the next run.
    if (fault instanceof AnchorGone || isUnavailable(fault)) log.debug({ chainId, fault: fault.message }, 'audit waits')
    else throw fault
    return false
  }
}

type Looking = { readonly chain: Chain; readonly log: Logger }

/** A second look at what was observed: without the answers that are kept, at the same block. */
const judgeObserved = async (again: Looking, held: Slice | Part, it: Difference): Promise<Judged> => {
  const { differences } = await compareRows(again, it.kind, [it.id], held)
  const second = differences[0]?.observed ?? []
  return second.length === 0 ? { ...it, verdict: 'withdrawn' } : { ...it, observed: second, verdict: 'observed again' }
}

type Part = NonNullable<Awaited<ReturnType<typeof readPart>>>

const judgeEntity = async (again: Looking, slice: Slice, it: Difference, confirm: Confirm): Promise<Judged> => {
  if (it.created.length === 0) return judgeObserved(again, slice, it)
  const entity = { kind: slice.kind, id: it.id }
  const verdict = judge({ entity, row: it.row, record: it.record }, await confirm(entity))
  if (verdict !== 'withdrawn' || it.observed.length === 0) return { ...it, verdict }
  return judgeObserved(again, slice, { ...it, created: [] })
}

const judgeProtocol = async ({
  chain,
  database,
  log,
}: Looking & { readonly database: Database }): Promise<Judged[]> => {
  const ids = [BigInt(chain.chainId)]
  const part = await readPart(database, chain.chainId, createRenderer(chain.deployment), 'chain', () => ids)
  if (part === null) return []
  const { differences } = await compareRows({ chain, log }, 'chain', ids, part)
  return Promise.all(differences.map((it) => judgeObserved({ chain: uncached(chain), log }, part, it)))
}

const subjectOf = (kind: AuditedKind, id: bigint): Subject =>
  kind === 'chain' ? { subject: kind, id: 0n } : { subject: kind, id }

const store = (
  { chain: { chainId }, database }: Pick<Deps, 'chain' | 'database'>,
  slice: Slice,
  { onChain }: Comparison,
  judged: readonly Judged[],
): Promise<boolean> => {
  const open = judged.filter(({ verdict }) => verdict !== 'withdrawn')
  const records = judged.flatMap(({ verdict, record }) => (verdict === 'repairable' && record ? [record] : []))
  const again = judged.filter(({ verdict }) => verdict === 'observed again')
  const cleared = judged.filter(({ verdict }) => verdict === 'cleared')
  const last = open.at(-1)
  const found: Findings = {
    compared: Math.max(onChain, slice.rowCount),
    differences: open.length,
    repaired: records.length + again.length + cleared.length,
    lastDifference: last === undefined ? null : wordsOf(last).join('; '),
  }
  return database.transaction(async (handle) => {
    await holdNotes(handle, chainId)
    await holdAnchor(handle, chainId, slice.anchor)
    if (!(await saveSlice(handle, chainId, slice, found))) return false
    for (const record of records) await repair(handle, chainId, slice.anchor, record)
    for (const { id } of cleared) await clearTexts(handle, slice.kind, chainId, id)
    await markUnobserved(
      handle,
      chainId,
      again.map(({ kind, id }) => subjectOf(kind, id)),
    )
    // Whose a row was before it was put right is not known here.
    if (records.length + cleared.length > 0) await announce(handle, chainId, null)
    return true
  })
}

/** What was done about a difference, for the log. */
const repairs: Readonly<Record<Exclude<Verdict, 'withdrawn'>, boolean | string>> = {
  repairable: true,
  'observed again': 'queued to be observed again',
  cleared: 'its text is taken away, so it is rendered from its columns',
  open: false,
}

const report = ({ chain: { chainId }, log }: Pick<Deps, 'chain' | 'log'>, judged: readonly Judged[]): void => {
  for (const { verdict, ...difference } of judged) {
    const fields = { chainId, difference: wordsOf(difference).join('; ') }
    if (verdict === 'withdrawn') log.warn(fields, 'a node took back a difference')
    else log.error({ ...fields, repaired: repairs[verdict] }, 'the index differs from the chain')
  }
}
