import { type Abi, parseAbi, toEventSelector } from 'viem'

/*
 * The three creation logs under both their names, and the tables their rows go to. They are written here independently
 * of the product, so that a mistake of the product cannot hide in them.
 */

export const kinds = {
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

export type Kind = keyof typeof kinds

export const kindNames = ['event', 'deposit', 'position'] as const satisfies readonly Kind[]

export const creationsAbi: Abi = parseAbi(
  kindNames.flatMap((kind) =>
    kinds[kind].logs.map((log) => `event ${log}(${kinds[kind].inputs})`),
  ) as readonly string[],
)

/** The first topic of each log. */
export const creationTopics: readonly string[] = creationsAbi.flatMap((item) =>
  item.type === 'event' ? [toEventSelector(item)] : [],
)

export const kindOf = (log: string | undefined): Kind | undefined =>
  kindNames.find((kind) => kinds[kind].logs.some((name) => name === log))

const columns = {
  event: ['creator', 'underlying', 'strike', 'premium_rate', 'expiry_date'],
  deposit: ['event_id', 'lp', 'amount', 'shares'],
  position: ['event_id', 'hedger', 'notional', 'premium_paid', 'platform_fee'],
} as const satisfies Record<Kind, readonly string[]>

/** The block of the log that made a row; without logs, the block at which it was first seen. */
const block = ['block_number', 'block_hash', 'block_timestamp']

/** Values that only the log has: no view returns them. */
const ofLog = {
  event: ['tx_hash', 'log_index', 'initial_liquidity'],
  deposit: ['tx_hash', 'log_index'],
  position: ['tx_hash', 'log_index'],
} as const satisfies Record<Kind, readonly string[]>

/** Numbers, texts and bytes of both sides as one text. */
export const plain = (value: unknown): string => {
  if (Buffer.isBuffer(value)) return value.toString('hex')
  const text = String(value)
  return text.startsWith('0x') ? text.slice(2).toLowerCase() : text
}

/** A row as text, to compare the database with the chain: its content and its origin. */
export type Row = {
  readonly content: string
  readonly from: string
  readonly block: number
  readonly hash: string
  /** Whether any part of it comes from a log. */
  readonly hasLog: boolean
}

/** Rows by `kind id`. */
export type Rows = ReadonlyMap<string, Row>

/** The logs that a ledger is compared by: all of them, those of creations, or none. */
export type ComparedLogs = 'all' | 'creations' | null

export const isCreation = (topics: string): boolean => creationTopics.some((topic) => topics.startsWith(plain(topic)))

/** A row of the ledger by its columns' values: the log as the chain has it. */
export const logRowOf = (value: (column: string) => unknown): readonly [name: string, row: Row] => {
  const text = (names: readonly string[]): string =>
    names.map((column) => `${column}=${plain(value(column))}`).join(' ')
  return [
    `log ${value('block_number')} ${value('log_index')}`,
    {
      content: text(['topics', 'data']),
      from: text([...block, 'tx_hash', 'log_index']),
      block: Number(value('block_number')),
      hash: plain(value('block_hash')),
      hasLog: true,
    },
  ]
}

/** A row of a kind by its columns' values. */
export const rowOf = (kind: Kind, value: (column: string) => unknown): Row => {
  const text = (names: readonly string[]): string =>
    names.map((column) => `${column}=${plain(value(column))}`).join(' ')
  return {
    content: text(columns[kind]),
    from: text([...block, ...ofLog[kind]]),
    block: Number(value('block_number')),
    hash: plain(value('block_hash')),
    hasLog: ofLog[kind].some((column) => value(column) !== null),
  }
}
