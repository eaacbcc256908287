import type { Hex } from 'viem'
import type { RawLog } from '../../protocol/abi/packed-log.ts'
import { noteOdd } from './odd.ts'
import { ScannedLogs } from './scan-logs.ts'

/*
 * Answers contain up to ten thousand logs, so their shape is checked by hand: a schema takes longer than fetching the
 * logs. `scan-logs.ts` reads most answers before they get here.
 */

const HEX = /^0x[\da-f]*$/i

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

const isHex = (value: unknown): value is Hex => typeof value === 'string' && HEX.test(value)

const bytesOf = (value: unknown, field: string): Hex => {
  if (isHex(value) && value.length % 2 === 0) return value
  throw new TypeError(`a log's ${field} is not bytes`)
}

const fixed = (value: unknown, field: string, bytes: number): Hex => {
  const hex = bytesOf(value, field)
  if (hex.length === 2 + bytes * 2) return hex
  throw new TypeError(`a log's ${field} is not ${bytes} bytes long`)
}

/** Hex; also a number, which some nodes write. */
const quantityOf = (value: unknown, field: string): Hex | number => {
  if (isHex(value) && value.length > 2 && value.length <= 66) return value
  if (Number.isSafeInteger(value) && Number(value) >= 0) {
    noteOdd('number')
    return Number(value)
  }
  throw new TypeError(`a log's ${field} is not a quantity`)
}

const topicsOf = (value: unknown): Hex[] => {
  if (Array.isArray(value) && value.length <= 4) return value.map((topic) => fixed(topic, 'topics', 32))
  throw new TypeError("a log's topics are not a list of up to four")
}

/** Converts quantities and keeps the last one, because neighbouring logs mostly share theirs. */
const toInteger = () => {
  let known: Hex | number | undefined
  let converted = 0n
  return (quantity: Hex | number): bigint => {
    if (quantity !== known) {
      known = quantity
      converted = BigInt(quantity)
    }
    return converted
  }
}

/** Whether no log can appear twice, which is how nodes usually return them: in the order of their chain. */
const isAscending = (logs: readonly RawLog[]): boolean =>
  logs.every((log, at) => {
    const last = logs[at - 1]
    if (log.blockHash === last?.blockHash) return log.logIndex > last.logIndex
    return last === undefined || log.blockNumber > last.blockNumber
  })

const contentsOf = ({ blockHash, transactionHash, topics, data }: RawLog): string =>
  [blockHash, transactionHash, data, ...topics].join()

/** Leaves out a log with the block, the transaction, the contents and the index of an earlier one. */
const withoutRepeats = (logs: readonly RawLog[]): readonly RawLog[] => {
  if (isAscending(logs)) return logs
  const byPlace = new Map(logs.map((log) => [`${contentsOf(log)},${log.logIndex}`, log]))
  if (byPlace.size < logs.length) noteOdd('doubled')
  return [...byPlace.values()]
}

/**
 * Leaves out the second half of the logs where each one appears exactly twice, at two indexes: some nodes return every
 * log twice. Any other list stays as it is, because a contract may emit equal logs in one transaction.
 */
const withoutTwins = (logs: readonly RawLog[]): readonly RawLog[] => {
  const [first] = logs
  const isTwin = (log: RawLog): boolean => log.blockHash === first?.blockHash && contentsOf(log) === contentsOf(first)
  // Nearly every list ends here: few logs are of the block of the first one, and none is equal.
  if (first === undefined || logs.filter(isTwin).length !== 2) return logs
  const indexes = new Map<string, number[]>()
  for (const log of logs) indexes.set(contentsOf(log), [...(indexes.get(contentsOf(log)) ?? []), log.logIndex])
  if ([...indexes.values()].some(({ length }) => length !== 2)) return logs
  noteOdd('doubled')
  return logs.filter((log) => log.logIndex === Math.min(...(indexes.get(contentsOf(log)) ?? [])))
}

/** Parses the result of `eth_getLogs`, as `parseLogs` does, and leaves out logs that appear twice at two indexes. */
export const parseLogList = (raw: unknown): readonly RawLog[] => withoutTwins(parseLogs(raw))

/** Why a log does not count: a reorg removed it, or it is in no block yet. */
const leftOut = (log: unknown): 'removed' | 'pending' | null => {
  if (!isRecord(log)) return null
  if (log.removed === true) return 'removed'
  return log.blockHash === null ? 'pending' : null
}

/**
 * Parses the logs of a receipt. `blockTimestamp`, which not every node adds, may be null. Logs that a reorg removed,
 * that are in no block yet, and repeated ones are left out. Throws TypeError for any other shape.
 */
export const parseLogs = (raw: unknown): readonly RawLog[] => {
  if (raw instanceof ScannedLogs) return withoutRepeats(raw.logs)
  if (!Array.isArray(raw)) throw new TypeError('logs are not a list')
  const [toNumber, toTimestamp] = [toInteger(), toInteger()]
  const kept = raw.filter((log: unknown) => {
    const why = leftOut(log)
    if (why !== null) noteOdd(why)
    return why === null
  })
  const logs = kept.map((log: unknown) => {
    if (!isRecord(log)) throw new TypeError('a log is not an object')
    return {
      address: fixed(log.address, 'address', 20),
      topics: topicsOf(log.topics),
      data: bytesOf(log.data, 'data'),
      blockNumber: toNumber(quantityOf(log.blockNumber, 'blockNumber')),
      blockHash: fixed(log.blockHash, 'blockHash', 32),
      blockTimestamp:
        isHex(log.blockTimestamp) || typeof log.blockTimestamp === 'number'
          ? toTimestamp(quantityOf(log.blockTimestamp, 'blockTimestamp'))
          : null,
      transactionHash: fixed(log.transactionHash, 'transactionHash', 32),
      logIndex: Number(quantityOf(log.logIndex, 'logIndex')),
    }
  })
  return withoutRepeats(logs)
}
