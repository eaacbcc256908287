import { Client } from 'pg'
import { decodeEventLog, type Hex, parseAbi, toEventSelector } from 'viem'
import { z } from 'zod'
import { createRpc, hex } from './rpc.ts'

/*
 * The judge of the index: tables against logs, both read here and by nothing of the product, so that a mistake of the product cannot
 * hide in it.
 */

const kinds = {
  event: {
    table: 'events',
    logs: ['EventCreated', 'HedgeEventCreated'],
    inputs:
      'uint256 indexed id, address indexed creator, string underlying, uint256 strike, uint256 premium_rate, uint256 expiry_date, uint256 initial_liquidity',
  },
  deposit: {
    table: 'deposits',
    logs: ['DepositCreated', 'LiquidityDeposited'],
    inputs: 'uint256 indexed event_id, uint256 indexed id, address indexed lp, uint256 amount, uint256 shares',
  },
  position: {
    table: 'positions',
    logs: ['PositionCreated', 'ProtectionPurchased'],
    inputs:
      'uint256 indexed event_id, uint256 indexed id, address indexed hedger, uint256 notional, uint256 premium_paid, uint256 platform_fee, uint256 total_cost',
  },
} as const

type Kind = keyof typeof kinds
const kindNames = ['event', 'deposit', 'position'] as const satisfies readonly Kind[]

const abi = parseAbi(
  kindNames.flatMap((kind) =>
    kinds[kind].logs.map((log) => `event ${log}(${kinds[kind].inputs})`),
  ) as readonly string[],
)
const topics = abi.flatMap((item) => (item.type === 'event' ? [toEventSelector(item)] : []))
const kindOf = (name: string | undefined): Kind | undefined =>
  kindNames.find((kind) => kinds[kind].logs.some((log) => log === name))

/** A row as text, and under which kind and id. */
type Rows = ReadonlyMap<string, string>

const columns = {
  event: ['creator', 'underlying', 'strike', 'premium_rate', 'expiry_date', 'initial_liquidity'],
  deposit: ['event_id', 'lp', 'amount', 'shares'],
  position: ['event_id', 'hedger', 'notional', 'premium_paid', 'platform_fee'],
} as const satisfies Record<Kind, readonly string[]>

const origin = ['block_number', 'block_hash', 'block_timestamp', 'tx_hash', 'log_index']

/** Numbers, texts and bytes of both sides as one text. */
const plain = (value: unknown): string => {
  if (Buffer.isBuffer(value)) return value.toString('hex')
  const text = String(value)
  return text.startsWith('0x') ? text.slice(2).toLowerCase() : text
}

const row = (kind: Kind, value: (column: string) => unknown): string =>
  [...columns[kind], ...origin].map((column) => `${column}=${plain(value(column))}`).join(' ')

const utf8 = (text: unknown): Buffer => Buffer.from(String(text), 'utf8')

const Log = z.object({
  topics: z.array(z.string()),
  data: z.string(),
  blockNumber: z.string().transform(Number),
  blockHash: z.string(),
  blockTimestamp: z.string().transform(Number),
  transactionHash: z.string(),
  logIndex: z.string().transform(Number),
})

const chainRows = async (node: ReturnType<typeof createRpc>, diamond: string, to: number): Promise<Rows> => {
  const filter = { address: diamond, topics: [topics], fromBlock: '0x0', toBlock: hex(to) }
  const logs = z.array(Log).parse(await node.send('eth_getLogs', [filter]))
  const rows = new Map<string, string>()
  for (const log of logs) {
    const { eventName, args } = decodeEventLog({ abi, topics: log.topics as [Hex, ...Hex[]], data: log.data as Hex })
    const kind = kindOf(eventName)
    if (kind === undefined) continue
    const own: Readonly<Record<string, unknown>> = {
      ...Object(args),
      block_number: log.blockNumber,
      block_hash: log.blockHash,
      block_timestamp: log.blockTimestamp,
      tx_hash: log.transactionHash,
      log_index: log.logIndex,
    }
    const name = `${kind} ${plain(own.id)}`
    // Of two logs that tell of one creation the first counts.
    if (rows.has(name)) continue
    rows.set(
      name,
      row(kind, (column) => (column === 'underlying' ? utf8(own.underlying) : own[column])),
    )
  }
  return rows
}

const Cursor = z.object({
  number: z.string().transform(Number),
  hash: z.string(),
  timestamp: z.string().transform(Number),
})
type Cursor = z.output<typeof Cursor>

const databaseRows = async (client: Client, chainId: number): Promise<{ cursor: Cursor | null; rows: Rows }> => {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  try {
    const found = await client.query(
      `SELECT block_number AS number, '0x' || encode(block_hash, 'hex') AS hash, block_timestamp AS timestamp
       FROM cursors WHERE chain_id = $1`,
      [chainId],
    )
    const rows = new Map<string, string>()
    for (const kind of kindNames) {
      const stored = await client.query(`SELECT * FROM ${kinds[kind].table} WHERE chain_id = $1`, [chainId])
      for (const each of stored.rows)
        rows.set(
          `${kind} ${each.id}`,
          row(kind, (column) => each[column]),
        )
    }
    return { cursor: Cursor.nullable().parse(found.rows[0] ?? null), rows }
  } finally {
    await client.query('ROLLBACK')
  }
}

/** What a look found. `forked`: the index stands on a block that the chain does not have, so rows were not compared. */
export type Verdict =
  | { readonly state: 'empty' | 'forked'; readonly cursor: Cursor | null }
  | {
      readonly state: 'compared'
      readonly cursor: Cursor
      readonly rows: number
      readonly missing: readonly string[]
      readonly extra: readonly string[]
      readonly different: readonly string[]
    }

/** True when every row of the chain is in the index as it is on the chain, and no other. */
export const isExact = (verdict: Verdict): boolean =>
  verdict.state === 'compared' && verdict.missing.length + verdict.extra.length + verdict.different.length === 0

/** A verdict in a line. */
export const say = (verdict: Verdict): string => {
  if (verdict.state !== 'compared') return `${verdict.state} at ${verdict.cursor?.number ?? 'no block'}`
  const { cursor, missing, extra, different } = verdict
  const found = [...missing.map((it) => `-${it}`), ...extra.map((it) => `+${it}`), ...different]
  return `at ${cursor.number}: ${missing.length} missing, ${extra.length} extra, ${different.length} different ${found.slice(0, 5).join('; ')}`
}

/**
 * Compares the facts of a database with the chain at the block that the index says to have reached. Opens one connection until
 * `close`; `look` throws when the node or the database does not answer.
 */
export const createOracle = async (options: {
  readonly databaseUrl: string
  readonly rpcUrl: string
  readonly chainId: number
  readonly diamond: string
}) => {
  const client = new Client({ connectionString: options.databaseUrl, application_name: 'oracle' })
  client.on('error', () => {})
  await client.connect()
  const node = createRpc(options.rpcUrl)

  const look = async (): Promise<Verdict> => {
    const { cursor, rows } = await databaseRows(client, options.chainId)
    if (cursor === null) return { state: 'empty', cursor }
    const chain = await chainRows(node, options.diamond, cursor.number)
    // After the logs: had the chain moved before or between, the hash would show it.
    if ((await node.block(cursor.number))?.hash !== cursor.hash) return { state: 'forked', cursor }
    const names = [...chain.keys()]
    return {
      state: 'compared',
      cursor,
      rows: rows.size,
      missing: names.filter((name) => !rows.has(name)),
      extra: [...rows.keys()].filter((name) => !chain.has(name)),
      different: names.filter((name) => rows.has(name) && rows.get(name) !== chain.get(name)),
    }
  }
  return { look, close: () => client.end() }
}

export type Oracle = Awaited<ReturnType<typeof createOracle>>
