import { pipeline } from 'node:stream/promises'
import { Client } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { Agent, request } from 'undici'
import { runTask } from './backfill-task.ts'

/*
 * A minimal backfill without the service's code: it fetches the logs of some blocks, decodes them at fixed offsets, and
 * copies them in as binary rows of positions and of the ledger, together with the other tables that the index writes. It
 * checks nothing, and it knows the one type of log and its density in advance.
 */

type Log = { topics: string[]; data: string; blockNumber: string; blockHash: string; blockTimestamp: string } & {
  transactionHash: string
  logIndex: string
}
type Header = { number: string; hash: string; timestamp: string }
type Answer = { logs: Log[]; last: Header }

/** Blocks of a request, requests under way at once, and the longest row. */
const BLOCKS = Number(process.env.RAW_BLOCKS ?? 6)
const AHEAD = 3
const MAX_ROW = 1_024
const PREFIX = '5047434f50590aff0d0a00'
/** The code of the type in the ledger. */
const POSITION_CREATED = 5

const rows = Buffer.alloc(4 * 2 ** 20)
let at = 0

const int2 = (value: number): void => {
  at = rows.writeInt32BE(2, at)
  at = rows.writeInt16BE(value, at)
}

const int4 = (value: number): void => {
  at = rows.writeInt32BE(4, at)
  at = rows.writeInt32BE(value, at)
}

/** Numbers of the benchmark's chain are below 2^53. */
const int8 = (value: number): void => {
  at = rows.writeInt32BE(8, at)
  at = rows.writeInt32BE(Math.floor(value / 2 ** 32), at)
  at = rows.writeUInt32BE(value >>> 0, at)
}

const bytes = (hex: string, from: number): void => {
  const length = (hex.length - from) / 2
  at = rows.writeInt32BE(length, at)
  rows.write(hex.slice(from), at, 'hex')
  at += length
}

const numeric = (value: number): void => {
  const digits: number[] = []
  for (let rest = value; rest > 0; rest = Math.floor(rest / 10_000)) digits.unshift(rest % 10_000)
  at = rows.writeInt32BE(8 + digits.length * 2, at)
  at = rows.writeInt16BE(digits.length, at)
  at = rows.writeInt16BE(Math.max(digits.length - 1, 0), at)
  at = rows.writeInt32BE(0, at)
  for (const digit of digits) at = rows.writeInt16BE(digit, at)
}

const word = (hex: string, index: number): number => Number(`0x${hex.slice(2 + index * 64, 66 + index * 64)}`)

/** A log's block and transaction. */
const blockOf = ({ blockNumber, blockHash, blockTimestamp }: Log): void => {
  int8(Number(blockNumber))
  bytes(blockHash, 2)
  int8(Number(blockTimestamp))
}

/** The tables that a log becomes a row of: the columns, their number, and what writes them. */
const tables = [
  {
    name: 'positions',
    columns: `chain_id, id, event_id, hedger, notional, premium_paid, platform_fee, block_number, block_hash,
      block_timestamp, tx_hash, log_index`,
    width: 12,
    write(log: Log): void {
      const [, eventId = '', id = '', hedger = ''] = log.topics
      int4(8453)
      int8(Number(id))
      int8(Number(eventId))
      bytes(hedger, 26)
      for (let index = 0; index < 3; index += 1) numeric(word(log.data, index))
      blockOf(log)
      bytes(log.transactionHash, 2)
      int4(Number(log.logIndex))
    },
  },
  {
    name: 'ledger',
    columns: `chain_id, block_number, block_hash, block_timestamp, log_index, tx_hash, topics, data, type, event_id,
      position_id, wallet, amount, fee`,
    width: 14,
    write(log: Log): void {
      const [, eventId = '', id = '', hedger = ''] = log.topics
      int4(8453)
      blockOf(log)
      int4(Number(log.logIndex))
      bytes(log.transactionHash, 2)
      bytes(log.topics.map((topic) => topic.slice(2)).join(''), 0)
      bytes(log.data, 2)
      int2(POSITION_CREATED)
      int8(Number(eventId))
      int8(Number(id))
      bytes(hedger, 26)
      for (let index = 1; index < 3; index += 1) numeric(word(log.data, index))
    },
  },
] as const

const rowsOf = (logs: readonly Log[], { width, write }: (typeof tables)[number]): Buffer => {
  at = rows.write(`${PREFIX}0000000000000000`, 0, 'hex')
  for (const log of logs) {
    at = rows.writeInt16BE(width, at)
    write(log)
    if (at > rows.length - MAX_ROW) throw new RangeError('more rows than there is room for')
  }
  at = rows.writeInt16BE(-1, at)
  return rows.subarray(0, at)
}

await runTask(async ({ databaseUrl, rpcUrl, diamond, startBlock, head }) => {
  const agent = new Agent({ connections: AHEAD })
  const client = new Client(databaseUrl)
  await client.connect()

  const fetchRange = async (from: number): Promise<Answer> => {
    const upTo = `0x${Math.min(from + BLOCKS - 1, head).toString(16)}`
    const filter = { address: diamond, topics: [], fromBlock: `0x${from.toString(16)}`, toBlock: upTo }
    const calls = [
      { jsonrpc: '2.0', id: 0, method: 'eth_getLogs', params: [filter] },
      { jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: [upTo, false] },
    ]
    const headers = { 'content-type': 'application/json' }
    const { body } = await request(rpcUrl, {
      method: 'POST',
      headers,
      body: JSON.stringify(calls),
      dispatcher: agent,
    })
    const answers = await body.json()
    const [logs, last] = answers as [{ result: Log[] }, { result: Header }]
    return { logs: logs.result, last: last.result }
  }

  const write = async ({ logs, last }: Answer): Promise<void> => {
    await client.query('BEGIN')
    for (const table of tables) {
      const copy = client.query(copyFrom(`COPY ${table.name} (${table.columns}) FROM STDIN (FORMAT binary)`))
      await pipeline([rowsOf(logs, table)], copy)
    }
    const block = [8453, Number(last.number), Buffer.from(last.hash.slice(2), 'hex'), Number(last.timestamp)]
    await client.query('INSERT INTO anchors VALUES ($1, $2, $3, $4)', block)
    await client.query(
      `INSERT INTO cursors VALUES ($1, $2, $3, $4) ON CONFLICT (chain_id)
        DO UPDATE SET block_number = $2, block_hash = $3, block_timestamp = $4`,
      block,
    )
    const first = Number(logs[0]?.topics[2] ?? 0)
    await client.query(
      `INSERT INTO refresh_queue (chain_id, subject, id, many)
        SELECT 8453, 'position', id, least(100, $1 + $2 - id) FROM generate_series($1::bigint, $1 + $2 - 1, 100) AS id`,
      [first, logs.length],
    )
    await client.query('COMMIT')
  }

  return {
    async run() {
      const queue: Promise<Answer>[] = []
      let next = startBlock
      for (let done = 0; done < head; ) {
        for (; queue.length < AHEAD && next <= head; next += BLOCKS) queue.push(fetchRange(next))
        const answer = await queue.shift()
        if (answer === undefined) break
        await write(answer)
        done = Number(answer.last.number)
      }
    },
    close: () => Promise.all([client.end(), agent.close()]),
  }
})
