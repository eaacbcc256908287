import { entities } from './entities.ts'

/** How the logs of a type become a row of the ledger. */
type LedgerType = {
  /** The number that rows store. */
  readonly code: number
  /** The names of its logs: the specification's and those that deployments emit. */
  readonly logs: readonly string[]
  /** The input with the wallet that acted. Without one, `isByCreator` is true where it is the creator of the event. */
  readonly wallet?: string
  readonly isByCreator?: true
  /** The input with the amount before the fee, and that with the fee. */
  readonly amount?: string
  readonly fee?: string
  /** Whether the wallet pays the amount and the fee, or receives the amount less the fee. */
  readonly direction?: 'in' | 'out'
}

const created = ({ logs }: { readonly logs: readonly string[] }) => logs

/**
 * What the logs of the protocol mean as activity. A row has the ids that its log has, under the names of `ledgerIds`.
 * Codes are stored: a new type takes a new code, and no code is used again.
 */
export const ledgerTypes = {
  /** A log that this build does not know. */
  unknown: { code: 0, logs: [] },
  'event.created': { code: 1, logs: created(entities.event.created), wallet: 'creator' },
  'pool.updated': { code: 2, logs: ['PoolSettingsUpdated'], isByCreator: true },
  'event.settled': { code: 3, logs: ['EventSettled', 'OracleEventSettled'] },
  'deposit.created': {
    code: 4,
    logs: created(entities.deposit.created),
    wallet: 'lp',
    amount: 'amount',
    direction: 'out',
  },
  'position.created': {
    code: 5,
    logs: created(entities.position.created),
    wallet: 'hedger',
    amount: 'premiumPaid',
    fee: 'platformFee',
    direction: 'out',
  },
  'premiums.claimed': {
    code: 6,
    logs: ['PremiumsClaimed'],
    wallet: 'lp',
    amount: 'grossAmount',
    fee: 'fee',
    direction: 'in',
  },
  'payout.claimed': {
    code: 7,
    logs: ['PayoutClaimed'],
    wallet: 'hedger',
    amount: 'grossPayout',
    fee: 'fee',
    direction: 'in',
  },
  'capital.withdrawn': { code: 8, logs: ['CapitalWithdrawn'], wallet: 'lp', amount: 'amount', direction: 'in' },
  'earnings.withdrawn': {
    code: 9,
    logs: ['CreatorEarningsWithdrawn'],
    wallet: 'creator',
    amount: 'amount',
    direction: 'in',
  },
  'payouts.recovered': { code: 10, logs: ['ExpiredPayoutsRecovered'], amount: 'amount' },
  'rate.submitted': { code: 11, logs: ['RateSubmitted'], wallet: 'oracle' },
  'consensus.reached': { code: 12, logs: ['ConsensusReached'] },
  'submissions.cleared': { code: 13, logs: ['SubmissionsCleared'] },
  'fees.set': { code: 14, logs: ['FeesInitialized'] },
  'fees.withdrawn': {
    code: 15,
    logs: ['PlatformFeesWithdrawn', 'PlatformFeesByTokenWithdrawn'],
    wallet: 'admin',
    amount: 'amount',
    direction: 'in',
  },
  'oracle.added': { code: 16, logs: ['OracleAdded'], wallet: 'oracle' },
  'oracle.removed': { code: 17, logs: ['OracleRemoved'], wallet: 'oracle' },
  'oracle.configured': { code: 18, logs: ['OracleConfigUpdated'] },
  'oracle.activated': { code: 19, logs: ['OracleV2Activated'] },
  'oracle_admin.set': { code: 20, logs: ['OracleAdminSet'], wallet: 'admin' },
  'signer.set': { code: 21, logs: ['PricingEngineSignerSet'] },
  'token.set': { code: 22, logs: ['PaymentTokenSet'] },
  'protocol.paused': { code: 23, logs: ['Paused'], wallet: 'by' },
  'protocol.unpaused': { code: 24, logs: ['Unpaused'], wallet: 'by' },
  'ownership.offered': { code: 25, logs: ['OwnershipTransferStarted'], wallet: 'pendingOwner' },
  'ownership.transferred': { code: 26, logs: ['OwnershipTransferred'], wallet: 'newOwner' },
  'coins.rescued': { code: 27, logs: ['ETHRescued'], wallet: 'to' },
  'tokens.rescued': { code: 28, logs: ['ERC20Rescued'], wallet: 'to', amount: 'amount', direction: 'in' },
  'cut.proposed': { code: 29, logs: ['CutProposed'] },
  'cut.executed': { code: 30, logs: ['CutExecuted'] },
  'cut.cancelled': { code: 31, logs: ['CutCancelled'] },
  'diamond.cut': { code: 32, logs: ['DiamondCut'] },
} as const satisfies Readonly<Record<string, LedgerType>>

export type LedgerTypeName = keyof typeof ledgerTypes

export const ledgerTypeNames = Object.keys(ledgerTypes) as [LedgerTypeName, ...LedgerTypeName[]]

/** The ids that a row can have: the inputs of logs under these names. */
export const ledgerIds = ['eventId', 'depositId', 'positionId'] as const

/** The type of a name, with all of its optional fields. */
export const ledgerType = (name: LedgerTypeName): LedgerType => ledgerTypes[name]

const byCode = new Map<number, LedgerTypeName>(ledgerTypeNames.map((name) => [ledgerTypes[name].code, name]))

/** The name of a stored code. A code of a newer build is `unknown`. */
export const ledgerTypeOf = (code: number): LedgerTypeName => byCode.get(code) ?? 'unknown'

/** What an amount is after its fee, as its wallet pays or receives it. */
export const netOf = (direction: LedgerType['direction'], amount: bigint, fee: bigint): bigint =>
  direction === 'out' ? amount + fee : amount - fee
