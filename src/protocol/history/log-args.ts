import { type Hex, toEventSelector } from 'viem'
import { topicWords } from '../abi/ledger-logs.ts'
import { compileFields, type Field, logEvents } from '../abi/log-fields.ts'

/** The inputs of logs that change the state of an event and that no column of the ledger has. */
const names = ['shares', 'notional', 'settlementPrice', 'triggered', 'poolOpen', 'allowExternalLp'] as const

/** Their values, by their names. A log has those of its type. */
export type LogArgs = Readonly<Partial<Record<(typeof names)[number], bigint | boolean>>>

const readers = new Map<Hex, readonly Field[]>(
  logEvents.map((event) => [
    toEventSelector(event),
    compileFields(event).filter(({ name }) => (names as readonly string[]).includes(name)),
  ]),
)

const place = { blockNumber: 0n, blockHash: '0x', transactionHash: '0x', logIndex: 0 } as const

/** Reads these inputs of a row of the ledger, by the words of its topics, one after the other, and its data. */
export const logArgs = (topics: Hex, data: Hex): LogArgs => {
  const words = topicWords(topics)
  const [first] = words
  const fields = first === undefined ? undefined : readers.get(first)
  return Object.fromEntries((fields ?? []).map(({ name, read }) => [name, read({ ...place, topics: words, data })]))
}
