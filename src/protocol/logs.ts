import { type AbiEvent, type Address, type Hex, hexToString, toEventSelector } from 'viem'
import { deployedLogsAbi, protocolAbi } from '../abi/protocol.generated.ts'

/** A log as a node gives it, after its shape was checked. */
export type RawLog = {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly blockNumber: bigint
  readonly blockHash: Hex
  readonly transactionHash: Hex
  readonly logIndex: number
}

type Origin = {
  readonly blockNumber: bigint
  readonly blockHash: Hex
  readonly txHash: Hex
  readonly logIndex: number
}

/** As an origin; of a fact that was read from the chain's state it is the block at which it was first seen, without a log. */
type Seen = Pick<Origin, 'blockNumber' | 'blockHash'> & {
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
        /** Null when no log told it. */
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

/** Something of this entity may have changed: read it again. `chain` is the protocol's own state (fees, pause, roles). */
export type Hint = Origin & { readonly kind: 'hint' } & (
    | { readonly subject: 'event' | 'deposit' | 'position'; readonly id: bigint }
    | { readonly subject: 'chain' }
  )

type Value = bigint | boolean | string
type Decoder = (log: RawLog) => Record<string, Value>
type Row = { readonly decode: Decoder; readonly to: (args: Record<string, Value>, origin: Origin) => Fact | Hint }

const word = (data: Hex, at: number): string => data.slice(2 + at * 64, 66 + at * 64)

const readStatic = (type: string, hex: string): Value => {
  // Without its checksum, which takes a hash and which no one sees: the database keeps bytes.
  if (type === 'address') return `0x${hex.slice(24)}`
  if (type === 'bool') return BigInt(`0x${hex}`) !== 0n
  return BigInt(`0x${hex}`)
}

const readString = (data: Hex, at: number): string => {
  const start = 2 + Number(BigInt(`0x${word(data, at)}`)) * 2
  const length = Number(BigInt(`0x${data.slice(start, start + 64)}`)) * 2
  return hexToString(`0x${data.slice(start + 64, start + 64 + length)}`)
}

/** Compiles one log's decoder: every input is a word of its own, in a topic or in the data, except strings (offset in the data). */
const compile = (event: AbiEvent): Decoder => {
  let topic = 1
  let slot = 0
  const inputs = event.inputs.map((input) => ({
    name: input.name ?? '',
    type: input.type,
    indexed: input.indexed === true,
    at: input.indexed === true ? topic++ : slot++,
  }))
  return (log) => {
    const args: Record<string, Value> = {}
    for (const { name, type, indexed, at } of inputs) {
      if (type === 'string') args[name] = readString(log.data, at)
      else args[name] = readStatic(type, indexed ? (log.topics[at] ?? '0x').slice(2) : word(log.data, at))
    }
    return args
  }
}

const integer = (args: Record<string, Value>, name: string): bigint => {
  const value = args[name]
  if (typeof value !== 'bigint') throw new TypeError(`log argument ${name} is not an integer`)
  return value
}

/** A fact is the log's arguments under their own names, its id apart; the generated ABI is what makes the cast true. */
const fact =
  (kind: Fact['kind'], idName: string) =>
  (args: Record<string, Value>, origin: Origin): Fact => {
    const { [idName]: _, ...rest } = args
    return { kind, id: integer(args, idName), ...rest, ...origin } as Fact
  }

const touches =
  (subject: 'event' | 'deposit' | 'position', idName: string) =>
  (args: Record<string, Value>, origin: Origin): Hint => ({
    kind: 'hint',
    subject,
    id: integer(args, idName),
    ...origin,
  })

const touchesChain = (_: Record<string, Value>, origin: Origin): Hint => ({ kind: 'hint', subject: 'chain', ...origin })

/** Log name -> what it means. The three facts carry the specification's name and the deployed one. */
const meanings: Record<string, Row['to']> = {
  EventCreated: fact('event', 'eventId'),
  HedgeEventCreated: fact('event', 'eventId'),
  DepositCreated: fact('deposit', 'depositId'),
  LiquidityDeposited: fact('deposit', 'depositId'),
  PositionCreated: fact('position', 'positionId'),
  ProtectionPurchased: fact('position', 'positionId'),
  PoolSettingsUpdated: touches('event', 'eventId'),
  EventSettled: touches('event', 'eventId'),
  OracleEventSettled: touches('event', 'eventId'),
  CreatorEarningsWithdrawn: touches('event', 'eventId'),
  ExpiredPayoutsRecovered: touches('event', 'eventId'),
  PayoutClaimed: touches('position', 'positionId'),
  PremiumsClaimed: touches('deposit', 'depositId'),
  CapitalWithdrawn: touches('deposit', 'depositId'),
  FeesInitialized: touchesChain,
  Paused: touchesChain,
  Unpaused: touchesChain,
}

const rows = new Map<Hex, Row>(
  [...protocolAbi, ...deployedLogsAbi].flatMap((item) => {
    if (item.type !== 'event') return []
    const to = meanings[item.name]
    return to === undefined ? [] : [[toEventSelector(item), { decode: compile(item), to }] as const]
  }),
)

/** The first topics the index follows. */
export const logTopics: readonly Hex[] = [...rows.keys()]

/** What a log says, or null when it is none of those the index follows. */
export const decodeLog = (log: RawLog): Fact | Hint | null => {
  const row = rows.get(log.topics[0] ?? '0x')
  if (row === undefined) return null
  const { blockNumber, blockHash, transactionHash: txHash, logIndex } = log
  return row.to(row.decode(log), { blockNumber, blockHash, txHash, logIndex })
}
