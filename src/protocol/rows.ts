import { createHash } from 'node:crypto'
import type { Hex } from 'viem'
import type { Deployment } from './chains.ts'
import { type FeeRate, payout } from './claim-fees.ts'
import type { Kind } from './entities.ts'
import { profiles } from './profiles.ts'
import * as record from './records.ts'
import { ROW_FORMAT } from './records.ts'
import { integer } from './response-fields.ts'
import { configuredTokens, type Token } from './tokens.ts'

/*
 * Rows of lists as the JSON text of the answer. A row is a single read's record and the fields that a list adds. The
 * worker stores the text with the observation it was rendered from. The API renders the same bytes when no text is
 * stored.
 */

/** The records of its event that a list can add to a row, in the order in which their texts are stored. */
export const inclusions = ['stats', 'utilization', 'range'] as const

/** The same for rows of deposits, with the event's summary, which is made from its stored row. */
export const depositInclusions = [...inclusions, 'event'] as const

/**
 * The same for rows of positions, with the value, which the pricing engine computes from the event's terms, and the
 * payout, whose text is made from the row. `stale-value` shows the value also where it follows from stale rates.
 */
export const positionInclusions = [...depositInclusions, 'value', 'payout', 'stale-value'] as const

export type Inclusion = (typeof positionInclusions)[number]

/** Whether rows show the values of positions, which change without a change of the index. */
export const showsValues = (include: readonly string[] = []): boolean =>
  include.includes('value') || include.includes('stale-value')

const fieldOf = (name: Inclusion) => (name === 'stale-value' ? 'value' : name)

const byKind: Readonly<Record<Kind, readonly Inclusion[]>> = {
  event: inclusions,
  deposit: depositInclusions,
  position: positionInclusions,
}

/** Those of the inclusions that rows of a kind can show. */
export const shownBy = (kind: Kind, include: readonly Inclusion[]): readonly Inclusion[] =>
  include.filter((name) => byKind[kind].includes(name))

/** The transaction that created an entity; `txHash` is null when the entity was found in the chain's state. */
export type Creation = { readonly chainId: number; readonly blockNumber: bigint; readonly txHash: Hex | null }

/** A row without inclusions: the entity's record, its creation and the token of its amounts. */
export const rowText = (entity: object, { chainId, blockNumber, txHash }: Creation, token: Token): string =>
  JSON.stringify({ ...entity, chainId, createdBlock: integer(blockNumber), createdTx: txHash, ...token })

type EventViews = Parameters<typeof record.utilization>[0] &
  Parameters<typeof record.eventCore>[0] & { readonly stats: Parameters<typeof record.eventStats>[0] }

/** The texts of an event's inclusions, in the order of `inclusions`. */
export const inclusionTexts = (event: EventViews, profile: Deployment['profile']): string[] => {
  const texts: Readonly<Record<(typeof inclusions)[number], object>> = {
    stats: record.eventStats(event.stats),
    utilization: record.utilization(event, profiles[profile]),
    range: record.eventRange(event.range),
  }
  return inclusions.map((name) => JSON.stringify(texts[name]))
}

const textsOf = (core: Parameters<typeof record.eventSummary>[0], settlement: record.Settlement): string[] => {
  const summary = record.eventSummary(core, settlement)
  return [JSON.stringify(summary), JSON.stringify(record.valueTerms(core, summary.state))]
}

/** The texts of an event's summary and of its terms. */
export const summaryTexts = (event: EventViews): string[] =>
  textsOf(record.eventCore(event), { ...event.stats, time: event.time })

/** The same from the event's stored row and its settlement. */
export const storedSummaryTexts = (row: string, settlement: record.Settlement): string[] =>
  textsOf(JSON.parse(row), settlement)

/** The text of a position's payout, from the text of its row. */
export const payoutText = (row: string, feeRate: FeeRate): string => JSON.stringify(payout(JSON.parse(row), feeRate))

/**
 * A row with the given inclusions, each once, in the given order. `textsOf` returns their texts in the order of
 * `positionInclusions` and is called only when there is an inclusion.
 */
export const withInclusions = (
  row: string,
  textsOf: () => readonly string[],
  include: readonly Inclusion[],
): string => {
  if (include.length === 0) return row
  const texts = textsOf()
  return `${row.slice(0, -1)}${[...new Set(include.map(fieldOf))].map((name) => `,"${name}":${texts[positionInclusions.indexOf(name)]}`).join('')}}`
}

/** Bits of a render key below its format. */
const HASH_BITS = 47n

/**
 * Identifies everything, apart from an entity's own columns, on which its text depends: the format, the profile and the
 * configured tokens. A stored text is served only when its key equals the reader's key. Fits PostgreSQL's bigint; keys
 * of a later format are greater.
 */
export const renderKeyOf = (deployment: Deployment, format = ROW_FORMAT): bigint => {
  const inputs = JSON.stringify([deployment.profile, configuredTokens(deployment)])
  const hash = createHash('sha256').update(inputs).digest().readBigUInt64BE()
  return (BigInt(format) << HASH_BITS) | BigInt.asUintN(Number(HASH_BITS), hash)
}

/** The first key of the next format: texts with this key or a greater one were rendered by another release. */
export const nextFormat = (key: bigint): bigint => ((key >> HASH_BITS) + 1n) << HASH_BITS
