import { type Address, type Hex, toEventSelector } from 'viem'
import { entities, kinds, type MemberKind } from '../entities.ts'
import {
  compileFields,
  type Field,
  integerIn,
  type Log,
  logEvents,
  type Origin,
  originOf,
  selectorOf,
} from './log-fields.ts'

/**
 * The origin of a log. A fact that was read from the chain's state has the block at which it was first seen, and no
 * log.
 */
type Seen = Pick<Origin, 'blockNumber' | 'blockHash' | 'blockTimestamp'> & {
  readonly [K in 'txHash' | 'logIndex']: Origin[K] | null
}

/** An event, deposit or position was created. Rates are 1e6, amounts in the event's payment-token units. */
export type Fact = Seen & { readonly id: bigint } & (
    | {
        readonly kind: 'event'
        readonly creator: Address
        readonly underlying: string
        readonly strike: bigint
        readonly premiumRate: bigint
        readonly expiryDate: bigint
        /** Null when the fact was read from the chain's state. */
        readonly initialLiquidity: bigint | null
      }
    | {
        readonly kind: 'deposit'
        readonly eventId: bigint
        readonly lp: Address
        readonly amount: bigint
        readonly shares: bigint
      }
    | {
        readonly kind: 'position'
        readonly eventId: bigint
        readonly hedger: Address
        readonly notional: bigint
        readonly premiumPaid: bigint
        readonly platformFee: bigint
      }
  )

/** The fee rates that an event keeps from its creation, 1e6 each. */
export type FeeRates = {
  readonly hedgerFeeRate: bigint
  readonly payoutFeeRate: bigint
  readonly lpProfitFeeRate: bigint
  readonly creatorLoyaltyRate: bigint
}

/** A log that set the fee rates of events that are created after it. */
export type FeeLog = Origin & FeeRates

/**
 * This entity may have changed: read it again. With `members`, all entities of the event may have changed too. `chain`
 * is the protocol's own state (fees, pause, roles, signer), with the fee rates if the log set them. `code` means that
 * the diamond's functions changed, so every view may return different values.
 */
export type Hint = Origin & { readonly kind: 'hint' } & (
    | {
        readonly subject: 'event'
        readonly id: bigint
        readonly members: readonly MemberKind[]
        /** Whether the log settled the event. */
        readonly settles: boolean
      }
    | { readonly subject: MemberKind; readonly id: bigint }
    | { readonly subject: 'chain' | 'code'; readonly feeRates?: FeeRates }
  )

/** Compiles the interpretation of one type of log from its fields. */
type Meaning = (fields: readonly Field[]) => (log: Log) => Fact | Hint

/** A fact has the log's arguments under their own names, and a separate id. The generated ABI guarantees the cast. */
const fact =
  (kind: Fact['kind'], idName: string): Meaning =>
  (fields) => {
    const id = integerIn(fields, idName)
    const others = fields.filter(({ name }) => name !== idName)
    return (log) => {
      const made: Record<string, unknown> = { kind, id: id(log), ...originOf(log) }
      for (const { name, read } of others) made[name] = read(log)
      return made as Fact
    }
  }

const touches =
  (subject: MemberKind, idName: string): Meaning =>
  (fields) => {
    const id = integerIn(fields, idName)
    return (log) => ({ kind: 'hint', subject, id: id(log), ...originOf(log) })
  }

const touchesEvent =
  (members: readonly MemberKind[] = [], settles = false): Meaning =>
  (fields) => {
    const id = integerIn(fields, 'eventId')
    return (log) => ({ kind: 'hint', subject: 'event', id: id(log), members, settles, ...originOf(log) })
  }

const touchesAll =
  (subject: 'chain' | 'code'): Meaning =>
  () =>
  (log) => ({ kind: 'hint', subject, ...originOf(log) })

const setsFeeRates: Meaning = (fields) => {
  const hedgerFeeRate = integerIn(fields, 'hedgerFeeRate')
  const payoutFeeRate = integerIn(fields, 'hedgerPayoutFeeRate')
  const lpProfitFeeRate = integerIn(fields, 'lpProfitFeeRate')
  const creatorLoyaltyRate = integerIn(fields, 'creatorLoyaltyRate')
  return (log) => ({
    kind: 'hint',
    subject: 'chain',
    feeRates: {
      hedgerFeeRate: hedgerFeeRate(log),
      payoutFeeRate: payoutFeeRate(log),
      lpProfitFeeRate: lpProfitFeeRate(log),
      creatorLoyaltyRate: creatorLoyaltyRate(log),
    },
    ...originOf(log),
  })
}

/** The name of the log that sets the fee rates. */
const FEES = 'FeesInitialized'

/** Log name -> what it means. The three facts carry the specification's name and the deployed one. */
const meanings: Readonly<Record<string, Meaning>> = {
  ...Object.fromEntries(
    kinds.flatMap((kind) => {
      const { logs, id } = entities[kind].created
      return logs.map((name) => [name, fact(kind, id)])
    }),
  ),
  PoolSettingsUpdated: touchesEvent(),
  EventSettled: touchesEvent(['deposit', 'position'], true),
  OracleEventSettled: touchesEvent(['deposit', 'position'], true),
  ConsensusReached: touchesEvent(['deposit', 'position']),
  CreatorEarningsWithdrawn: touchesEvent(),
  ExpiredPayoutsRecovered: touchesEvent(['deposit', 'position']),
  PayoutClaimed: touches('position', 'positionId'),
  PremiumsClaimed: touches('deposit', 'depositId'),
  CapitalWithdrawn: touches('deposit', 'depositId'),
  [FEES]: setsFeeRates,
  Paused: touchesAll('chain'),
  Unpaused: touchesAll('chain'),
  PricingEngineSignerSet: touchesAll('chain'),
  PaymentTokenSet: touchesAll('chain'),
  DiamondCut: touchesAll('code'),
}

const knownTopics: ReadonlySet<Hex> = new Set(logEvents.map((event) => toEventSelector(event)))

/** Whether the ABI has a log with this first topic. Logs that the index does not follow are known too. */
export const isKnownTopic = (topic: Hex | undefined): boolean => topic !== undefined && knownTopics.has(topic)

const decoders = new Map<Hex, (log: Log) => Fact | Hint>(
  logEvents.flatMap((event) => {
    const meaning = meanings[event.name]
    return meaning === undefined ? [] : [[toEventSelector(event), meaning(compileFields(event))] as const]
  }),
)

/** The first topics the index follows. @internal */
export const logTopics: readonly Hex[] = [...decoders.keys()]

/** The logs that set fee rates, among hints. */
export const feeLogsIn = (hints: readonly Hint[]): FeeLog[] =>
  hints.flatMap((hint) => {
    if (!('feeRates' in hint)) return []
    const { blockNumber, blockHash, blockTimestamp, txHash, logIndex } = hint
    return { blockNumber, blockHash, blockTimestamp, txHash, logIndex, ...hint.feeRates }
  })

/** The decoded log; null for a log that the index does not follow. */
export const decodeLog = (log: Log): Fact | Hint | null => {
  return decoders.get(selectorOf(log) ?? '0x')?.(log) ?? null
}
