import type { Chain } from '../../chain/chain.ts'
import { type AuditedTable, auditedTables, columnsOf } from '../../db/index/audit/columns.ts'
import { type AuditedKind, tablesOf } from '../../db/index/audit/rows.ts'
import { readProgress } from '../../db/index/work/progress.ts'
import type { Database } from '../../db/pool.ts'
import type { StoredBlock } from '../../db/stored.ts'
import { unavailable } from '../../lib/errors.ts'
import type { Logger } from '../../lib/observe/log.ts'
import { type ChainId, startBlockFault } from '../../protocol/chains.ts'
import { kinds } from '../../protocol/entities.ts'
import { isPruned } from '../reading/range.ts'
import { type AuditDeps, PAUSE_MS, repeatIfDifferent } from './confirm.ts'
import { compareFees } from './fees.ts'
import { type ComparedSlice, compareSlice, compareTotal } from './kind.ts'
import { compareLedger, ledgerColumns } from './ledger.ts'
import { compareWallets, type WalletPosition } from './lists.ts'

/** The compared part of a table. */
type TableCount = {
  readonly table: AuditedTable | 'ledger'
  readonly rows: number
  readonly columns: number
  readonly values: number
}

/** The report of an audit. */
export type AuditReport = {
  readonly chainId: ChainId
  /**
   * The block at which the last slice was compared, and that of the first slice: the index advances during an audit.
   */
  readonly block: StoredBlock
  readonly firstBlock: StoredBlock
  readonly tables: readonly TableCount[]
  /** Entities on the chain. */
  readonly onChain: Readonly<Record<AuditedKind, number>>
  /** The number of compared lists of events and wallets. */
  readonly lists: number
  /** Values that an audit never compares, with the reason. */
  readonly notCompared: readonly string[]
  /** Values that should have been compared but could not be, with advice. */
  readonly unconfirmed: readonly string[]
  /** The first differences, and the number of all differences. */
  readonly differences: readonly string[]
  readonly found: number
}

/** The most differences in a report. An index of another chain has as many differences as rows. */
const MAX_DIFFERENCES = 1_000

/** Entities compared at once. */
const SIZE = 500n

/** Wallets whose lists are compared at once. */
const WALLETS = 200

/** How long an audit waits in all for entities of the refresh queue, in milliseconds. */
const WAIT_BUDGET_MS = 60_000

type Options = {
  readonly chain: Chain
  readonly database: Database
  readonly log: Logger
  /** Called with a line of text for each part that was compared. */
  readonly onProgress?: (line: string) => void
  readonly waitBudgetMs?: number
  readonly pauseMs?: number
  /** Entities, and wallets, that are compared at once. */
  readonly size?: bigint
  readonly wallets?: number
  /** The most differences in the report. */
  readonly maxDifferences?: number
}

/**
 * Compares every value of a chain's index that the API can show with the chain. Each slice is compared at the current
 * block of the index. Throws `service_unavailable` when nothing is indexed, or when nodes or the database are out of
 * reach.
 */
export const audit = async ({
  onProgress = () => {},
  waitBudgetMs = WAIT_BUDGET_MS,
  pauseMs = PAUSE_MS,
  size = SIZE,
  wallets = WALLETS,
  maxDifferences = MAX_DIFFERENCES,
  ...options
}: Options): Promise<AuditReport> => {
  const { chain, database } = options
  const { chainId } = chain
  const deps: AuditDeps = { ...options, pauseMs, size, waitBudget: { leftMs: waitBudgetMs } }
  await requireIndex(chain, database)
  const counts = new Map<AuditedTable, { rows: number; values: number }>()
  const onChain: Record<AuditedKind, number> = { event: 0, deposit: 0, position: 0, chain: 0 }
  const differences: string[] = []
  const open = { waiting: 0, unreadable: 0, withoutLog: 0, unconfirmed: 0, unread: 0 }
  let found = 0
  let lists = 0
  let firstBlock: StoredBlock | null = null
  let block: StoredBlock | null = null

  const add = (more: readonly string[]): void => {
    differences.push(...more.slice(0, maxDifferences - differences.length))
    found += more.length
  }
  const count = (kind: AuditedKind, slice: ComparedSlice): void => {
    const { anchor, comparison, origins } = slice.first
    firstBlock ??= anchor
    block = anchor
    onChain[kind] += comparison.onChain
    open.waiting += slice.waiting.length
    open.unreadable += comparison.unreadable.length
    open.withoutLog += origins.withoutLog
    open.unconfirmed += origins.unconfirmed.length
    lists += slice.lists
    for (const table of tablesOf[kind]) {
      const before = counts.get(table) ?? { rows: 0, values: 0 }
      const rows = before.rows + (comparison.counts[table]?.rows ?? 0)
      const values = (comparison.counts[table]?.values ?? 0) + (origins.counts[table]?.values ?? 0)
      counts.set(table, { rows, values: before.values + values })
    }
    add(slice.differences)
  }

  for (const kind of ['chain', ...kinds] as const) {
    for (let from: bigint | null = 0n; from !== null; ) {
      const slice: ComparedSlice = await compareSlice(deps, kind, from)
      count(kind, slice)
      const { last } = slice.first
      if (last !== null) onProgress(`chain ${chainId}: ${onChain[kind]} of ${last} ${kind}s compared`)
      from = slice.next
      if (kind === 'event' && from === null) add(await compareTotal(deps, slice.first, onChain.event))
    }
  }
  add((await repeatIfDifferent(deps, () => compareFees(deps))).differences)
  for (let position: WalletPosition | null = { kind: 'event', after: null }; position !== null; ) {
    const at: WalletPosition = position
    const compared = await repeatIfDifferent(deps, () => compareWallets(deps, at, wallets))
    lists += compared.lists
    onProgress(`chain ${chainId}: ${lists} lists compared`)
    add(compared.differences)
    position = compared.next
  }
  if (firstBlock === null || block === null) throw unavailable(`chain ${chainId} is not indexed yet`)
  const hasLogs = chain.status().hasLogs
  let ledgerRows = 0
  for (let from: bigint | null = chain.deployment.startBlock; hasLogs && from !== null; ) {
    const at: bigint = from
    const compared = await repeatIfDifferent(deps, () => compareLedger(deps, at)).catch((fault) => {
      if (isPruned(fault)) return null
      throw fault
    })
    if (compared === null || compared.isPartial || compared.from > at) open.unread += 1
    if (compared === null) break
    ledgerRows += compared.rows
    onProgress(`chain ${chainId}: ${ledgerRows} rows of the ledger compared`)
    add(compared.differences)
    from = compared.next
  }
  const ledger = { table: 'ledger', rows: ledgerRows, columns: ledgerColumns.length } as const
  const tables: TableCount[] = [...counts].map(([table, { rows, values }]) => ({
    table,
    rows,
    values,
    columns: comparedColumns(table, hasLogs).length,
  }))
  if (hasLogs) tables.push({ ...ledger, values: ledgerRows * ledgerColumns.length })
  const { notCompared, unconfirmed } = remarks(chainId, hasLogs, open)
  return { chainId, firstBlock, block, tables, onChain, lists, notCompared, unconfirmed, differences, found }
}

/** Throws `service_unavailable` with advice when there is no index to compare. */
const requireIndex = async (chain: Chain, database: Database): Promise<void> => {
  const { chainId, deployment } = chain
  const { cursor } = await readProgress(database, chainId)
  if (cursor !== null) return
  const { number } = await chain.head()
  throw unavailable(
    startBlockFault(deployment, number) ??
      `chain ${chainId} is not indexed yet: start a worker and wait until /readyz is 200`,
  )
}

const comparedColumns = (table: AuditedTable, hasLogs: boolean): string[] =>
  columnsOf(table, 'view', 'state', 'block', ...(hasLogs ? (['log'] as const) : []))

const allTables = Object.keys(auditedTables) as AuditedTable[]

const named = (how: 'own' | 'log'): string =>
  allTables
    .flatMap((table) => {
      const columns = columnsOf(table, how)
      return columns.length === 0 ? [] : `${table} (${columns.join(', ')})`
    })
    .join(', ')

const remarks = (
  chainId: ChainId,
  hasLogs: boolean,
  open: Readonly<Record<'waiting' | 'unreadable' | 'withoutLog' | 'unconfirmed' | 'unread', number>>,
) => {
  const notCompared = [
    `${named('own')}: values of the service itself`,
    'fee_rates: whether the index lacks a log between two stored ones, because no view returns earlier rates',
    ...(hasLogs ? [] : [`ledger, ${named('log')}: only logs have them, and no node of chain ${chainId} serves logs`]),
    ...(open.withoutLog === 0
      ? []
      : [`the origins of ${open.withoutLog} rows: they were read from the chain's state, without a log`]),
  ]
  const unconfirmed = [
    ...(open.waiting === 0
      ? []
      : [`${open.waiting} entities still wait to be read again: check that a worker runs, and repeat the audit`]),
    ...(open.unreadable === 0
      ? []
      : [`views of ${open.unreadable} entities revert: check PROFILE_${chainId} and DIAMOND_ADDRESS_${chainId}`]),
    ...(open.unconfirmed === 0
      ? []
      : [`no node has the logs of ${open.unconfirmed} rows: add a node that keeps all logs to RPC_URLS_${chainId}`]),
    ...(open.unread === 0
      ? []
      : [
          `the ledger of blocks whose logs are still to be read, or are pruned: wait until /status shows no unread blocks, or add a node that keeps all logs to RPC_URLS_${chainId}, and repeat the audit`,
        ]),
  ]
  return { notCompared, unconfirmed }
}
