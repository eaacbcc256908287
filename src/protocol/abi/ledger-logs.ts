import { type Abi, type AbiEvent, type Address, decodeEventLog, getAddress, type Hex, toEventSelector } from 'viem'
import { type LedgerTypeName, ledgerIds, ledgerType, ledgerTypeNames, ledgerTypes } from '../ledger.ts'
import { compileFields, type Field, type Log, logEvents, type Origin, originOf } from './log-fields.ts'
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

type Known = {
  readonly type: LedgerTypeName
  readonly event: AbiEvent
  readonly fields: readonly Field[]
  /** The decoded columns. Throws for a log that ends before one of them. */
  columns(log: Log): Columns
}

const noColumns = { eventId: null, depositId: null, positionId: null, wallet: null, amount: null, fee: null }

const unknown: Columns = { type: ledgerTypes.unknown.code, ...noColumns }

const compile = (type: LedgerTypeName, event: AbiEvent): Known => {
  const fields = compileFields(event)
  const { code, wallet, amount, fee } = ledgerType(type)
  const inputs = { ...Object.fromEntries(ledgerIds.map((id) => [id, id])), wallet, amount, fee }
  const read = Object.entries(inputs).flatMap(([column, input]) => {
    const field = fields.find(({ name }) => name === input)
    return field === undefined ? [] : [{ column, field }]
  })
  return {
    type,
    event,
    fields,
    columns(log) {
      const made: Record<string, unknown> = { type: code, ...noColumns }
      for (const { column, field } of read) made[column] = field.read(log)
      return made as Columns
    },
  }
}

const typeByLog = new Map<string, LedgerTypeName>(
  ledgerTypeNames.flatMap((name) => ledgerType(name).logs.map((log) => [log, name] as const)),
)

const known = new Map<Hex | undefined, Known>(
  logEvents.flatMap((event) => {
    const type = typeByLog.get(event.name)
    return type === undefined ? [] : [[toEventSelector(event), compile(type, event)] as const]
  }),
)

/** The logs of the ABIs by their types. */
export const eventsOfType = (type: LedgerTypeName): AbiEvent[] =>
  [...known.values()].flatMap((each) => (each.type === type ? each.event : []))

const joined = (words: readonly Hex[]): Hex => `0x${words.map((word) => word.slice(2)).join('')}`

/** Makes the row of a log. Throws for a log of a known type that ends before one of its inputs. */
export const ledgerLog = (log: Log): LedgerLog => {
  const topic = log instanceof PackedLog ? log.firstTopic : log.topics[0]
  const columns = known.get(topic)?.columns(log) ?? unknown
  return { ...originOf(log), ...columns, topics: joined(log.topics), data: log.data }
}

/** The topics of a row. */
const wordsOf = (topics: Hex): Hex[] => (topics.slice(2).match(/.{64}/g) ?? []).map((word): Hex => `0x${word}`)

/** Whether each field of a log is one word or a text. */
const isPlain = ({ inputs }: AbiEvent): boolean => !inputs.some(({ type }) => /[[\]]|^tuple|^bytes$/.test(type))

/** A value of a log as JSON has it: integers as decimal texts, addresses with their checksum. */
const shown = (type: string, value: unknown): unknown => {
  if (type === 'address') return getAddress(value as Address)
  return typeof value === 'bigint' ? value.toString() : value
}

/** Inputs that answers leave out: ids have fields of their own, and the calldata of an upgrade has any size. */
const leftOut: ReadonlySet<string> = new Set([...ledgerIds, '_calldata'])

/** The name under which an answer shows an input. */
export const detailName = (input: string): string => (input === '_diamondCut' ? 'cuts' : input.replace(/^_/, ''))

/** The inputs of a log that answers show as its details. */
export const detailInputs = (event: AbiEvent) => event.inputs.filter(({ name = '' }) => !leftOut.has(name))

/**
 * The name of a row's log and the values of its inputs, by the names that `detailName` gives them; null for a log that
 * this build does not know.
 */
export const detailsOf = ({ topics, data }: Pick<LedgerLog, 'topics' | 'data'>) => {
  const words = wordsOf(topics)
  const found = known.get(words[0])
  if (found === undefined) return null
  const { event, fields } = found
  const inputs = detailInputs(event)
  if (isPlain(event)) {
    const log: Log = { ...position, topics: words, data }
    const values = fields.filter(({ name }) => !leftOut.has(name))
    return {
      log: event.name,
      details: Object.fromEntries(values.map((it) => [detailName(it.name), shown(it.type, it.read(log))])),
    }
  }
  const { args } = decodeEventLog({ abi: [event] as Abi, topics: words as [Hex], data })
  const values = args as unknown as Readonly<Record<string, unknown>>
  return {
    log: event.name,
    details: Object.fromEntries(
      inputs.map(({ name = '', type }) => [detailName(name), shown(type, values[name])]),
    ),
  }
}

/** Where a log is from, which its values do not depend on. */
const position = { blockNumber: 0n, blockHash: '0x', transactionHash: '0x', logIndex: 0 } as const
