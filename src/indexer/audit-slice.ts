import type { Chain } from '../chain/chain.ts'
import { type Findings, readSlice, type Slice, saveSlice } from '../db/audits.ts'
import { announce } from '../db/changes.ts'
import type { Database } from '../db/pool.ts'
import { AnchorGone, holdAnchor } from '../db/progress.ts'
import { holdNotes } from '../db/unobserved.ts'
import { isUnavailable } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { type Confirm, judge, repair, type Verdict } from './audit-repair.ts'
import { type Comparison, compareRows, type Difference } from './compare.ts'

type Deps = {
  readonly chain: Chain
  readonly database: Database
  readonly confirm: Confirm
  /** When it aborts, the slice is left to the next run. */
  readonly signal?: AbortSignal
  readonly log: Logger
}

/** Ids that one run compares: two batches to a node. */
const SIZE = 200n

type Judged = Difference & { readonly verdict: Verdict }

/**
 * The continuous audit's one step: compares the next slice of a chain's rows with the chain, puts right what two looks tell alike, and
 * remembers where to go on, so that any process may take the next. Differences are alarms. A row that the chain does not have is never
 * deleted for that: a rollback is the follower's.
 */
export const auditSlice = async ({ chain, database, confirm, signal, log }: Deps): Promise<void> => {
  const { chainId } = chain
  try {
    const slice = await readSlice(database, chainId, SIZE)
    if (slice === null) return
    const { anchor, kind, rows, ids } = slice
    const compared = await compareRows({ chain, block: anchor, kind, rows, ids })
    const judged: Judged[] = []
    for (const it of compared.differences) {
      if (signal?.aborted) return
      judged.push({ ...it, verdict: judge(it, await confirm(it)) })
    }
    if (signal?.aborted) return
    if (await store({ chain, database }, slice, compared, judged)) tell({ chain, log }, judged)
  } catch (fault) {
    // The block left the chain, or nodes or database are gone: the follower says so, and the slice waits for the next run.
    if (fault instanceof AnchorGone || isUnavailable(fault)) log.debug({ chainId, fault: fault.message }, 'audit waits')
    else throw fault
  }
}

const store = (
  { chain: { chainId }, database }: Pick<Deps, 'chain' | 'database'>,
  slice: Slice,
  { onChain }: Comparison,
  judged: readonly Judged[],
): Promise<boolean> => {
  const open = judged.filter(({ verdict }) => verdict !== 'withdrawn')
  const records = judged.flatMap(({ verdict, record }) => (verdict === 'repairable' && record ? [record] : []))
  const found: Findings = {
    compared: Math.max(onChain, slice.rows.length),
    differences: open.length,
    repaired: records.length,
    lastDifference: open.at(-1)?.words.join('; ') ?? null,
  }
  return database.transaction(async (handle) => {
    await holdNotes(handle, chainId)
    await holdAnchor(handle, chainId, slice.anchor)
    if (!(await saveSlice(handle, chainId, slice, found))) return false
    for (const record of records) await repair(handle, chainId, slice.anchor, record)
    // Whose a row was before it was put right is not known here.
    if (records.length > 0) await announce(handle, chainId, null)
    return true
  })
}

const tell = ({ chain: { chainId }, log }: Pick<Deps, 'chain' | 'log'>, judged: readonly Judged[]): void => {
  for (const { verdict, words } of judged) {
    const fields = { chainId, difference: words.join('; ') }
    if (verdict === 'withdrawn') log.warn(fields, 'a node took back a difference')
    else log.error({ ...fields, repaired: verdict === 'repairable' }, 'the index differs from the chain')
  }
}
