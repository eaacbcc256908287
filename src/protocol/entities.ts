import type { Address } from 'viem'
import { type Call, call, type Output } from './abi/outputs.ts'

/** The kinds of entities, events first: the others belong to events. */
export const kinds = ['event', 'deposit', 'position'] as const

export type Kind = (typeof kinds)[number]

/** An entity by its kind and id. */
export type Entity = { readonly kind: Kind; readonly id: bigint }

/*
 * The kinds of entities: what the protocol creates and counts by ids. Everything that differs from kind to kind and is
 * not SQL or the schema of an answer is a field of this table; the other layers derive their own maps from it.
 *
 * - `views`: the views of one entity, by the names that their outputs have in this service.
 * - `identity`: the view that names the owner. For an unknown id it reverts or returns zeros.
 * - `owner`: the field of that view, and the column, that holds the owner's address.
 * - `ownerIds`: the view of the ids that a wallet owns.
 * - `memberIds`: the view of the ids that belong to an event, and the most ids that some deployments return.
 * - `created`: the logs of a creation, by the specification's name and the one that deployments emit. `id` is the input
 *   with the id.
 * - `claims`: what the owner can claim: its kind in a portfolio, the builder of the transaction, the body field with the
 *   id, and the rate of its event by which the protocol takes a fee.
 */
export const entities = {
  event: {
    views: {
      core: 'getHedgeEventCore',
      stats: 'getHedgeEventStats',
      range: 'getHedgeEventRange',
      utilization: 'getPoolUtilization',
      paymentToken: 'getEventPaymentToken',
    },
    identity: 'getHedgeEventCore',
    owner: 'creator',
    ownerIds: 'getCreatorEventIds',
    memberIds: null,
    created: { logs: ['EventCreated', 'HedgeEventCreated'], id: 'eventId' },
    claims: {
      creatorEarnings: {
        kind: 'creator-earnings',
        path: '/v1/tx/hedge/withdraw-creator-earnings',
        id: 'eventId',
        feeRate: null,
      },
    },
  },
  deposit: {
    views: { deposit: 'getHedgeLpDeposit', pending: 'pendingPremiums' },
    identity: 'getHedgeLpDeposit',
    owner: 'lp',
    ownerIds: 'getLpDepositIds',
    memberIds: { view: 'getEventDepositIds', most: 200 },
    created: { logs: ['DepositCreated', 'LiquidityDeposited'], id: 'depositId' },
    claims: {
      premiums: { kind: 'premiums', path: '/v1/tx/hedge/claim-premiums', id: 'depositId', feeRate: 'lpProfitFeeRate' },
      capital: { kind: 'capital', path: '/v1/tx/hedge/withdraw-capital', id: 'depositId', feeRate: null },
    },
  },
  position: {
    views: { position: 'getHedgePosition' },
    identity: 'getHedgePosition',
    owner: 'hedger',
    ownerIds: 'getHedgerPositionIds',
    memberIds: { view: 'getEventPositionIds', most: 500 },
    created: { logs: ['PositionCreated', 'ProtectionPurchased'], id: 'positionId' },
    claims: {
      payout: { kind: 'payout', path: '/v1/tx/hedge/claim-payout', id: 'positionId', feeRate: 'payoutFeeRate' },
    },
  },
} as const satisfies Readonly<Record<Kind, object>>

type Entities = typeof entities

/** A kind whose entities belong to an event. */
export type MemberKind = Exclude<Kind, 'event'>

export const memberKinds = kinds.filter((kind): kind is MemberKind => kind !== 'event')

/** The name of a kind's collections: `events`. */
export type Plural<K extends Kind = Kind> = `${K}s`

/** A value of each kind, derived from its row of the table. */
export const perKind = <V>(derive: (kind: Kind) => V): Readonly<Record<Kind, V>> =>
  Object.fromEntries(kinds.map((kind) => [kind, derive(kind)])) as Record<Kind, V>

/** A view of an entity; its only argument is the id. */
type EntityView = { [K in Kind]: Entities[K]['views'][keyof Entities[K]['views']] }[Kind]

/** The outputs of an entity's views, by their names in the table. */
export type EntityViews<K extends Kind> = {
  readonly [N in keyof Entities[K]['views']]: Output<Extract<Entities[K]['views'][N], EntityView>>
}

/** The calls of an entity's views, by their names in the table. */
type EntityCalls<K extends Kind> = { readonly [N in keyof EntityViews<K>]: (id: bigint) => Call<EntityViews<K>[N]> }

/**
 * Prepares the calls of a kind's views, each of an id.
 *
 * @example entityCalls('deposit').pending(7n) // pendingPremiums(7)
 */
export const entityCalls = <K extends Kind>(kind: K): EntityCalls<K> => {
  const views = Object.entries<EntityView>(entities[kind].views)
  // Each name gets the call of its own view, which the entries of an object cannot show to the compiler.
  return Object.fromEntries(views.map(([name, view]) => [name, (id: bigint) => call(view, [id])])) as EntityCalls<K>
}

/** The output of a view that names an entity's owner. */
export type Identity = Output<Entities[Kind]['identity']>

/** Prepares the call of the view that names an entity's owner. */
export const identityCall = (kind: Kind, id: bigint): Call<Identity> => call(entities[kind].identity, [id])

type Owned = { [K in Kind]: Readonly<Record<Entities[K]['owner'], Address>> }[Kind]

/** The owner of an entity, by its identity or by the log of its creation. */
export const ownerOf = (identity: Owned): Address => {
  if ('creator' in identity) return identity.creator
  return 'lp' in identity ? identity.lp : identity.hedger
}
