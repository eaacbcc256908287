import { type AbiEvent, type Hex, toEventSelector } from 'viem'
import { type LedgerTypeName, type ledgerIds, ledgerType, ledgerTypeNames, ledgerTypes } from '../ledger.ts'
import { compileFields, type Log, logEvents, type Origin, originOf, selectorOf } from './log-fields.ts'
import { topicWordsOf } from './packed-log.ts'

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

const none = (): null => null

const compile = (type: LedgerTypeName, event: AbiEvent): Read => {
  const fields = compileFields(event)
  const { code, ...inputs } = ledgerType(type)
  /** Reads an input, whose type follows from the ABI; null where the log has none of this name. */
  const reads = <T extends bigint | Hex>(input: string | undefined) =>
    (fields.find(({ name }) => name === input)?.read ?? none) as (log: Log) => T | null
  const read = {
    ...{ eventId: reads<bigint>('eventId'), depositId: reads<bigint>('depositId') },
    ...{ positionId: reads<bigint>('positionId'), wallet: reads<Hex>(inputs.wallet) },
    ...{ amount: reads<bigint>(inputs.amount), fee: reads<bigint>(inputs.fee) },
  }
  return (log) => ({
    type: code,
    eventId: read.eventId(log),
    depositId: read.depositId(log),
    positionId: read.positionId(log),
    wallet: read.wallet(log),
    amount: read.amount(log),
    fee: read.fee(log),
  })
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

/** Makes the row of a log. Throws for a log of a known type that ends before one of its inputs. */
export const ledgerLog = (log: Log): LedgerLog => {
  const { blockNumber, blockHash, blockTimestamp, txHash, logIndex } = originOf(log)
  const { type, eventId, depositId, positionId, wallet, amount, fee } = readers.get(selectorOf(log))?.(log) ?? unknown
  // Spreading two objects into one takes longer than everything else here.
  return {
    blockNumber,
    blockHash,
    blockTimestamp,
    logIndex,
    txHash,
    topics: topicWordsOf(log),
    data: log.data,
    type,
    eventId,
    depositId,
    positionId,
    wallet,
    amount,
    fee,
  }
}
