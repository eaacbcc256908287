import type { Address } from 'viem'
import type { Kind } from '../../protocol/entities.ts'

export const states = ['open', 'expired', 'settled', 'triggered'] as const

/** The filters of a list. An undefined filter does not apply. */
export type Filters = { readonly [N in keyof Conditions]?: Parameters<Conditions[N]>[0] | undefined } & {
  /** The owners: creators of events, LPs of deposits, hedgers of positions. */
  readonly owners?: readonly Address[] | undefined
}

/** Adds a value as a parameter and returns its placeholder. */
export type Bind = (value: string | boolean, type: string) => string

/** An address as a parameter. */
export const bytes = (value: Address): string => `\\x${value.slice(2)}`

/**
 * Conditions use the aliases f (fact), s (its observation), e (its event's observation) and `query`. Without an
 * observation the entity counts as unchanged since its creation.
 */
const isSettled = 'coalesce(e.settled_at, 0) > 0'

/** The condition of the partial index over claimable positions. */
const isPayable = 'NOT s.claimed AND s.payout_amount > 0 AND s.status <> 0'

/** Whether something can be claimed now: a payout; premiums, or capital after the settlement; a creator's earnings. */
export const isClaimable: Readonly<Record<Kind, string>> = {
  event: 'coalesce(e.creator_earnings, 0) > 0',
  deposit: `(coalesce(s.pending, 0) > 0 OR (${isSettled} AND NOT coalesce(s.withdrawn, false)))`,
  position: `(${isPayable} AND e.triggered AND e.settled_at > 0)`,
}

/** Whether an entity is active: something can be claimed now or may be later. */
export const isActive: Readonly<Record<Kind, string>> = {
  event: `(NOT ${isSettled} OR ${isClaimable.event})`,
  deposit: '(NOT coalesce(s.withdrawn, false) OR coalesce(s.pending, 0) > 0)',
  position: `(NOT coalesce(s.claimed, false) AND (NOT ${isSettled} OR ${isClaimable.position}))`,
}

const inState: Readonly<Record<(typeof states)[number], string>> = {
  open: `NOT ${isSettled} AND f.expiry_date > query.now`,
  expired: `NOT ${isSettled} AND f.expiry_date <= query.now`,
  settled: isSettled,
  triggered: `${isSettled} AND e.triggered`,
}

type Condition = (value: never, bind: Bind, kind: Kind) => string

/** Each filter as a condition. Owners are no condition, because the rows of each owner are read separately. */
const conditions = {
  eventId: (id: bigint, bind) => `f.event_id = ${bind(String(id), 'bigint')}`,
  claimable: (wanted: boolean, _, kind) => (wanted ? isClaimable[kind] : `${isClaimable[kind]} IS NOT TRUE`),
  claimed: (wanted: boolean) => (wanted ? 's.claimed' : 's.claimed IS NOT TRUE'),
  withdrawn: (wanted: boolean) => (wanted ? 's.withdrawn' : 's.withdrawn IS NOT TRUE'),
  underlying: (pair: string, bind) => `f.underlying = ${bind(`\\x${Buffer.from(pair).toString('hex')}`, 'bytea')}`,
  paymentToken: (token: Address, bind) => `e.payment_token = ${bind(bytes(token), 'bytea')}`,
  strikeAbove: (wanted: boolean, bind) => `e.strike_above = ${bind(wanted, 'boolean')}`,
  poolOpen: (wanted: boolean, bind) => `e.pool_open = ${bind(wanted, 'boolean')}`,
  state: (state: (typeof states)[number]) => inState[state],
  // Bounds of the expiry, both included, in Unix seconds.
  expiryFrom: (from: bigint, bind) => `f.expiry_date >= ${bind(String(from), 'numeric')}`,
  expiryTo: (to: bigint, bind) => `f.expiry_date <= ${bind(String(to), 'numeric')}`,
} satisfies Readonly<Record<string, Condition>>

type Conditions = typeof conditions

const names = Object.keys(conditions) as (keyof Conditions)[]

/** The filters as conditions. */
export const conditionsOf = (kind: Kind, filters: Filters, bind: Bind): string[] =>
  names.flatMap((name) => {
    const condition: Condition = conditions[name]
    return filters[name] === undefined ? [] : condition(filters[name] as never, bind, kind)
  })

/** The filters on facts. All others are on observations and need joins of `s`, `e` or both. */
const onFacts = ['eventId', 'underlying', 'expiryFrom', 'expiryTo']

/** Whether filters need observations. While observations are missing, such filters return wrong rows. */
export const needsObservations = (filters: Filters): boolean =>
  names.some((name) => filters[name] !== undefined && !onFacts.includes(name))

/** Whether the filters may match few rows, which are found by an index over their observations instead of a scan. */
export const isByObservation: Readonly<Record<Kind, (filters: Filters) => boolean>> = {
  event: ({ paymentToken }) => paymentToken !== undefined,
  deposit: ({ withdrawn }) => withdrawn === true,
  position: ({ claimable, claimed }) => claimable === true || claimed === true,
}

/** Filters whose values are part of the statement's text. */
const inText = ['claimable', 'claimed', 'withdrawn', 'state']

/** Identifies the statement of a set of filters: their names, and the values that change the text. */
export const shapeOf = (filters: Filters): string =>
  Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => (inText.includes(name) ? `${name}=${value}` : name))
    .sort()
    .join()
