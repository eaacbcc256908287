import type { Deployment } from './chains.ts'
import type { Kind } from './entities.ts'
import type { Readable } from './fields/response-fields.ts'
import { profiles } from './profiles.ts'
import * as record from './records.ts'

/* What rows of lists show in addition to the records of single reads. */

/** The records of its event that a list can add to a row. */
export const inclusions = ['stats', 'utilization', 'range'] as const

/** The same for rows of deposits, with the event's summary and the valuation. */
export const depositInclusions = [...inclusions, 'event', 'valuation'] as const

/**
 * The same for rows of positions, with the value, which the pricing engine computes from the event's terms, and the
 * payout. `stale-value` shows the value also where it follows from stale rates.
 */
export const positionInclusions = [...inclusions, 'event', 'value', 'payout', 'stale-value'] as const

export type Inclusion = (typeof positionInclusions | typeof depositInclusions)[number]

/** Whether rows show the values of positions, which change without a change of the index. */
export const showsValues = (include: readonly string[] = []): boolean =>
  include.includes('value') || include.includes('stale-value')

const byKind: Readonly<Record<Kind, readonly Inclusion[]>> = {
  event: inclusions,
  deposit: depositInclusions,
  position: positionInclusions,
}

/** Those of the inclusions that rows of a kind can show. */
export const shownBy = (kind: Kind, include: readonly Inclusion[]): readonly Inclusion[] =>
  include.filter((name) => byKind[kind].includes(name))

/** The views of an event, and the time of the block that they were read at. */
export type EventViews = record.EventTerms &
  Parameters<typeof record.utilization>[0] & { readonly stats: Readable<Parameters<typeof record.eventStats>[0]> }

/** What follows from the row, and not from its event alone. */
type OfRow = 'payout' | 'valuation'

type Made = Exclude<Inclusion, OfRow | 'stale-value'>

const made: Readonly<Record<Made, (event: EventViews, profile: Deployment['profile']) => object>> = {
  stats: ({ stats }) => record.eventStats(stats),
  utilization: (event, profile) => record.utilization(event, profiles[profile]),
  range: ({ range }) => record.eventRange(range),
  event: record.eventSummary,
  // The terms that the value follows from.
  value: (event) => record.valueTerms(record.eventSummary(event)),
}

/** The fields that rows have for inclusions, each once. */
export const fieldsOf = (include: readonly Inclusion[]): readonly (Made | OfRow)[] => [
  ...new Set(include.map((name) => (name === 'stale-value' ? 'value' : name))),
]

/** The names of the optional fields of rows with inclusions. */
export const shownFields = (include: readonly Inclusion[]): readonly string[] => [
  ...fieldsOf(include),
  ...(showsValues(include) ? ['valueReason'] : []),
]

/** The part of these fields that is of the event. */
export const eventFields = (
  event: EventViews,
  profile: Deployment['profile'],
  fields: ReturnType<typeof fieldsOf>,
): Readonly<Partial<Record<Made, object>>> =>
  Object.fromEntries(fields.flatMap((name) => (name in made ? [[name, made[name as Made](event, profile)]] : [])))
