import { type AbiEvent, type Address, type Hex, hexToString, toEventSelector } from 'viem'
import { deployedLogsAbi, protocolAbi } from '../../abi/protocol.generated.ts'
import { entities, kinds, type MemberKind } from '../entities.ts'
import { cutText } from '../fields/text.ts'
import { PackedLog, type RawLog } from './packed-log.ts'

type Origin = {
  readonly blockNumber: bigint
  readonly blockHash: Hex
  /** The timestamp in the log; null when the node does not return it. */
  readonly blockTimestamp: bigint | null
  readonly txHash: Hex
  readonly logIndex: number
}

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
 * is the protocol's own state (fees, pause, roles, signer), with the fee rates if the log set them. `code` means that the diamond's functions changed, so every
 * view may return different values.
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

type Log = Omit<RawLog, 'address' | 'blockTimestamp'> & { readonly blockTimestamp?: bigint | null | undefined }
type Value = bigint | boolean | string

/** One input of a log: its name and how it is read. */
type Field = { readonly name: string; readonly read: (log: Log) => Value }

/** Compiles the interpretation of one type of log from its fields. */
type Meaning = (fields: readonly Field[]) => (log: Log) => Fact | Hint

const word = (data: Hex, at: number): string => data.slice(2 + at * 64, 66 + at * 64)

const readStatic = (type: string): ((hex: string) => Value) => {
  // Without a checksum, which would need a hash and is not visible: the database stores bytes.
  if (type === 'address') return (hex) => `0x${hex.slice(24)}`
  if (type === 'bool') return (hex) => BigInt(`0x${hex}`) !== 0n
  return (hex) => BigInt(`0x${hex}`)
}

const readPacked = (type: string, indexed: boolean, at: number): ((log: PackedLog) => Value) => {
  if (type === 'address') return (log) => log.addressIn(indexed, at)
  if (type === 'bool') return (log) => log.uint(indexed, at) !== 0n
  return (log) => log.uint(indexed, at)
}

const readString = (data: Hex, at: number): string => {
  const start = 2 + Number(BigInt(`0x${word(data, at)}`)) * 2
  const length = Number(BigInt(`0x${data.slice(start, start + 64)}`)) * 2
  return cutText(hexToString(`0x${data.slice(start + 64, start + 64 + length)}`))
}

/**
 * Compiles one log's fields: every input is one word, in a topic or in the data, except strings (offset in the data).
 */
const compile = (event: AbiEvent): readonly Field[] => {
  let topic = 1
  let slot = 0
  return event.inputs.map(({ name = '', type, indexed }) => {
    const at = indexed ? topic++ : slot++
    if (type === 'string') return { name, read: ({ data }) => readString(data, at) }
    const read = readStatic(type)
    const readHex = (log: Log) => read(indexed ? (log.topics[at]?.slice(2) ?? '') : word(log.data, at))
    const unpack = readPacked(type, indexed === true, at)
    // A packed log that ends before the field takes the general path, which rejects most such logs.
    return {
      name,
      read: (log) => (log instanceof PackedLog && log.has(indexed === true, at) ? unpack(log) : readHex(log)),
    }
  })
}

const originOf = ({
  blockNumber,
  blockHash,
  blockTimestamp = null,
  transactionHash: txHash,
  logIndex,
}: Log): Origin => ({
  blockNumber,
  blockHash,
  blockTimestamp,
  txHash,
  logIndex,
})

/** Reads one field, which must be an integer. */
const integer = (fields: readonly Field[], name: string): ((log: Log) => bigint) => {
  const field = fields.find((each) => each.name === name)
  return (log) => {
    const value = field?.read(log)
    if (typeof value !== 'bigint') throw new TypeError(`log argument ${name} is not an integer`)
    return value
  }
}

/** A fact has the log's arguments under their own names, and a separate id. The generated ABI guarantees the cast. */
const fact =
  (kind: Fact['kind'], idName: string): Meaning =>
  (fields) => {
    const id = integer(fields, idName)
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
    const id = integer(fields, idName)
    return (log) => ({ kind: 'hint', subject, id: id(log), ...originOf(log) })
  }

const touchesEvent =
  (members: readonly MemberKind[] = [], settles = false): Meaning =>
  (fields) => {
    const id = integer(fields, 'eventId')
    return (log) => ({ kind: 'hint', subject: 'event', id: id(log), members, settles, ...originOf(log) })
  }

const touchesAll =
  (subject: 'chain' | 'code'): Meaning =>
  () =>
  (log) => ({ kind: 'hint', subject, ...originOf(log) })

const setsFeeRates: Meaning = (fields) => {
  const hedgerFeeRate = integer(fields, 'hedgerFeeRate')
  const payoutFeeRate = integer(fields, 'hedgerPayoutFeeRate')
  const lpProfitFeeRate = integer(fields, 'lpProfitFeeRate')
  const creatorLoyaltyRate = integer(fields, 'creatorLoyaltyRate')
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

const events = [...protocolAbi, ...deployedLogsAbi].filter((item) => item.type === 'event')

const knownTopics: ReadonlySet<Hex> = new Set(events.map((event) => toEventSelector(event)))

/** Whether the ABI has a log with this first topic. Logs that the index does not follow are known too. */
export const isKnownTopic = (topic: Hex | undefined): boolean => topic !== undefined && knownTopics.has(topic)

const decoders = new Map<Hex, (log: Log) => Fact | Hint>(
  events.flatMap((event) => {
    const meaning = meanings[event.name]
    return meaning === undefined ? [] : [[toEventSelector(event), meaning(compile(event))] as const]
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
  const topic = log instanceof PackedLog ? log.firstTopic : log.topics[0]
  return decoders.get(topic ?? '0x')?.(log) ?? null
}
