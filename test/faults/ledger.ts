import { decodeEventLog, type Hex } from 'viem'
import { z } from 'zod'
import {
  type ComparedLogs,
  creationsAbi,
  creationTopics,
  isCreation,
  kindOf,
  logRowOf,
  plain,
  type Row,
  type Rows,
  rowOf,
} from './creations.ts'
import { hex, type Rpc } from './rpc.ts'

const Bytes = z.custom<Hex>((value) => typeof value === 'string' && value.startsWith('0x'))

const Log = z.object({
  topics: z.tuple([Bytes], Bytes),
  data: Bytes,
  blockNumber: z.string().transform(Number),
  blockHash: z.string(),
  blockTimestamp: z.string().transform(Number),
  transactionHash: z.string(),
  logIndex: z.string().transform(Number),
})

/** A block by number and hash. */
export type Point = { readonly number: number; readonly hash: string }

/**
 * The rows that an index should hold, from the logs of the chain: its facts, and the given rows of the ledger. `upTo` gives the rows up to a block, null
 * when the chain does not have that block. Logs are kept until a reorg.
 */
export const createLedger = (node: Rpc, diamond: string, compared: ComparedLogs = null) => {
  let rows = new Map<string, Row>()
  let known: Point | null = null

  const add = (log: z.output<typeof Log>): void => {
    const topics = plain(log.topics.map(plain).join(''))
    const origin: Readonly<Record<string, unknown>> = {
      block_number: log.blockNumber,
      block_hash: log.blockHash,
      block_timestamp: log.blockTimestamp,
      tx_hash: log.transactionHash,
      log_index: log.logIndex,
    }
    if (compared !== null) rows.set(...logRowOf((column) => ({ ...origin, topics, data: log.data })[column]))
    if (!isCreation(topics)) return
    const { eventName, args } = decodeEventLog({ abi: creationsAbi, topics: log.topics, data: log.data })
    const kind = kindOf(eventName)
    if (kind === undefined) return
    const own: Readonly<Record<string, unknown>> = { ...Object(args), ...origin }
    const name = `${kind} ${plain(own.id)}`
    // If one creation has two logs, the first one counts.
    if (rows.has(name)) return
    // The database keeps texts as bytes.
    const value = (column: string): unknown =>
      column === 'underlying' ? Buffer.from(String(own.underlying), 'utf8') : own[column]
    rows.set(name, rowOf(kind, value))
  }

  return {
    async upTo(to: Point): Promise<Rows | null> {
      if (known !== null && (known.number > to.number || (await node.block(known.number))?.hash !== known.hash)) {
        known = null
        rows = new Map()
      }
      const from = known === null ? 0 : known.number + 1
      if (from <= to.number) {
        const topics = compared === 'all' ? [] : [creationTopics]
        const filter = { address: diamond, topics, fromBlock: hex(from), toBlock: hex(to.number) }
        const logs = z.array(Log).parse(await node.send('eth_getLogs', [filter]))
        // Read after the logs: if the chain changed meanwhile, the hash differs.
        if ((await node.block(to.number))?.hash !== to.hash) return null
        for (const log of logs) add(log)
      } else if (known?.hash !== to.hash) return null
      known = to
      return rows
    },
  }
}
