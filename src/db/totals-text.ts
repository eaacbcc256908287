import { type SQL, sql } from 'drizzle-orm'
import { type LedgerTypeName, ledgerTypes } from '../protocol/ledger.ts'
import { ledger } from './schema/ledger.ts'
import { deposits, events, positions } from './schema/records.ts'

/** Seconds of a day, as SQL. */
export const DAY_SECONDS = sql.raw('86400::bigint')

/** The types of logs that totals are made of. Each has an event. */
const totalTypes = [
  'event.created',
  'event.settled',
  'deposit.created',
  'position.created',
  'premiums.claimed',
  'payout.claimed',
  'capital.withdrawn',
  'earnings.withdrawn',
  'payouts.recovered',
] as const satisfies readonly LedgerTypeName[]

const code = (type: LedgerTypeName): SQL => sql.raw(String(ledgerTypes[type].code))

/**
 * The rows of a chain's ledger (`l`) that totals are made of, above the block `after`, up to `upTo`, with their events
 * (`o`). OFFSET 0 makes PostgreSQL look up the event of each row. It would otherwise read all events of the chain, because
 * it estimates too many rows above a block that it does not know beforehand.
 */
const rowsText = (chainId: SQL, after: SQL, upTo: SQL): SQL => sql`${ledger} AS l
  LEFT JOIN LATERAL (SELECT payment_token FROM ${events} WHERE chain_id = l.chain_id AND id = l.event_id OFFSET 0) AS o ON true
  WHERE l.chain_id = ${chainId} AND l.block_number > ${after} AND l.block_number <= ${upTo}
    AND l.type IN (${sql.join(totalTypes.map(code), sql`, `)})`

/** Whether the token of one of these rows is not known. */
export const lacksToken = (...range: Parameters<typeof rowsText>): SQL =>
  sql`EXISTS (SELECT FROM ${rowsText(...range)} AND o.payment_token IS NULL)`

/**
 * The sums of these rows: day, token, type, number of rows, amounts, fees and notional. The notional of a settlement is that
 * of all positions of its event, and that of a withdrawal the capital that was deposited.
 */
export const totalsText = (...range: Parameters<typeof rowsText>): SQL => sql`
  SELECT l.block_timestamp / ${DAY_SECONDS} AS day, o.payment_token AS token, l.type, count(*) AS rows,
    coalesce(sum(l.amount), 0) AS amount, coalesce(sum(l.fee), 0) AS fee, coalesce(sum(CASE l.type
      WHEN ${code('position.created')} THEN (SELECT notional FROM ${positions} WHERE chain_id = l.chain_id AND id = l.position_id)
      WHEN ${code('capital.withdrawn')} THEN (SELECT amount FROM ${deposits} WHERE chain_id = l.chain_id AND id = l.deposit_id)
      WHEN ${code('event.settled')} THEN (SELECT sum(notional) FROM ${positions} WHERE chain_id = l.chain_id AND event_id = l.event_id)
    END), 0) AS notional
  FROM ${rowsText(...range)} GROUP BY 1, 2, 3`
