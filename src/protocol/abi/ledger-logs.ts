import { type AbiEvent, type Hex, toEventSelector } from 'viem'
import { type LedgerTypeName, ledgerIds, ledgerType, ledgerTypeNames, ledgerTypes } from '../ledger.ts'
import { compileFields, type Log, logEvents, type Origin, originOf } from './log-fields.ts'
import { PackedLog } from './packed-log.ts'

/** A log as a row of the ledger. */
export type LedgerLog = Origin & {
  /** The code of its type in `ledgerTypes`. */
  readonly type: number
  /** The words of the topics, one after the other, and the data. */
  readonly topics: Hex
  readonly data: Hex
  readonly eventId: bigint | null
  readonly depositId: bigint | null
  readonly positionId: bigint | null
  /** The wallet that acted, in lower case; null where the log names none. */
  readonly wallet: Hex | null
  /** Before the fee, in units of the event's payment token. */
  readonly amount: bigint | null
  readonly fee: bigint | null
}

type Columns = Pick<LedgerLog, 'type' | (typeof ledgerIds)[number] | 'wallet' | 'amount' | 'fee'>

/** Reads the decoded columns of a log. Throws for a log that ends before one of them. */
type Read = (log: Log) => Columns

type Raw = Pick<LedgerLog, 'topics' | 'data'>

const noColumns = { eventId: null, depositId: null, positionId: null, wallet: null, amount: null, fee: null }

const unknown: Columns = { type: ledgerTypes.unknown.code, ...noColumns }

const compile = (type: LedgerTypeName, event: AbiEvent): Read => {
  const fields = compileFields(event)
  const { code, wallet, amount, fee } = ledgerType(type)
  const inputs = { ...Object.fromEntries(ledgerIds.map((id) => [id, id])), wallet, amount, fee }
  const read = Object.entries(inputs).flatMap(([column, input]) => {
    const field = fields.find(({ name }) => name === input)
    return field === undefined ? [] : [{ column, field }]
  })
  return (log) => {
    const made: Record<string, unknown> = { type: code, ...noColumns }
    for (const { column, field } of read) made[column] = field.read(log)
    return made as Columns
  }
}

const typeByLog = new Map<string, LedgerTypeName>(
  ledgerTypeNames.flatMap((name) => ledgerType(name).logs.map((log) => [log, name] as const)),
)

const readers = new Map<Hex | undefined, Read>(
  logEvents.flatMap((event) => {
    const type = typeByLog.get(event.name)
    return type === undefined ? [] : [[toEventSelector(event), compile(type, event)] as const]
  }),
)

/** The words of a row's topics. */
export const topicWords = (topics: Hex): Hex[] =>
  (topics.slice(2).match(/.{64}/g) ?? []).map((word) => `0x${word}` as const)

/** The log of a row. */
export const logOf = ({ topics, data, txHash: transactionHash, ...row }: Origin & Raw): Log => ({
  ...{ topics: topicWords(topics), data, transactionHash, logIndex: row.logIndex },
  ...{ blockNumber: row.blockNumber, blockHash: row.blockHash, blockTimestamp: row.blockTimestamp },
})

const joined = (words: readonly Hex[]): Hex => `0x${words.map((word) => word.slice(2)).join('')}`

/** Makes the row of a log. Throws for a log of a known type that ends before one of its inputs. */
export const ledgerLog = (log: Log): LedgerLog => {
  const topic = log instanceof PackedLog ? log.firstTopic : log.topics[0]
  const columns = readers.get(topic)?.(log) ?? unknown
  return { ...originOf(log), ...columns, topics: joined(log.topics), data: log.data }
}
