import type { Hex } from 'viem'

/** A log as a node returns it, after its shape was checked. */
export type RawLog = {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly blockNumber: bigint
  readonly blockHash: Hex
  /** Unix seconds; null when the node does not return it. */
  readonly blockTimestamp: bigint | null
  readonly transactionHash: Hex
  readonly logIndex: number
}

/**
 * Offsets of a log's parts in the bytes of an answer. The first topic is stored separately, because logs of one type
 * share it.
 */
type Parts = {
  readonly firstTopic: Hex
  /** Offset of the topics after the first. */
  readonly topicsAt: number
  readonly topicCount: number
  readonly dataAt: number
  readonly dataLength: number
  readonly txHashAt: number
}

type Shared = Pick<RawLog, 'address' | 'blockNumber' | 'blockHash' | 'blockTimestamp' | 'logIndex'>

/** A log whose words stay bytes: their hex is created only when a property reads it. */
export class PackedLog implements RawLog {
  readonly address: Hex
  readonly blockNumber: bigint
  readonly blockHash: Hex
  readonly blockTimestamp: bigint | null
  readonly logIndex: number
  readonly firstTopic: Hex
  readonly topicCount: number
  readonly dataLength: number
  private readonly bytes: Buffer
  private readonly topicsAt: number
  private readonly dataAt: number
  private readonly txHashAt: number

  constructor(shared: Shared, bytes: Buffer, parts: Parts) {
    this.address = shared.address
    this.blockNumber = shared.blockNumber
    this.blockHash = shared.blockHash
    this.blockTimestamp = shared.blockTimestamp
    this.logIndex = shared.logIndex
    this.firstTopic = parts.firstTopic
    this.topicCount = parts.topicCount
    this.dataLength = parts.dataLength
    this.bytes = bytes
    this.topicsAt = parts.topicsAt
    this.dataAt = parts.dataAt
    this.txHashAt = parts.txHashAt
  }

  get topics(): readonly Hex[] {
    const others = Array.from({ length: this.topicCount - 1 }, (_, at) => this.hex(this.topicsAt + at * 32, 32))
    return [this.firstTopic, ...others]
  }
  /** The words of the topics, one after the other. */
  get topicWords(): Hex {
    const others = this.bytes.toString('hex', this.topicsAt, this.topicsAt + (this.topicCount - 1) * 32)
    return `${this.firstTopic}${others}`
  }
  get data(): Hex {
    return this.hex(this.dataAt, this.dataLength)
  }
  get transactionHash(): Hex {
    return this.hex(this.txHashAt, 32)
  }

  /** Whether the log has a topic after the first, or a whole word of the data. */
  has(indexed: boolean, at: number): boolean {
    return indexed ? at < this.topicCount : (at + 1) * 32 <= this.dataLength
  }
  /** The integer in a topic after the first (`indexed`), or in a word of the data. The word must exist. */
  uint(indexed: boolean, at: number): bigint {
    const { bytes } = this
    const from = this.offset(indexed, at)
    const low = from + 24
    for (let each = from; each < low; each += 1) if (bytes[each] !== 0) return BigInt(this.hex(from, 32))
    // Up to 2^53 the conversion goes through a number, which is faster.
    const high = bytes.readUInt32BE(low)
    return high < 0x200000 ? BigInt(high * 0x100000000 + bytes.readUInt32BE(low + 4)) : bytes.readBigUInt64BE(low)
  }
  /** The address in a topic or a word of the data, in lower case. */
  addressIn(indexed: boolean, at: number): Hex {
    return this.hex(this.offset(indexed, at) + 12, 20)
  }

  private offset(indexed: boolean, at: number): number {
    return indexed ? this.topicsAt + (at - 1) * 32 : this.dataAt + at * 32
  }
  private hex(from: number, length: number): Hex {
    return `0x${this.bytes.toString('hex', from, from + length)}`
  }
}

type Topics = Pick<RawLog, 'topics'>

/** The first topic of a log; undefined when it has none. */
export const firstTopicOf = (log: Topics): Hex | undefined =>
  log instanceof PackedLog ? log.firstTopic : log.topics[0]

export const topicCountOf = (log: Topics): number => (log instanceof PackedLog ? log.topicCount : log.topics.length)

/** The words of the topics of a log, one after the other. */
export const topicWordsOf = (log: Topics): Hex =>
  log instanceof PackedLog ? log.topicWords : `0x${log.topics.map((word) => word.slice(2)).join('')}`
