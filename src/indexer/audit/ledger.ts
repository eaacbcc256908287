import type { Hex } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import { isTooLong, type NodeError, toServiceError } from '../../chain/rpc/errors.ts'
import { isNodeFault } from '../../chain/rpc/faults.ts'
import { type Block, getBlock } from '../../chain/rpc/requests.ts'
import { getWholeReceipt, type Receipt } from '../../chain/rpc/transactions.ts'
import {
  ledgerEnd,
  type Meanings,
  nextLedgerBlock,
  readLedgerPart,
  type StoredLedgerRow,
  saveLedgerPart,
} from '../../db/index/audit/ledger.ts'
import type { LedgerRow } from '../../db/index/ledger.ts'
import { AnchorLost } from '../../db/index/work/progress.ts'
import type { Database } from '../../db/pool.ts'
import type { StoredBlock } from '../../db/stored.ts'
import { isUnavailable, unavailable } from '../../lib/errors.ts'
import { max } from '../../lib/fixed.ts'
import type { Logger } from '../../lib/observe/log.ts'
import { ChainMoved, type Fetched, fetchRange, firstWithLogs, isPruned, type Trust } from '../reading/range.ts'
import { confirmRows } from './confirm-rows.ts'

/* Compares the ledger with the logs of the chain, a range of blocks at a time. */

/** The columns that are compared: all but those of the key. */
export const ledgerColumns = [
  'blockHash',
  'blockTimestamp',
  'txHash',
  'topics',
  'data',
  'type',
  'eventId',
  'depositId',
  'positionId',
  'wallet',
  'amount',
  'fee',
] as const satisfies readonly (keyof LedgerRow)[]

type Deps = { readonly chain: Chain; readonly database: Database }

/** Most rows without a log whose transactions are read. */
const MOST_UNCONFIRMED = 100

/** Whether a later request for a receipt would be refused too. */
const isFinal = ({ fault }: NodeError): boolean => fault.kind === 'pruned' || !isNodeFault(fault)

/** The receipts of transactions; undefined for one that is too long, or that all nodes refuse. */
const readReceipts = async (chain: Chain, hashes: readonly Hex[]): Promise<(Receipt | null | undefined)[]> => {
  if (hashes.length === 0) return []
  try {
    const { receipts } = await chain.send({ receipts: hashes.map(getWholeReceipt) })
    return receipts.map((outcome) => {
      if (outcome.ok) return outcome.value
      if (isFinal(outcome.error)) return undefined
      throw toServiceError(outcome.error)
    })
  } catch (fault) {
    if (!isTooLong(fault)) throw fault
    if (hashes.length === 1) return [undefined]
    const half = Math.ceil(hashes.length / 2)
    const first = await readReceipts(chain, hashes.slice(0, half))
    return [...first, ...(await readReceipts(chain, hashes.slice(half)))]
  }
}

/** The differences of stored rows of which a node returned no log: none for those in the receipt of their transaction. */
const differencesWithoutLog = async (chain: Chain, rows: readonly StoredLedgerRow[]): Promise<LedgerDifference[]> => {
  const hashes = [...new Set(rows.slice(0, MOST_UNCONFIRMED).map(({ txHash }) => txHash))]
  const receipts = await readReceipts(chain, hashes)
  const unread = new Set(hashes.filter((_, at) => receipts[at] === undefined))
  const logs = receipts.flatMap((receipt) => receipt?.logs ?? [])
  const omitted = new Set(logs.filter(({ address }) => isDiamond(chain, address)).map(keyOf))
  return rows.flatMap((row) => {
    if (omitted.has(keyOf(row))) return []
    const why = unread.has(row.txHash)
      ? 'without a log, and no node shows the receipt of its transaction'
      : 'not on the chain'
    return [{ text: `${keyOf(row)}: ${why}`, row: null }]
  })
}

const isDiamond = ({ deployment }: Chain, address: string): boolean =>
  address.toLowerCase() === deployment.diamond.toLowerCase()

/** A difference, and the row as its log is; null for a row without a log. */
type LedgerDifference = { readonly text: string; readonly row: LedgerRow | null }

type ComparedPart = Meanings & {
  readonly cursor: StoredBlock
  /** The first block of the part. No node has the logs of those before it from which the part was to begin. */
  readonly from: bigint
  /** The first block after the part; null after the last one. */
  readonly next: bigint | null
  readonly rows: number
  readonly found: readonly LedgerDifference[]
  readonly differences: readonly string[]
  /** Whether the part has blocks whose logs are still to be read. */
  readonly isPartial: boolean
}

/** The block of a number; null without one. */
const readBlock = async (chain: Chain, number: bigint): Promise<Block | null> => {
  const { block } = await chain.send({ block: getBlock(number) })
  return block.ok ? block.value : null
}

const keyOf = ({ blockNumber, logIndex }: Pick<LedgerRow, 'blockNumber' | 'logIndex'>): string =>
  `ledger block ${blockNumber} log ${logIndex}`

/** Addresses have a checksum in one of the two. */
const textOf = (value: unknown): string => String(value).toLowerCase()

const differencesOf = (stored: StoredLedgerRow | undefined, row: LedgerRow): string[] => {
  if (stored === undefined) return [`${keyOf(row)}: missing in the index`]
  return ledgerColumns.flatMap((column) =>
    textOf(stored[column]) === textOf(row[column])
      ? []
      : [`${keyOf(row)} ${column}: ${stored[column]} in the index, ${row[column]} on the chain`],
  )
}

/** Fetches the first range from a block on that a node has the logs of. Throws as `fetchRange` does. */
const fetchFirst = async (
  chain: Chain,
  range: Parameters<typeof fetchRange>[1],
): Promise<Fetched & Pick<ComparedPart, 'from'>> => {
  try {
    return { ...(await fetchRange(chain, range)), from: range.from }
  } catch (fault) {
    if (!isPruned(fault)) throw fault
    const from = await firstWithLogs(chain, range)
    return { ...(await fetchRange(chain, { ...range, from })), from }
  }
}

/**
 * Compares the blocks from `start` on, as many as a node returns the logs of at once: each row with its log, and whether
 * each log has a row. Blocks whose logs no node has any more are skipped. `trusts` as in `fetchRange`. Throws
 * `service_unavailable` when nodes or the database are out of reach, or after a reorg, and what `Chain.logs` throws.
 */
const comparePart = async ({ chain, database }: Deps, start: bigint, trusts: Trust): Promise<ComparedPart> => {
  const { chainId } = chain
  const cursor = await ledgerEnd(database, chainId)
  if (cursor === null) throw unavailable(`chain ${chainId} is not indexed yet`)
  const asked = { from: start, upTo: cursor.number, head: cursor, trusts }
  const { from, ...range } = await fetchFirst(chain, asked).catch((fault) => {
    throw fault instanceof ChainMoved ? unavailable(fault.message, fault) : fault
  })
  const upTo = range.block.number
  const known = upTo === cursor.number ? range.block : await readBlock(chain, cursor.number)
  if (known?.hash !== cursor.hash)
    throw unavailable(`block ${cursor.number} of chain ${chainId} was replaced by a reorg`)
  const { stored, rows, unread } = await readLedgerPart(database, chainId, { from, upTo }, range.ledger)
  const isRead = ({ blockNumber }: Pick<LedgerRow, 'blockNumber'>): boolean =>
    unread.every((gap) => blockNumber < gap.from || blockNumber > gap.to)
  const byKey = new Map(stored.map((row) => [keyOf(row), row]))
  const onChain = rows.filter(isRead)
  const keys = new Set(rows.map(keyOf))
  const without = stored.filter((row) => !keys.has(keyOf(row)))
  const found: LedgerDifference[] = [
    ...onChain.flatMap((row) => differencesOf(byKey.get(keyOf(row)), row).map((text) => ({ text, row }))),
    ...(await differencesWithoutLog(chain, without)),
  ]
  return {
    cursor,
    from,
    next: upTo >= cursor.number ? null : upTo + 1n,
    rows: onChain.length,
    ...{ hints: range.hints, fees: range.fees },
    found,
    differences: found.map(({ text }) => text),
    isPartial: unread.some((gap) => gap.from <= upTo && gap.to >= from),
  }
}

/** A comparison of a part, and a second one of a part that differs, from the blocks of its logs. As `comparePart`. */
const compareTwice = async (deps: Deps, start: bigint): Promise<readonly [ComparedPart, ComparedPart | null]> => {
  const first = await comparePart(deps, start, 'all')
  return [first, first.found.length === 0 ? null : await comparePart(deps, first.from, 'none')]
}

/** Compares the blocks from `start` on. The differences are those of the second comparison. Throws as `comparePart`. */
export const compareLedger = async (deps: Deps, start: bigint): Promise<ComparedPart> => {
  const [first, again] = await compareTwice(deps, start)
  return again ?? first
}

/**
 * Runs one step of the continuous audit of a chain's ledger: compares the next part, repairs the rows that two answers
 * find missing or different if all endpoints agree on them, and stores the position. The second answer is compared with
 * the blocks of its logs. A row without a log is never deleted, because only the follower rolls back. Blocks whose logs
 * no node has any more are skipped until the next round. Returns whether a next part follows; false also when the step
 * could not be completed.
 */
export const auditLedger = async ({ chain, database, log }: Deps & { readonly log: Logger }): Promise<boolean> => {
  const { chainId, deployment } = chain
  if (!chain.status().hasLogs) return false
  try {
    const position = await nextLedgerBlock(database, chainId)
    const end = await ledgerEnd(database, chainId)
    // After a rollback the position may be above the cursor.
    const isWithin = end !== null && position <= end.number
    const start = isWithin ? max(position, deployment.startBlock) : deployment.startBlock
    const [first, again] = await compareTwice({ chain, database }, start)
    const confirmed = new Set(again?.differences)
    const found = first.found.filter(({ text }) => confirmed.has(text))
    const repairable = new Map(found.flatMap(({ row }) => (row === null ? [] : [[keyOf(row), row] as const])))
    const repairs = await confirmRows(chain, [...repairable.values()])
    const repaired = new Set(repairs.map(keyOf))
    const differences = found.map(({ text }) => text)
    const isRepaired = (log: Pick<LedgerRow, 'blockNumber' | 'logIndex'>): boolean => repaired.has(keyOf(log))
    await saveLedgerPart(database, chainId, first.cursor, {
      ...{ next: first.next ?? 0n, compared: first.rows, repairs, differences },
      ...{ hints: first.hints.filter(isRepaired), fees: first.fees.filter(isRepaired) },
    })
    if (first.from > start) {
      const skipped = { from: start.toString(), to: (first.from - 1n).toString() }
      log.warn({ chainId, ...skipped }, 'the audit of the ledger skips blocks whose logs no node has')
    }
    for (const { text, row } of found)
      log.error(
        { chainId, difference: text, repaired: row !== null && isRepaired(row) },
        'the ledger differs from the chain',
      )
    return first.next !== null
  } catch (fault) {
    if (!(fault instanceof AnchorLost || isPruned(fault) || isUnavailable(fault))) throw fault
    log.debug({ chainId, fault: String(fault) }, 'the audit of the ledger waits')
    return false
  }
}
