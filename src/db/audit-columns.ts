import * as t from './schema.ts'

/*
 * How the audit compares each column that the API can show. A new column of these tables does not compile until it is listed here.
 */

/**
 * - `key` names the row: with another value one row is missing and another one is of nothing.
 * - `view` is what a view of the protocol returns.
 * - `log` is known by the log that created the row alone, and compared with it.
 * - `block` dates the row, and is compared with the chain's block.
 * - `text` was rendered from other columns, and is compared with rendering them again.
 * - `own` is the service's own, and not compared.
 */
export type How = 'key' | 'view' | 'log' | 'block' | 'text' | 'own'

/** The tables whose rows the API can show. */
export const auditedTables = {
  events: t.events,
  deposits: t.deposits,
  positions: t.positions,
  event_observations: t.eventObservations,
  deposit_observations: t.depositObservations,
  position_observations: t.positionObservations,
  chain_observations: t.chainObservations,
  settlements: t.settlements,
} as const

export type AuditedTable = keyof typeof auditedTables

const entity = { chainId: 'key', id: 'key' } as const
const created = {
  blockNumber: 'log',
  blockHash: 'log',
  blockTimestamp: 'log',
  txHash: 'log',
  logIndex: 'log',
} as const
const observed = { blockNumber: 'block', blockHash: 'block', blockTimestamp: 'block' } as const

const rendered = { rowText: 'text', renderKey: 'own', renderFlip: 'own' } as const

type Hows = { readonly [T in AuditedTable]: Readonly<Record<keyof (typeof auditedTables)[T]['$inferSelect'], How>> }

/** Columns by their names in the schema. */
export const auditedColumns: Hows = {
  events: {
    ...entity,
    creator: 'view',
    underlying: 'view',
    strike: 'view',
    premiumRate: 'view',
    expiryDate: 'view',
    initialLiquidity: 'log',
    // What rows show of it is compared as a part of their texts.
    paymentToken: 'own',
    ...created,
  },
  deposits: { ...entity, eventId: 'view', lp: 'view', amount: 'view', shares: 'view', ...created },
  positions: {
    ...entity,
    eventId: 'view',
    hedger: 'view',
    notional: 'view',
    premiumPaid: 'view',
    platformFee: 'view',
    ...created,
  },
  event_observations: {
    ...entity,
    name: 'view',
    payoutCap: 'view',
    initialRate: 'view',
    strikeAbove: 'view',
    paymentToken: 'view',
    status: 'view',
    poolOpen: 'view',
    allowExternalLp: 'view',
    settlementPrice: 'view',
    triggered: 'view',
    settledAt: 'view',
    creatorEarnings: 'view',
    totalLiquidity: 'view',
    totalExposure: 'view',
    totalPremiums: 'view',
    lpCount: 'view',
    hedgerCount: 'view',
    totalMaxPayout: 'view',
    availableCapacity: 'view',
    utilizationPercent: 'view',
    ...observed,
    ...rendered,
    inclusions: 'text',
  },
  deposit_observations: {
    ...entity,
    premiumsEarned: 'view',
    premiumsClaimed: 'view',
    pending: 'view',
    withdrawn: 'view',
    ...observed,
    ...rendered,
  },
  position_observations: { ...entity, payoutAmount: 'view', status: 'view', claimed: 'view', ...observed, ...rendered },
  chain_observations: {
    chainId: 'key',
    creationFee: 'view',
    hedgerFeeRate: 'view',
    payoutFeeRate: 'view',
    lpProfitFeeRate: 'view',
    creatorLoyaltyRate: 'view',
    paused: 'view',
    totalEvents: 'view',
    loupeHash: 'own',
    ...observed,
  },
  // Of each event the newest one counts: older ones are of forks that are no more.
  settlements: {
    seq: 'own',
    type: 'view',
    chainId: 'key',
    eventId: 'key',
    settledAt: 'view',
    triggered: 'view',
    settlementPrice: 'view',
    blockNumber: 'block',
    blockHash: 'block',
  },
}

/** Tables that hold the service's own work, none of which is shown as a record; why no chain can confirm them. */
export const unauditedTables: Readonly<Record<string, string>> = {
  tokens: 'what payment tokens return of themselves, which rows show: asked again every hour',
  unobserved: 'entities that wait to be read again',
  cursors: 'how far the index is: the block that it is compared at',
  anchors: 'blocks at which the index was written',
  rollbacks: 'when the index was taken back',
  upgrades: 'when the functions of the diamond changed',
  changes: 'what was changed lately, for caches',
  change_counter: 'the number of the newest change',
  schema_floors: 'the oldest build that fits the schema',
}

/** The columns of a table that are compared in one of these ways. */
export const columnsOf = (table: AuditedTable, ...hows: readonly How[]): string[] =>
  Object.entries(auditedColumns[table]).flatMap(([column, how]) => (hows.includes(how) ? column : []))
