import type { Address } from 'viem'
import type { Deployment } from '../../protocol/chains.ts'
import type { Kind } from '../../protocol/entities.ts'
import type { eventStates } from '../../protocol/records.ts'
import { configuredTokens } from '../../protocol/tokens.ts'

type State = (typeof eventStates)[number]

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
 * SQL of a text with the letters A to Z in lower case. `value` is an expression of type bytea. PostgreSQL's `lower`
 * takes text only, which cannot contain every name on the chain (`columns.ts`), so other bytes are escaped.
 */
const folded = (value: string): string => `lower(encode(${value}, 'escape') COLLATE "C")`

/**
 * Characters of a folded pair in its index, whose rows have a limited size. A requested pair is shorter: it has up to 100
 * characters, each of up to three bytes, which take four characters at most.
 */
const INDEXED_PAIR = 1_280

/** A text as a parameter. */
const textBytes = (value: string): string => `\\x${Buffer.from(value, 'utf8').toString('hex')}`

/*
 * Conditions use the aliases f (fact), s (its observation), e (its event's observation), `query` and `wanted` (the
 * tokens with the symbol). Without an observation the entity counts as unchanged since its creation.
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

const inState: Readonly<Record<State, string>> = {
  open: `NOT ${isSettled} AND f.expiry_date > query.now`,
  expired: `NOT ${isSettled} AND f.expiry_date <= query.now`,
  settled: isSettled,
  triggered: `${isSettled} AND e.triggered`,
}

/** The parts of the deployments of a list's chains on which filters depend. */
export type FilterDeployment = Pick<Deployment, 'chainId' | 'profile' | 'usdc' | 'usdt' | 'paymentDecimals'>

/** The width of an event's payout zone, as in `protocol/payoff.ts`. */
const width = 'abs(f.strike - CASE WHEN e.payout_cap = 0 THEN e.initial_rate ELSE e.payout_cap END)'

/** The condition of the partial index over pools that can have capacity. */
const isWriting = 'e.pool_open AND e.status = 0'

/**
 * Whether a pool's capacity is at least `amount`, for the profile whose view returns the liquidity that is free for
 * payouts: `Profile.capacity` without a division.
 */
const hasLiquidityFor = (amount: string): string =>
  `e.block_timestamp < f.expiry_date AND (${width} = 0 OR (e.available_capacity + 1) * e.initial_rate > ${amount} * ${width})`

type Condition = (value: never, bind: Bind, kind: Kind, deployments: readonly FilterDeployment[]) => string

/** Each filter as a condition. Owners are no condition, because the rows of each owner are read separately. */
const conditions = {
  eventId: (id: bigint, bind) => `f.event_id = ${bind(String(id), 'bigint')}`,
  claimable: (wanted: boolean, _, kind) => (wanted ? isClaimable[kind] : `${isClaimable[kind]} IS NOT TRUE`),
  claimed: (wanted: boolean) => (wanted ? 's.claimed' : 's.claimed IS NOT TRUE'),
  withdrawn: (wanted: boolean) => (wanted ? 's.withdrawn' : 's.withdrawn IS NOT TRUE'),
  underlying: (pair: string, bind) =>
    `left(${folded('f.underlying')}, ${INDEXED_PAIR}) = ${folded(bind(textBytes(pair), 'bytea'))}`,
  paymentToken: (token: Address, bind) => `e.payment_token = ${bind(bytes(token), 'bytea')}`,
  // The symbol of the payment token, which is a parameter of `wantedTokens`.
  symbol: (_: string) => 'e.payment_token = wanted.token',
  strikeAbove: (wanted: boolean, bind) => `e.strike_above = ${bind(wanted, 'boolean')}`,
  // The chain keeps the value of a settled event, whose pool takes nothing any more.
  poolOpen: (wanted: boolean, bind) => `(e.pool_open AND NOT ${isSettled}) = ${bind(wanted, 'boolean')}`,
  // The smallest available capacity, as rows show it. Above 0.
  capacityFrom: (from: bigint, bind, _, deployments) => {
    const amount = bind(String(from), 'numeric')
    const deployed = deployments.filter(({ profile }) => profile === 'deployed').map(({ chainId }) => chainId)
    return `${isWriting} AND CASE WHEN f.chain_id = ANY(${bind(`{${deployed.join()}}`, 'integer[]')}) THEN ${hasLiquidityFor(amount)}
      ELSE e.available_capacity >= ${amount} END`
  },
  state: (state: State) => inState[state],
  // Bounds of the expiry, both included, in Unix seconds.
  expiryFrom: (from: bigint, bind) => `f.expiry_date >= ${bind(String(from), 'numeric')}`,
  expiryTo: (to: bigint, bind) => `f.expiry_date <= ${bind(String(to), 'numeric')}`,
} satisfies Readonly<Record<string, Condition>>

type Conditions = typeof conditions

/**
 * SQL of the tokens with a symbol, as rows `wanted`. A configured token has the configured symbol, as rows show it.
 * Tokens that the index could not read are not among them.
 */
export const wantedTokens = (symbol: string, deployments: readonly FilterDeployment[], bind: Bind): string => {
  const configured = deployments.flatMap(({ chainId, ...deployment }) =>
    configuredTokens(deployment).map((it) => ({ chain_id: chainId, token: it.token.slice(2), symbol: it.symbol })),
  )
  return `configured AS (SELECT chain_id, decode(token, 'hex') AS token, lower(symbol COLLATE "C") AS symbol
      FROM json_to_recordset(${bind(JSON.stringify(configured), 'json')}) AS c (chain_id integer, token text, symbol text)
    ), wanted AS (SELECT chain_id AS of_chain, token FROM (
      TABLE configured UNION ALL SELECT chain_id, address, ${folded('symbol')} FROM tokens
        WHERE (chain_id, address) NOT IN (SELECT chain_id, token FROM configured)
    ) AS every_token WHERE symbol = ${folded(bind(textBytes(symbol), 'bytea'))})`
}

const names = Object.keys(conditions) as (keyof Conditions)[]

/** The filters as conditions. */
export const conditionsOf = (
  kind: Kind,
  filters: Filters,
  deployments: readonly FilterDeployment[],
  bind: Bind,
): string[] =>
  names.flatMap((name) => {
    const condition: Condition = conditions[name]
    return filters[name] === undefined ? [] : condition(filters[name] as never, bind, kind, deployments)
  })

/** The filters on facts. All others are on observations and need joins of `s`, `e` or both. */
const onFacts = ['eventId', 'underlying', 'expiryFrom', 'expiryTo']

/** Whether filters need observations. While observations are missing, such filters return wrong rows. */
export const needsObservations = (filters: Filters): boolean =>
  names.some((name) => filters[name] !== undefined && !onFacts.includes(name))

/** Whether the filters may match few rows, which are found by an index over their observations instead of a scan. */
export const isByObservation: Readonly<Record<Kind, (filters: Filters) => boolean>> = {
  event: ({ paymentToken, symbol, capacityFrom }) =>
    [paymentToken, symbol, capacityFrom].some((value) => value !== undefined),
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
