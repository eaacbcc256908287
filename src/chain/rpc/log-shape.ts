import type { Hex } from 'viem'
import type { RawLog } from '../../protocol/packed-log.ts'
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

const quantityOf = (value: unknown, field: string): Hex => {
  if (isHex(value) && value.length > 2 && value.length <= 66) return value
  throw new TypeError(`a log's ${field} is not a quantity`)
}

const topicsOf = (value: unknown): Hex[] => {
  if (Array.isArray(value) && value.length <= 4) return value.map((topic) => fixed(topic, 'topics', 32))
  throw new TypeError("a log's topics are not a list of up to four")
}

/** Converts quantities and keeps the last one, because neighbouring logs mostly share theirs. */
const toInteger = () => {
  let known: string | undefined
  let converted = 0n
  return (hex: Hex): bigint => {
    if (hex !== known) {
      known = hex
      converted = BigInt(hex)
    }
    return converted
  }
}

/**
 * Parses the result of `eth_getLogs`. `blockTimestamp`, which not every node adds, may be null. Throws TypeError for
 * any other shape.
 */
export const parseLogs = (raw: unknown): readonly RawLog[] => {
  if (raw instanceof ScannedLogs) return raw.logs
  if (!Array.isArray(raw)) throw new TypeError('logs are not a list')
  const [toNumber, toTimestamp] = [toInteger(), toInteger()]
  return raw.map((log: unknown) => {
    if (!isRecord(log)) throw new TypeError('a log is not an object')
    return {
      address: fixed(log.address, 'address', 20),
      topics: topicsOf(log.topics),
      data: bytesOf(log.data, 'data'),
      blockNumber: toNumber(quantityOf(log.blockNumber, 'blockNumber')),
      blockHash: fixed(log.blockHash, 'blockHash', 32),
      blockTimestamp: isHex(log.blockTimestamp) ? toTimestamp(quantityOf(log.blockTimestamp, 'blockTimestamp')) : null,
      transactionHash: fixed(log.transactionHash, 'transactionHash', 32),
      logIndex: Number(quantityOf(log.logIndex, 'logIndex')),
    }
  })
}
