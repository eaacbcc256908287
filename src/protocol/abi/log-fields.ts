import { type AbiEvent, type Hex, hexToString, toEventSelector } from 'viem'
import { deployedLogsAbi, protocolAbi } from '../../abi/protocol.generated.ts'
import { cutText } from '../fields/text.ts'
import { firstTopicOf, PackedLog, type RawLog, topicCountOf } from './packed-log.ts'

/* Reads the inputs of logs. Each is one word, in a topic or in the data, except texts, of which the data has the offset. */

/** A log as a node returns it. */
export type Log = Omit<RawLog, 'address' | 'blockTimestamp'> & { readonly blockTimestamp?: bigint | null | undefined }

type Value = bigint | boolean | string

/** One input of a log: its name and how it is read. */
export type Field = { readonly name: string; readonly read: (log: Log) => Value }

/** Where a log is from. */
export type Origin = {
  readonly blockNumber: bigint
  readonly blockHash: Hex
  /** The timestamp in the log; null when the node does not return it. */
  readonly blockTimestamp: bigint | null
  readonly txHash: Hex
  readonly logIndex: number
}

/** Every log of the two ABIs. */
export const logEvents: readonly AbiEvent[] = [...protocolAbi, ...deployedLogsAbi].filter(
  (item) => item.type === 'event',
)

/** How many topics the logs of a first topic have. */
const topicCounts: ReadonlyMap<Hex | undefined, number> = new Map(
  logEvents.map((event) => [toEventSelector(event), 1 + event.inputs.filter(({ indexed }) => indexed).length]),
)

/**
 * The first topic of a log that the ABI has; undefined for any other one. It does not depend on which inputs are indexed,
 * which an upgrade may change, so a log with more or fewer topics is another one.
 */
export const selectorOf = (log: Log): Hex | undefined => {
  const first = firstTopicOf(log)
  return topicCountOf(log) === topicCounts.get(first) ? first : undefined
}

const word = (data: Hex, at: number): string => data.slice(2 + at * 64, 66 + at * 64)

const readStatic = (type: string): ((hex: string) => Value) => {
  // Without a checksum, which would need a hash and is not visible: the database stores bytes.
  if (type === 'address') return (hex) => `0x${hex.slice(24)}`
  if (type === 'bool') return (hex) => BigInt(`0x${hex}`) !== 0n
  return (hex) => BigInt(`0x${hex}`)
}

const readPacked = (type: string, indexed: boolean, at: number): ((log: PackedLog) => Value) => {
  if (type === 'address') return (log) => log.addressIn(indexed, at)
  if (type === 'bool') return (log) => log.uint(indexed, at) !== 0n
  return (log) => log.uint(indexed, at)
}

const readString = (data: Hex, at: number): string => {
  const start = 2 + Number(BigInt(`0x${word(data, at)}`)) * 2
  const length = Number(BigInt(`0x${data.slice(start, start + 64)}`)) * 2
  return cutText(hexToString(`0x${data.slice(start + 64, start + 64 + length)}`))
}

/** Compiles the fields of a type of log. */
export const compileFields = (event: AbiEvent): readonly Field[] => {
  let topic = 1
  let slot = 0
  return event.inputs.map(({ name = '', type, indexed }) => {
    const at = indexed ? topic++ : slot++
    if (type === 'string') return { name, read: ({ data }) => readString(data, at) }
    const read = readStatic(type)
    const readHex = (log: Log) => read(indexed ? (log.topics[at]?.slice(2) ?? '') : word(log.data, at))
    const unpack = readPacked(type, indexed === true, at)
    // A packed log that ends before the field takes the general path, which rejects most such logs.
    return {
      name,
      read: (log) => (log instanceof PackedLog && log.has(indexed === true, at) ? unpack(log) : readHex(log)),
    }
  })
}

/** Where a log is from. */
export const originOf = (log: Log): Origin => {
  const { blockNumber, blockHash, blockTimestamp = null, transactionHash: txHash, logIndex } = log
  return { blockNumber, blockHash, blockTimestamp, txHash, logIndex }
}

/** Reads one field, which must be an integer. */
export const integerIn = (fields: readonly Field[], name: string): ((log: Log) => bigint) => {
  const field = fields.find((each) => each.name === name)
  return (log) => {
    const value = field?.read(log)
    if (typeof value !== 'bigint') throw new TypeError(`log argument ${name} is not an integer`)
    return value
  }
}
