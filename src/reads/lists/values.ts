import type { z } from 'zod'
import { ServiceError } from '../../lib/errors.ts'
import { min, mulDivDown } from '../../lib/fixed.ts'
import type { PricingClient } from '../../pricing/client.ts'
import { MAX_RANGES, type RangeValue, ValueRange } from '../../pricing/messages.ts'
import { decimal } from '../../protocol/fields/response-fields.ts'
import { worstCasePayout } from '../../protocol/payoff.ts'
import { ACTIVE, type Position, type valueTerms } from '../../protocol/records.ts'
import type { PositionRow, Row, valueReasons } from './records.ts'

/** A row whose `value` is still the terms of its event. */
type Unvalued = z.output<typeof Position> & { readonly value: ReturnType<typeof valueTerms> }

type Reason = (typeof valueReasons)[number]

type Shown = Pick<z.output<typeof PositionRow>, 'value' | 'valueReason'>

/** The scale at which the engine's rate is multiplied: more digits than its number has. */
const SCALE = 10n ** 18n

const without = (valueReason: Reason): Shown => ({ value: null, valueReason })

/** Why a position cannot have a value, whatever the engine's rates; null when the engine is to be asked. */
const refusalOf = ({ status, value: { state, range } }: Unvalued): Reason | null => {
  if (state === 'expired') return 'expired'
  if (state !== 'open' || status !== ACTIVE) return 'settled'
  const { error } = ValueRange.safeParse(range)
  if (error === undefined) return null
  return error.issues.some(({ path: [field] }) => field === 'pair') ? 'unsupported_pair' : 'unsupported_terms'
}

type Valued = { readonly asOf: number; readonly value: RangeValue; readonly allowsStale: boolean }

const shown = ({ notional, value: { range } }: Unvalued, { asOf, value, allowsStale }: Valued): Shown => {
  if ('reason' in value) return without(value.reason)
  if (value.stale && !allowsStale) return without('stale_rates')
  const { rate, spotFixed6, ...flags } = value
  const [strike, payoutCap, initialRate] = [BigInt(range.strike), BigInt(range.payoutCap), BigInt(range.initialRate)]
  const most = worstCasePayout({ strike, payoutCap, initialRate, strikeAbove: range.strikeAbove }, BigInt(notional))
  const amount = mulDivDown(BigInt(notional), BigInt(Math.floor(rate * Number(SCALE))), SCALE)
  return { value: { amount: decimal(min(amount, most)), asOf, spot: spotFixed6, ...flags }, valueReason: null }
}

/** Asks for the values of ranges by their keys; null when the engine does not answer. */
const ask = async (pricing: Pick<PricingClient, 'values'>, ranges: ReadonlyMap<string, ValueRange>) => {
  const asked = [...ranges].slice(0, MAX_RANGES)
  if (asked.length === 0) return { asOf: 0, byKey: new Map<string | undefined, RangeValue>() }
  try {
    const { asOf, values } = await pricing.values({ ranges: asked.map(([, range]) => range) })
    if (values.length !== asked.length) return null
    return { asOf, byKey: new Map(values.map((value, at) => [asked[at]?.[0], value])) }
  } catch (fault) {
    if (fault instanceof ServiceError) return null
    throw fault
  }
}

/**
 * Replaces the terms in rows of positions, which the inclusion `value` adds, by the positions' values. The engine is
 * asked once for all events. Rows have no value, and a reason instead, when it does not answer, and when the rates are
 * stale unless `allowsStale`.
 */
export const withValues = async (
  pricing: Pick<PricingClient, 'values'>,
  rows: readonly (Row | null)[],
  allowsStale: boolean,
): Promise<(Row | null)[]> => {
  const unvalued = rows.map((row) => {
    if (row === null) return null
    const position = row as unknown as Unvalued
    return { position, refusal: refusalOf(position), key: JSON.stringify(position.value.range) }
  })
  const open = unvalued.flatMap((row) => (row?.refusal === null ? [[row.key, row.position.value.range] as const] : []))
  const found = await ask(pricing, new Map(open))
  return unvalued.map((row) => {
    if (row === null) return null
    const { position, refusal, key } = row
    const valued = (result: Shown): Row => ({ ...position, ...result }) as unknown as Row
    if (refusal !== null) return valued(without(refusal))
    if (found === null) return valued(without('engine_unavailable'))
    const value = found.byKey.get(key)
    if (value === undefined) return valued(without('too_many_events'))
    return valued(shown(position, { asOf: found.asOf, value, allowsStale }))
  })
}
