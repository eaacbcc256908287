import type { Address } from 'viem'
import type { Kind } from '../protocol/kinds.ts'

export const states = ['open', 'expired', 'settled', 'triggered'] as const

/** The filters of lists, besides whose rows they are. */
type Values = {
  readonly eventId: bigint
  /** Something of it can be claimed now. */
  readonly claimable: boolean
  readonly claimed: boolean
  readonly withdrawn: boolean
  readonly underlying: string
  readonly paymentToken: Address
  readonly strikeAbove: boolean
  readonly poolOpen: boolean
  readonly state: (typeof states)[number]
  /** Expiries from the one to the other, both included; Unix seconds. */
  readonly expiryFrom: bigint
  readonly expiryTo: bigint
}

/** What rows of a list have to be; what is undefined is not asked. */
export type Filters = { readonly [N in keyof Values]?: Values[N] | undefined } & {
  /** Whose rows: an event's creator, a deposit's LP, a position's hedger. */
  readonly owners?: readonly Address[] | undefined
}

/** Takes a value as a parameter and gives its place in the statement. */
export type Bind = (value: string | boolean, type: string) => string

/** An address as a parameter. */
export const bytes = (value: Address): string => `\\x${value.slice(2)}`

/** By the aliases f (the fact), s (its observation), e (its event's) and the bound `walk`. What is not observed yet is as it was made. */
const isSettled = 'coalesce(e.settled_at, 0) > 0'

/** As the partial index over claimable positions has it. */
const isPayable = 'NOT s.claimed AND s.payout_amount > 0 AND s.status <> 0'

/** What can be claimed now: a payout; premiums, or capital once the event is settled; a creator's earnings. */
export const isClaimable: Readonly<Record<Kind, string>> = {
  event: 'coalesce(e.creator_earnings, 0) > 0',
  deposit: `(coalesce(s.pending, 0) > 0 OR (${isSettled} AND NOT coalesce(s.withdrawn, false)))`,
  position: `(${isPayable} AND e.triggered AND e.settled_at > 0)`,
}

/** Something can still come of it. */
export const isActive: Readonly<Record<Kind, string>> = {
  event: `(NOT ${isSettled} OR ${isClaimable.event})`,
  deposit: '(NOT coalesce(s.withdrawn, false) OR coalesce(s.pending, 0) > 0)',
  position: `(NOT coalesce(s.claimed, false) AND (NOT ${isSettled} OR ${isClaimable.position}))`,
}

const inState: Readonly<Record<(typeof states)[number], string>> = {
  open: `NOT ${isSettled} AND f.expiry_date > walk.now`,
  expired: `NOT ${isSettled} AND f.expiry_date <= walk.now`,
  settled: isSettled,
  triggered: `${isSettled} AND e.triggered`,
}

type Condition<V> = (value: V, bind: Bind, kind: Kind) => string

/** Each filter as a condition. Owners are no condition: each has a walk of its own. */
const conditions: { readonly [N in keyof Values]: Condition<Values[N]> } = {
  eventId: (id, bind) => `f.event_id = ${bind(String(id), 'bigint')}`,
  claimable: (wanted, _, kind) => (wanted ? isClaimable[kind] : `${isClaimable[kind]} IS NOT TRUE`),
  claimed: (wanted) => (wanted ? 's.claimed' : 's.claimed IS NOT TRUE'),
  withdrawn: (wanted) => (wanted ? 's.withdrawn' : 's.withdrawn IS NOT TRUE'),
  underlying: (pair, bind) => `f.underlying = ${bind(`\\x${Buffer.from(pair, 'utf8').toString('hex')}`, 'bytea')}`,
  paymentToken: (token, bind) => `e.payment_token = ${bind(bytes(token), 'bytea')}`,
  strikeAbove: (wanted, bind) => `e.strike_above = ${bind(wanted, 'boolean')}`,
  poolOpen: (wanted, bind) => `e.pool_open = ${bind(wanted, 'boolean')}`,
  state: (state) => inState[state],
  expiryFrom: (from, bind) => `f.expiry_date >= ${bind(String(from), 'numeric')}`,
  expiryTo: (to, bind) => `f.expiry_date <= ${bind(String(to), 'numeric')}`,
}

const conditionOf = <N extends keyof Values>(
  name: N,
  value: Values[N] | undefined,
  bind: Bind,
  kind: Kind,
): string[] => (value === undefined ? [] : [conditions[name](value, bind, kind)])

const names = Object.keys(conditions) as (keyof Values)[]

/** The filters as conditions. */
export const conditionsOf = (kind: Kind, filters: Filters, bind: Bind): string[] =>
  names.flatMap((name) => conditionOf(name, filters[name], bind, kind))

/** The filters on what was created. All others are on what was observed: `s`, `e` or both have to be joined for them. */
const onFacts = ['eventId', 'underlying', 'expiryFrom', 'expiryTo']

/** Whether filters need observations: without them rows are left out, or let through, by mistake. */
export const needsObservations = (filters: Filters): boolean =>
  names.some((name) => filters[name] !== undefined && !onFacts.includes(name))

/** Filters that few rows may pass: those are found by an index over their observations, and not by looking at each row in turn. */
const few: Readonly<Record<Kind, (filters: Filters) => boolean>> = {
  event: ({ paymentToken }) => paymentToken !== undefined,
  deposit: ({ withdrawn }) => withdrawn === true,
  position: ({ claimable, claimed }) => claimable === true || claimed === true,
}

/** Whether rows are found by their observations. */
export const isByObservation = (kind: Kind, filters: Filters): boolean => few[kind](filters)

/** Filters whose values are part of the text. */
const worded = ['claimable', 'claimed', 'withdrawn', 'state']

/** What tells the statement of one set of filters from that of another: their names, and values that change the text. */
export const shapeOf = (filters: Filters): string =>
  Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => (worded.includes(name) ? `${name}=${value}` : name))
    .sort()
    .join()
