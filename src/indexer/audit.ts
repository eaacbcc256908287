import type { Chain } from '../chain/chain.ts'
import { type AuditedTable, auditedTables, columnsOf } from '../db/audit-columns.ts'
import { type AuditedKind, tablesOf } from '../db/audit-rows.ts'
import type { Database } from '../db/pool.ts'
import { readProgress } from '../db/progress.ts'
import type { StoredBlock } from '../db/stored.ts'
import { unavailable } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { Meter } from '../lib/meter.ts'
import { type ChainId, startBlockFault } from '../protocol/chains.ts'
import { kinds } from '../protocol/kinds.ts'
import { type ComparedSlice, compareSlice, compareTotal } from './audit-kind.ts'
import { compareWallets, type WalletMark } from './audit-lists.ts'
import { type AuditDeps, PAUSE_MS, twice } from './audit-look.ts'

/** What was compared of a table. */
type TableCount = {
  readonly table: AuditedTable
  readonly rows: number
  readonly columns: number
  readonly values: number
}

/** What an audit compared and what it found. */
export type AuditReport = {
  readonly chainId: ChainId
  /** The block that the last slice was compared at; the first was at the block that the index had reached then. */
  readonly block: StoredBlock
  readonly firstBlock: StoredBlock
  readonly tables: readonly TableCount[]
  /** Entities on the chain. */
  readonly onChain: Readonly<Record<AuditedKind, number>>
  /** Lists of events and wallets that were compared. */
  readonly lists: number
  /** What was not compared, and why; nothing of it can be wrong by what the audit found. */
  readonly notCompared: readonly string[]
  /** What should have been compared and could not be, with what to do. */
  readonly unconfirmed: readonly string[]
  /** The first differences, and how many there are. */
  readonly differences: readonly string[]
  readonly found: number
}

/** Differences that are kept; an index of another chain has as many as it has rows. */
const KEPT = 1_000

/** Wallets whose lists are compared at once. */
const WALLETS = 200

/** How long an audit waits in all for entities that the worker is to read again, in milliseconds. */
const PATIENCE_MS = 60_000

type Options = {
  readonly chain: Chain
  readonly database: Database
  readonly log: Logger
  readonly meter?: Meter
  readonly patienceMs?: number
  readonly pauseMs?: number
}

/**
 * Compares every value of a chain's index that the API can show with the chain, slice by slice, each at the block that the index has
 * reached. Throws `service_unavailable` when nothing is indexed, or nodes or database are out of reach.
 */
export const audit = async ({
  meter,
  patienceMs = PATIENCE_MS,
  pauseMs = PAUSE_MS,
  ...options
}: Options): Promise<AuditReport> => {
  const { chain, database } = options
  const { chainId } = chain
  const deps: AuditDeps = { ...options, pauseMs, patience: { leftMs: patienceMs } }
  await requireIndex(chain, database)
  const tallies = new Map<AuditedTable, { rows: number; values: number }>()
  const onChain: Record<AuditedKind, number> = { event: 0, deposit: 0, position: 0, chain: 0 }
  const differences: string[] = []
  const open = { waiting: 0, unreadable: 0, withoutLog: 0, unconfirmed: 0 }
  let found = 0
  let lists = 0
  let firstBlock: StoredBlock | null = null
  let block: StoredBlock | null = null

  const add = (words: readonly string[]): void => {
    differences.push(...words.slice(0, KEPT - differences.length))
    found += words.length
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
      const before = tallies.get(table) ?? { rows: 0, values: 0 }
      const rows = before.rows + (comparison.tallies[table]?.rows ?? 0)
      const values = (comparison.tallies[table]?.values ?? 0) + (origins.tallies[table]?.values ?? 0)
      tallies.set(table, { rows, values: before.values + values })
    }
    add(slice.differences)
  }

  for (const kind of ['chain', ...kinds] as const) {
    for (let from: bigint | null = 0n; from !== null; ) {
      const slice: ComparedSlice = await compareSlice(deps, kind, from)
      count(kind, slice)
      meter?.show(`chain ${chainId} ${kind}s`, onChain[kind], Number(slice.first.last ?? 0n))
      from = slice.next
      if (kind === 'event' && from === null) add(await compareTotal(deps, slice.first, onChain.event))
    }
  }
  for (let mark: WalletMark | null = { kind: 'event', after: null }; mark !== null; ) {
    const at: WalletMark = mark
    const compared = await twice(deps, () => compareWallets(deps, at, WALLETS))
    lists += compared.lists
    add(compared.differences)
    mark = compared.next
    meter?.show(`chain ${chainId} lists`, lists, null)
  }
  if (firstBlock === null || block === null) throw unavailable(`chain ${chainId} is not indexed yet`)
  const hasLogs = chain.status().hasLogs
  const tables = [...tallies].map(([table, { rows, values }]) => ({
    table,
    rows,
    values,
    columns: comparedColumns(table, hasLogs).length,
  }))
  const { notCompared, unconfirmed } = remarks(chainId, hasLogs, open)
  return { chainId, firstBlock, block, tables, onChain, lists, notCompared, unconfirmed, differences, found }
}

/** Throws `service_unavailable` with what to do when there is no index to compare. */
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
  columnsOf(table, 'view', 'block', 'text', ...(hasLogs ? (['log'] as const) : []))

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
  open: Readonly<Record<'waiting' | 'unreadable' | 'withoutLog' | 'unconfirmed', number>>,
) => {
  const notCompared = [
    `${named('own')}: numbers of the service's own`,
    ...(hasLogs ? [] : [`${named('log')}: only logs know them, and no node of chain ${chainId} serves logs`]),
    ...(open.withoutLog === 0
      ? []
      : [`where ${open.withoutLog} rows were created: they were read from the chain's state, without a log`]),
  ]
  const unconfirmed = [
    ...(open.waiting === 0
      ? []
      : [`${open.waiting} entities still wait to be read again: see that a worker runs, and run the audit again`]),
    ...(open.unreadable === 0
      ? []
      : [`views of ${open.unreadable} entities revert: see PROFILE_${chainId} and DIAMOND_ADDRESS_${chainId}`]),
    ...(open.unconfirmed === 0
      ? []
      : [`no node has the logs of ${open.unconfirmed} rows: add a node that keeps all logs to RPC_URLS_${chainId}`]),
  ]
  return { notCompared, unconfirmed }
}
