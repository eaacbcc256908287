import type { Chain } from '../../chain/chain.ts'
import { LogsPruned, toServiceError } from '../../chain/rpc/errors.ts'
import { type Block, getBlock, viewCall } from '../../chain/rpc/requests.ts'
import type { Outcome } from '../../chain/rpc/transport.ts'
import type { LastIds } from '../../db/index/work/progress.ts'
import type { Dated, DatedFact } from '../../db/index/write.ts'
import type { StoredBlock } from '../../db/stored.ts'
import { type LedgerLog, ledgerLog } from '../../protocol/abi/ledger-logs.ts'
import { selectorOf } from '../../protocol/abi/log-fields.ts'
import { decodeLog, type Fact, type FeeLog, feeLogsIn, type Hint } from '../../protocol/abi/logs.ts'
import type { RawLog } from '../../protocol/abi/packed-log.ts'
import { ledgerIds } from '../../protocol/ledger.ts'
import { noneExists, recordCall } from './existence.ts'
import { absentWith } from './gaps.ts'

/** What names a block of one fork. */
export type BlockId = Pick<Block, 'number' | 'hash'>

/**
 * The content of a range of blocks, its last block, and the endpoint that returned its logs. `ledger` has every log, in
 * order; `unknown` are those that this build does not know. `complete` is whether no further entity exists at that block; null when that was not
 * checked.
 */
export type Range = {
  readonly block: Block
  readonly facts: readonly DatedFact[]
  readonly hints: readonly Hint[]
  readonly fees: readonly Dated<FeeLog>[]
  readonly ledger: readonly Dated<LedgerLog>[]
  readonly unknown: readonly RawLog[]
  readonly endpoint: number
  readonly complete: boolean | null
}

/**
 * Which logs are trusted to name their block's hash and time: those of ranges that are settled as a whole, all, or none.
 * The blocks of the others are read. `all` is for comparisons only, of which each difference is read again with `none`.
 */
export type Trust = 'settled ranges' | 'all' | 'none'

/** A fetched range with the block before it, which must be the block of the cursor. */
export type Fetched = Range & { readonly before: Block | null }

/**
 * The answers are not of one chain: a reorg happened between two requests, or two nodes on different forks answered.
 * Retry.
 */
export class ChainMoved extends Error {
  override readonly name = 'ChainMoved'
}

/** Whether nodes refused a range because they do not have logs as old as these any more. */
export const isPruned = (fault: unknown): boolean => fault instanceof LogsPruned

/**
 * The first block after `from` that a node has the logs of, for a `from` whose logs are pruned: older blocks are pruned
 * first. Throws what `Chain.logs` throws, `LogsPruned` when the logs of `upTo` are pruned too.
 */
export const firstWithLogs = async (
  chain: Pick<Chain, 'logs'>,
  { from, upTo }: { readonly from: bigint; readonly upTo: bigint },
): Promise<bigint> => {
  const ask = (number: bigint) => chain.logs({ from: number, upTo: number })
  await ask(upTo)
  let [pruned, first] = [from, upTo]
  while (first - pruned > 1n) {
    const middle = (pruned + first) / 2n
    const hasLogs = await ask(middle).then(
      () => true,
      (fault) => {
        if (isPruned(fault)) return false
        throw fault
      },
    )
    if (hasLogs) first = middle
    else pruned = middle
  }
  return first
}

/**
 * Fetches the blocks from..upTo, or as many as a node takes at once, of a chain whose newest block is `head`. Throws
 * ChainMoved, or what `Chain.logs` throws.
 */
export const fetchRange = async (
  chain: Chain,
  {
    trusts = 'settled ranges',
    ...range
  }: Parameters<Chain['logs']>[0] & { readonly head: Block; readonly trusts?: Trust },
): Promise<Fetched> => {
  const { endpoint, logs, last, before } = await chain.logs(range)
  const sorted = sort(chain, endpoint, { logs, from: range.from, last })
  const isSettled = trusts === 'settled ranges' && last.timestamp <= range.head.timestamp - SETTLED_SECONDS
  const known = isSettled || trusts === 'all' ? blocksOf(logs, before, last) : new Map<bigint, Block>()
  const headers = await headersOf(chain, sorted.ledger, last, known)
  return { before, block: last, ...datedBy(sorted, headers), endpoint, complete: null }
}

/**
 * Makes a range of the few blocks from the cursor to a block near the head, whose logs the probe has returned. One
 * request verifies that the cursor, that block and the block of each log belong to one chain, and whether entities exist
 * there that the logs lack (`complete`). Throws ChainMoved when the blocks are of more than one chain, or what
 * `Chain.send` throws.
 */
export const fetchTip = async (
  chain: Chain,
  tip: Pick<Range, 'endpoint'> & {
    readonly cursor: StoredBlock
    readonly to: BlockId
    readonly logs: readonly RawLog[]
    readonly last: LastIds
  },
): Promise<Range> => {
  const { cursor, to, logs, last, endpoint } = tip
  const sorted = sort(chain, endpoint, { logs, from: cursor.number + 1n, last: to })
  const numbers = [...new Set([cursor.number, to.number, ...sorted.ledger.map(({ blockNumber }) => blockNumber)])]
  const probes = absentWith(last, sorted.facts).map((entity) =>
    viewCall(chain.deployment.diamond, recordCall(entity), { blockHash: to.hash }),
  )
  const { beyond, blocks } = await chain.send({
    beyond: probes,
    blocks: numbers.map((number) => getBlock(number)),
  })
  const headers = new Map(blocks.map((outcome) => blockOf(outcome)).map((block) => [block.number, block]))
  const verified = ({ number, hash }: BlockId): Block => {
    const header = headers.get(number)
    if (header?.hash !== hash) throw new ChainMoved(`block ${number} changed`)
    return header
  }
  verified(cursor)
  const block = verified(to)
  return { block, ...datedBy(sorted, headers), endpoint, complete: noneExists(beyond) }
}

const blockOf = (outcome: Outcome<Block | null>): Block => {
  if (!outcome.ok) throw toServiceError(outcome.error)
  if (outcome.value === null) throw new ChainMoved('a block of the range does not exist any more')
  return outcome.value
}

/** Headers per batch. */
const BATCH = 99

/** This far behind the head, in seconds of chain time, no reorg is expected, so the block times in logs are trusted. */
const SETTLED_SECONDS = 120n

/** The blocks of logs whose node adds the block time. A time outside that of the range is not trusted. */
const blocksOf = (logs: readonly RawLog[], before: Block | null, last: Block): ReadonlyMap<bigint, Block> => {
  const blocks = new Map<bigint, Block>()
  for (const { blockNumber: number, blockHash: hash, blockTimestamp: timestamp } of logs) {
    if (timestamp === null || timestamp > last.timestamp || timestamp < (before?.timestamp ?? 0n)) continue
    if (!blocks.has(number)) blocks.set(number, { number, hash, timestamp })
  }
  return blocks
}

/**
 * Reads the blocks of logs that are not `known`, from which `dated` takes their time. Each batch includes the last block
 * of the range, which verifies that the batch is of the same chain.
 */
const headersOf = async (
  chain: Chain,
  logs: readonly Seen[],
  last: Block,
  known: ReadonlyMap<bigint, Block>,
): Promise<ReadonlyMap<bigint, Block>> => {
  const headers = new Map([...known, [last.number, last]])
  const numbers = [...new Set(logs.map(({ blockNumber }) => blockNumber))].filter((number) => !headers.has(number))
  for (let at = 0; at < numbers.length; at += BATCH) {
    const batch = [last.number, ...numbers.slice(at, at + BATCH)]
    const { blocks } = await chain.send({ blocks: batch.map((number) => getBlock(number)) })
    for (const block of blocks.map(blockOf)) headers.set(block.number, block)
    if (headers.get(last.number)?.hash !== last.hash) throw new ChainMoved(`block ${last.number} changed`)
  }
  return headers
}

type Seen = Pick<Fact, 'blockNumber' | 'blockHash' | 'blockTimestamp'>

/**
 * Adds the time of each log's block. The header also verifies that the log is of this chain: logs and headers may come
 * from two nodes on two forks, where the same id may have different owners.
 */
const dated = <T extends Seen>(logs: readonly T[], headers: ReadonlyMap<bigint, Block>): Dated<T>[] =>
  logs.map((log) => {
    const header = headers.get(log.blockNumber)
    if (header?.hash !== log.blockHash) throw new ChainMoved(`block ${log.blockNumber} is not the block of its logs`)
    return isDated(log, header) ? log : { ...log, blockTimestamp: header.timestamp }
  })

/** Adds the time of its block to each log of a range. */
const datedBy = ({ facts, fees, ledger, ...others }: Sorted, headers: ReadonlyMap<bigint, Block>) => ({
  ...others,
  facts: dated(facts, headers),
  fees: dated(fees, headers),
  ledger: dated(ledger, headers),
})

/** Most logs contain the time of their block. */
const isDated = <T extends Seen>(log: T, { timestamp }: Block): log is Dated<T> => log.blockTimestamp === timestamp

/** The logs of a range, decoded. */
type Sorted = Pick<Range, 'hints' | 'unknown'> & {
  readonly facts: readonly Fact[]
  readonly fees: readonly FeeLog[]
  readonly ledger: readonly LedgerLog[]
}

/**
 * Decodes an endpoint's logs. Throws ChainMoved, and penalizes the endpoint, for logs outside the request or that
 * cannot be decoded.
 */
const sort = (
  chain: Chain,
  endpoint: number,
  { logs, from, last }: { readonly logs: readonly RawLog[]; readonly from: bigint; readonly last: BlockId },
): Sorted => {
  const facts: Fact[] = []
  const hints: Hint[] = []
  const unknown: RawLog[] = []
  const ledger: LedgerLog[] = []
  const reject = (reason: string): never => {
    chain.penalize(endpoint, reason)
    throw new ChainMoved(reason)
  }
  const diamond = chain.deployment.diamond.toLowerCase()
  for (const log of inOrder(logs) ?? reject('two logs of one place')) {
    if (log.address.toLowerCase() !== diamond) reject('a log of another contract')
    if (log.blockNumber < from || log.blockNumber > last.number) reject('a log from outside the range')
    if (log.blockNumber === last.number && log.blockHash !== last.hash) throw new ChainMoved('logs of another fork')
    const { row, meaning } = decode(log) ?? reject('a log that cannot be decoded')
    ledger.push(row)
    if (meaning === null) {
      if (selectorOf(log) === undefined) unknown.push(log)
    } else if (meaning.kind === 'hint') hints.push(meaning)
    else facts.push(meaning)
  }
  if (!areDistinct(facts)) reject('two logs of one row')
  return { facts, hints, fees: feeLogsIn(hints), unknown, ledger }
}

/**
 * Logs in the order of the chain, without repetitions; null when two different logs have one place. Nearly all answers
 * are in order already.
 */
const inOrder = (logs: readonly RawLog[]): readonly RawLog[] | null => {
  const isNext = (log: RawLog, at: number): boolean => at === 0 || comparePlaces(logs[at - 1] as RawLog, log) < 0
  if (logs.every(isNext)) return logs
  const first = new Map<string, RawLog>()
  for (const log of logs.toReversed()) first.set(placeOf(log), log)
  return logs.every((log) => isEqual(first.get(placeOf(log)), log)) ? [...first.values()].sort(comparePlaces) : null
}

/** Two blocks of one number are of two chains. */
const placeOf = ({ blockHash, logIndex }: RawLog): string => `${blockHash} ${logIndex}`

const comparePlaces = (a: RawLog, b: RawLog): number =>
  a.blockNumber === b.blockNumber ? a.logIndex - b.logIndex : a.blockNumber < b.blockNumber ? -1 : 1

const isEqual = (a: RawLog | undefined, b: RawLog): boolean => a?.data === b.data && a.topics.join() === b.topics.join()

/** Whether no two facts create one row. In nearly all cases their ids grow. */
const areDistinct = (facts: readonly Fact[]): boolean => {
  const last: Record<Fact['kind'], bigint> = { event: -1n, deposit: -1n, position: -1n }
  const growing = facts.every(({ kind, id }) => {
    const isNext = id > last[kind]
    last[kind] = id
    return isNext
  })
  return growing || new Set(facts.map(({ kind, id }) => `${kind} ${id}`)).size === facts.length
}

/** What a log is: its row of the ledger, and what the index follows of it. Null for one that cannot be decoded. */
export const decode = (log: RawLog): { readonly row: LedgerLog; readonly meaning: Fact | Hint | null } | null => {
  try {
    const row = ledgerLog(log)
    return isStorable(row) ? { row, meaning: decodeLog(log) } : null
  } catch {
    return null
  }
}

/** The greatest id and log index that the database can store. No contract can emit greater ones. */
const MAX_ID = 2n ** 63n - 1n
const MAX_LOG_INDEX = 2 ** 31 - 1

/** Whether the database can store the ids and the index of a log. Otherwise each write of the range would fail. */
const isStorable = (row: LedgerLog): boolean =>
  Number(row.logIndex) <= MAX_LOG_INDEX && ledgerIds.every((id) => (row[id] ?? 0n) <= MAX_ID)
