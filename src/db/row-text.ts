import type { Kind } from './progress.ts'

/*
 * Rows as the JSON text they leave in, made by Postgres: taking fifty rows apart column by column and putting them together again is what a
 * page costs a process most. What Postgres cannot say is left blank between unit separators, for the process to fill in: an address's
 * checksum, a token's decimals, text of anybody's choosing (kept as bytes). The separators are control characters, which JSON escapes
 * and which nothing here holds unescaped.
 *
 * A row is `head US json US blank US json …`; rows are apart by record separators.
 */

export const UNIT = '\u001f'
export const RECORD = '\u001e'

/** What may be joined to a row of any kind: of the event itself, or of the one that a deposit or position belongs to. */
export const inclusions = ['stats', 'utilization', 'range'] as const

export type Inclusion = (typeof inclusions)[number]

/** Blanks by their first letter. The rest is what to fill them by, parts apart by commas. */
export const blanks = {
  /** An address in hex. */
  account: 'a',
  /** A chain and a token's address in hex. */
  token: 't',
  /** UTF-8 in hex. */
  text: 's',
  /** A chain, and what an event's capacity follows from: status, pool, expiry, time of observation, strike, cap, initial rate, direction, the view's figure. */
  capacity: 'c',
  /** A whole row that is not observed yet: its event, block and transaction. */
  unobserved: 'u',
} as const

/** A part of a row: text as it is, or an expression of SQL. */
type Part = string | { readonly sql: string }

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** One expression for all parts; neighbouring texts are one argument, since each is looked at for every row. */
const concat = (parts: readonly Part[]): string => {
  const joined: Part[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    if (typeof part === 'string' && typeof last === 'string') joined.splice(-1, 1, last + part)
    else joined.push(part)
  }
  return `concat(${joined.map((part) => (typeof part === 'string' ? quoted(part) : part.sql)).join(', ')})`
}

const sql = (text: string): Part => ({ sql: text })
const hex = (column: string): string => `encode(${column}, 'hex')`
const blank = (kind: string, ...parts: readonly string[]): Part[] => [
  UNIT + kind,
  ...parts.flatMap((part, at) => [...(at > 0 ? [','] : []), sql(part)]),
  UNIT,
]

const integer = (column: string): Part[] => [sql(column)]
const decimal = (column: string): Part[] => ['"', sql(column), '"']
const bool = (column: string): Part[] => [sql(`${column}::text`)]
const account = (column: string): Part[] => ['"', ...blank(blanks.account, hex(column)), '"']
const text = (column: string): Part[] => blank(blanks.text, hex(column))
/** Times are JSON integers: what a caller chose beyond 2^53 - 1 is shown as that. */
const time = (column: string): Part[] => [sql(`least(${column}, ${Number.MAX_SAFE_INTEGER})`)]

type Fields = Readonly<Record<string, readonly Part[]>>

const members = (fields: Fields): Part[] =>
  Object.entries(fields).flatMap(([name, value], at) => [`${at > 0 ? ',' : ''}"${name}":`, ...value])

/** The records of the specification, by the aliases f (the fact), s (its observation) and e (its event's). */
const records: Readonly<Record<Kind, Fields>> = {
  event: {
    id: integer('f.id'),
    creator: account('f.creator'),
    name: text('e.name'),
    underlying: text('f.underlying'),
    strike: decimal('f.strike'),
    payoutCap: decimal('e.payout_cap'),
    premiumRate: decimal('f.premium_rate'),
    initialRate: decimal('e.initial_rate'),
    expiryDate: time('f.expiry_date'),
    strikeAbove: bool('e.strike_above'),
    poolOpen: bool('e.pool_open'),
    allowExternalLp: bool('e.allow_external_lp'),
    paymentToken: account('e.payment_token'),
    status: integer('e.status'),
  },
  deposit: {
    id: integer('f.id'),
    eventId: integer('f.event_id'),
    lp: account('f.lp'),
    amount: decimal('f.amount'),
    shares: decimal('f.shares'),
    premiumsEarned: decimal('s.premiums_claimed + s.pending'),
    premiumsClaimed: decimal('s.premiums_claimed'),
    withdrawn: bool('s.withdrawn'),
  },
  position: {
    id: integer('f.id'),
    eventId: integer('f.event_id'),
    hedger: account('f.hedger'),
    notional: decimal('f.notional'),
    premiumPaid: decimal('f.premium_paid'),
    platformFeePaid: decimal('f.platform_fee'),
    // Deployments show the worst case until settlement; the record says 0 until then.
    payoutAmount: decimal('CASE WHEN s.status = 0 THEN 0 ELSE s.payout_amount END'),
    status: integer('s.status'),
    claimed: bool('s.claimed'),
  },
}

const stats: Fields = {
  settledAt: time('e.settled_at'),
  triggered: bool('e.triggered'),
  settlementPrice: decimal('e.settlement_price'),
  totalLiquidity: decimal('e.total_liquidity'),
  totalExposure: decimal('e.total_exposure'),
  totalMaxPayout: decimal('e.total_max_payout'),
  totalPremiums: decimal('e.total_premiums'),
  creatorEarnings: decimal('e.creator_earnings'),
  lpCount: time('e.lp_count'),
  hedgerCount: time('e.hedger_count'),
}

/** By the alias of the event's fact, which has its strike and its expiry. */
const included = (fact: string): Readonly<Record<Inclusion, Fields>> => ({
  stats,
  utilization: {
    totalLiquidity: decimal('e.total_liquidity'),
    totalExposure: decimal('e.total_exposure'),
    availableCapacity: [
      '"',
      ...blank(
        blanks.capacity,
        ...[
          'f.chain_id',
          'e.status',
          'e.pool_open',
          `${fact}.expiry_date`,
          'e.block_timestamp',
          `${fact}.strike`,
          'e.payout_cap',
          'e.initial_rate',
          'e.strike_above',
          'e.available_capacity',
        ],
      ),
      '"',
    ],
    utilizationRate: decimal('e.utilization_percent'),
  },
  range: {
    strike: decimal(`${fact}.strike`),
    payoutCap: decimal('e.payout_cap'),
    initialRate: decimal('e.initial_rate'),
    strikeAbove: bool('e.strike_above'),
  },
})

const rest: readonly Part[] = [
  ',"chainId":',
  sql('f.chain_id'),
  ',"createdBlock":',
  sql('f.block_number'),
  ',"createdTx":',
  sql(`CASE WHEN f.tx_hash IS NULL THEN 'null' ELSE concat('"0x', encode(f.tx_hash, 'hex'), '"') END`),
  ',',
  ...blank(blanks.token, 'f.chain_id', hex('e.payment_token')),
]

/** The tables of a kind, and the column that names whose it is. */
export const tables = {
  event: { facts: 'events', observations: 'event_observations', owner: 'creator' },
  deposit: { facts: 'deposits', observations: 'deposit_observations', owner: 'lp' },
  position: { facts: 'positions', observations: 'position_observations', owner: 'hedger' },
} as const

/** One row looked up for each: without the limit, a plan made for any number of rows would read the whole table. */
const lookedUp = (table: string, alias: string, id: string): string =>
  `LEFT JOIN LATERAL (SELECT * FROM ${table} WHERE chain_id = f.chain_id AND id = f.${id} LIMIT 1) AS ${alias} ON true`

/** What has to be joined to facts `f` for their rows, and with it for whatever else is asked of s and e. */
export const joinedTo = (kind: Kind, include: readonly Inclusion[] = []): string => {
  if (kind === 'event') return lookedUp(tables.event.observations, 'e', 'id')
  const joins = [lookedUp(tables[kind].observations, 's', 'id'), lookedUp(tables.event.observations, 'e', 'event_id')]
  const isFactAsked = include.includes('utilization') || include.includes('range')
  return [...joins, ...(isFactAsked ? [lookedUp(tables.event.facts, 'ef', 'event_id')] : [])].join(' ')
}

/** A row's text as an expression over f, s and e; `head` are expressions of what goes before it. */
export const rowText = (kind: Kind, head: readonly string[], include: readonly Inclusion[] = []): string => {
  const asked = included(kind === 'event' ? 'f' : 'ef')
  const objects = include.map((name) => concat([`,"${name}":{`, ...members(asked[name]), '}']))
  const whole = concat(['{', ...members(records[kind]), ...rest, ...objects.map(sql), '}'])
  const event = kind === 'event' ? 'f.id' : 'f.event_id'
  const origin = ['f.chain_id', 'f.id', event, 'f.block_number', hex('f.tx_hash')].map((part) => `${part}`)
  const open = concat(blank(blanks.unobserved, ...origin))
  const isObserved = kind === 'event' ? 'e.id IS NOT NULL' : 's.id IS NOT NULL AND e.id IS NOT NULL'
  const before = head.flatMap((part, at) => [...(at > 0 ? [','] : []), sql(part)])
  return concat([...before, UNIT, sql(`CASE WHEN ${isObserved} THEN ${whole} ELSE ${open} END`)])
}

/** The texts of a query's rows as one. */
export const asOneText = (query: string): string => `array_to_string(ARRAY(${query}), '${RECORD}')`
