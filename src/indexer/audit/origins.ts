import type { Hex } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import { toServiceError } from '../../chain/rpc/errors.ts'
import { type Block, getBlock, getBlockByHash, getReceipt } from '../../chain/rpc/requests.ts'
import { type AuditedTable, columnsOf } from '../../db/index/audit/columns.ts'
import { type AuditedKind, type AuditedRow, type IndexedRows, tablesOf } from '../../db/index/audit/rows.ts'
import type { StoredBlock } from '../../db/stored.ts'
import { unavailable } from '../../lib/errors.ts'
import { decodeLog, type Fact } from '../../protocol/abi/logs.ts'
import type { Kind } from '../../protocol/entities.ts'
import { type Counts, differentValues } from './compare.ts'

/** The comparison of the origins of rows. Differences are descriptions by the id of the entity. */
export type Origins = {
  readonly differences: ReadonlyMap<bigint, readonly string[]>
  readonly counts: Readonly<Partial<Record<AuditedTable, Counts>>>
  /** The number of rows without a log, because they were read from the chain's state. */
  readonly withoutLog: number
  /** Rows whose log no node has, neither in their block nor in their transaction. */
  readonly unconfirmed: readonly bigint[]
}

/** Requests per batch. */
const BATCH = 99

/** Concurrent requests of logs. */
const RANGES = 8

const inBatches = async <T, R>(
  all: readonly T[],
  size: number,
  work: (some: readonly T[]) => Promise<R[]>,
): Promise<R[]> => {
  const found: R[] = []
  for (let at = 0; at < all.length; at += size) found.push(...(await work(all.slice(at, at + size))))
  return found
}

/** Reads the existing blocks of some numbers. Throws `service_unavailable` when `pin` is not on the chain any more. */
const headersOf = async (chain: Chain, pin: StoredBlock, numbers: Iterable<bigint>): Promise<Map<bigint, Block>> => {
  const wanted = [...new Set(numbers)].filter((number) => number <= pin.number)
  const headers = new Map<bigint, Block>()
  // Each batch includes the pin: a node with another block there is on another fork.
  for (let at = 0; at === 0 || at < wanted.length; at += BATCH) {
    const batch = wanted.slice(at, at + BATCH)
    const outcomes = await chain.send({ pin: getBlock(pin.number), blocks: batch.map((number) => getBlock(number)) })
    for (const outcome of [outcomes.pin, ...outcomes.blocks]) {
      if (!outcome.ok) throw toServiceError(outcome.error)
      if (outcome.value !== null) headers.set(outcome.value.number, outcome.value)
    }
    if (headers.get(pin.number)?.hash !== pin.hash)
      throw unavailable(
        `block ${pin.number} of chain ${chain.chainId} was replaced by a reorg that the index has not followed yet`,
      )
  }
  return headers
}

/** The number of the block with a hash; null when no node has it. */
const numberOf = async (chain: Chain, hash: unknown): Promise<bigint | null> => {
  const { block } = await chain.send({ block: getBlockByHash(hash as Hex) })
  if (!block.ok) throw toServiceError(block.error)
  return block.value?.number ?? null
}

/** Compares the block that dates a row with the chain, and describes each difference. */
const differentDate = async (
  chain: Chain,
  table: AuditedTable,
  id: bigint,
  row: AuditedRow,
  header: Block | undefined,
): Promise<string[]> => {
  const isTimed = columnsOf(table, 'block').includes('blockTimestamp')
  const time = isTimed ? { blockTimestamp: row.blockTimestamp } : {}
  const stored = { blockNumber: row.blockNumber, blockHash: row.blockHash, ...time }
  if (header?.hash !== row.blockHash) {
    const number = await numberOf(chain, row.blockHash)
    if (number !== null && number !== row.blockNumber)
      return differentValues(table, id, stored, { blockNumber: number }, ['blockNumber'])
  }
  const onChain = { blockHash: header?.hash, blockTimestamp: header?.timestamp }
  return differentValues(table, id, stored, onChain, isTimed ? ['blockHash', 'blockTimestamp'] : ['blockHash'])
}

const keyOf = (kind: string, id: bigint): string => `${kind} ${id}`

/** Ranges of at most `width` blocks that cover all of the ascending numbers. */
const rangesOver = (numbers: readonly bigint[], width: bigint): { from: bigint; upTo: bigint }[] => {
  const ranges: { from: bigint; upTo: bigint }[] = []
  for (const number of numbers) {
    const range = ranges.at(-1)
    if (range !== undefined && number - range.from < width) range.upTo = number
    else ranges.push({ from: number, upTo: number })
  }
  return ranges
}

/** The facts in the logs of some blocks. Throws as `Chain.logs` does. */
const createdIn = async (chain: Chain, numbers: readonly bigint[]): Promise<Map<string, Fact>> => {
  const found = new Map<string, Fact>()
  const ascending = [...new Set(numbers)].sort((a, b) => (a < b ? -1 : 1))
  const read = async ({ from, upTo }: { from: bigint; upTo: bigint }): Promise<void> => {
    for (let next = from; next <= upTo; ) {
      const { logs, last } = await chain.logs({ from: next, upTo })
      for (const log of logs) {
        const fact = decodeLog(log)
        if (fact !== null && fact.kind !== 'hint') found.set(keyOf(fact.kind, fact.id), fact)
      }
      next = last.number + 1n
    }
  }
  await inBatches(rangesOver(ascending, chain.logWidth() ?? 1n), RANGES, (some) => Promise.all(some.map(read)))
  return found
}

const blockOf = (row: AuditedRow): bigint => BigInt(String(row.blockNumber))

/** The numbers of the blocks of the rows' transactions, where nodes know the transaction. */
const blocksByTx = (chain: Chain, rows: readonly AuditedRow[]): Promise<bigint[]> =>
  inBatches(rows, BATCH, async (some) => {
    const { receipts } = await chain.send({ receipts: some.map(({ txHash }) => getReceipt(txHash as Hex)) })
    return receipts.flatMap((outcome) => {
      if (!outcome.ok) throw toServiceError(outcome.error)
      return outcome.value?.blockNumber ?? []
    })
  })

/**
 * Compares rows with the logs that created them, which are searched for in the row's block and then in the block of its
 * transaction.
 */
const compareLogs = async (chain: Chain, pin: StoredBlock, kind: Kind, all: ReadonlyMap<bigint, AuditedRow>) => {
  const table = tablesOf[kind][0]
  const rows = [...all].filter(([, { txHash }]) => txHash !== null)
  const differences = new Map<bigint, string[]>()
  const logs = await createdIn(
    chain,
    rows.map(([, row]) => blockOf(row)).filter((number) => number <= pin.number),
  )
  const missing = rows.flatMap(([id, row]) => (logs.has(keyOf(kind, id)) ? [] : [row]))
  for (const [key, fact] of await createdIn(chain, await blocksByTx(chain, missing))) logs.set(key, fact)
  const headers = await headersOf(
    chain,
    pin,
    [...logs.values()].map(({ blockNumber }) => blockNumber),
  )
  const unconfirmed: bigint[] = []
  for (const [id, row] of rows) {
    const fact = logs.get(keyOf(kind, id))
    if (fact === undefined) {
      unconfirmed.push(id)
      continue
    }
    const onChain = { ...fact, blockTimestamp: headers.get(fact.blockNumber)?.timestamp }
    differences.set(id, differentValues(table, id, row, onChain, columnsOf(table, 'log')))
  }
  const compared = rows.length - unconfirmed.length
  const counts: Counts = { rows: compared, values: compared * columnsOf(table, 'log').length }
  return { differences, unconfirmed, withoutLog: all.size - rows.length, counts: { [table]: counts } }
}

/** Compares the blocks of observations and settlements with those of the chain. */
const compareDates = async (chain: Chain, { anchor, rows }: IndexedRows, kind: AuditedKind) => {
  const dated = tablesOf[kind].flatMap((table) =>
    columnsOf(table, 'block').length === 0
      ? []
      : [...(rows[table] ?? [])].flatMap(([id, row]) => (row.type === 'reverted' ? [] : [{ table, id, row }])),
  )
  const headers = await headersOf(
    chain,
    anchor,
    dated.map(({ row }) => blockOf(row)),
  )
  const differences = new Map<bigint, string[]>()
  const counts: Partial<Record<AuditedTable, Counts>> = {}
  for (const { table, id, row } of dated) {
    const found = await differentDate(chain, table, id, row, headers.get(blockOf(row)))
    differences.set(id, [...(differences.get(id) ?? []), ...found])
    const before = counts[table]?.values ?? 0
    counts[table] = { rows: 0, values: before + columnsOf(table, 'block').length }
  }
  return { differences, counts }
}

const merged = (...maps: readonly ReadonlyMap<bigint, readonly string[]>[]): Map<bigint, readonly string[]> => {
  const all = new Map<bigint, readonly string[]>()
  for (const map of maps) {
    for (const [id, found] of map) if (found.length > 0) all.set(id, [...(all.get(id) ?? []), ...found])
  }
  return all
}

/**
 * Compares the origins of rows with the chain: the log that created each one (where a node serves logs), and the blocks
 * of observations. Throws `service_unavailable` when nodes do not answer or a reorg replaced the block of the index.
 */
export const compareOrigins = async (chain: Chain, kind: AuditedKind, indexed: IndexedRows): Promise<Origins> => {
  const dates = await compareDates(chain, indexed, kind)
  const created = kind === 'chain' ? undefined : indexed.rows[tablesOf[kind][0]]
  if (kind === 'chain' || created === undefined || !chain.status().hasLogs)
    return { differences: merged(dates.differences), counts: dates.counts, withoutLog: 0, unconfirmed: [] }
  const logs = await compareLogs(chain, indexed.anchor, kind, created)
  return {
    ...logs,
    differences: merged(logs.differences, dates.differences),
    counts: { ...dates.counts, ...logs.counts },
  }
}
