import { type AbiEvent, type Address, decodeEventLog, getAddress, type Hex, parseAbi, toEventSelector } from 'viem'
import { erc20Abi } from '../../abi/erc20.generated.ts'
import type { Deployment } from '../chains.ts'
import { entities, type Kind, perKind } from '../entities.ts'
import { type Scalar, scalarOf } from '../fields/scalars.ts'
import { configuredTokens } from '../tokens.ts'
import { logEvents } from './log-fields.ts'
import type { RawLog } from './packed-log.ts'

/*
 * What a transaction did, by the logs of its receipt. It does not matter who sent the transaction and to which
 * contract: an account, a batch of an account with code and a bundle of user operations lead to the same logs.
 */

/** An event, deposit or position that a transaction created. */
type Created = { readonly id: number; readonly owner: Address }

/** A log of the protocol, or a transfer or approval of a token. */
type NamedLog = {
  readonly address: Address
  readonly name: string
  readonly args: Readonly<Record<string, Scalar>>
}

/** A log of the protocol that the ABI does not have, as an upgrade of the protocol can add. */
type UnknownLog = {
  readonly logIndex: number
  readonly topics: readonly Hex[]
  /** The first `MAX_UNKNOWN_BYTES`. */
  readonly data: Hex
  /** Number of further bytes. */
  readonly dataOmitted: number
}

/** A user operation (ERC-4337) that failed; the transaction that bundled it succeeded. */
type FailedOperation = {
  readonly entryPoint: Address
  readonly hash: Hex
  readonly sender: Address
  readonly nonce: bigint
  /** The bytes with which its call reverted; null without a log of them. */
  readonly revert: Hex | null
}

export type Effects = {
  readonly created: Readonly<Record<Kind, readonly Created[]>>
  /** Whether the transaction may have created more, because it has unknown logs. */
  readonly createdIncomplete: boolean
  /** The first `MAX_LOGS`. */
  readonly logs: readonly NamedLog[]
  readonly logsOmitted: number
  /** The first `MAX_UNKNOWN_LOGS`. */
  readonly unknownLogs: readonly UnknownLog[]
  readonly unknownLogsOmitted: number
  /** The first `MAX_OPERATIONS`. */
  readonly failedOperations: readonly FailedOperation[]
}

/** Most logs, unknown logs and failed user operations of one answer. */
export const MAX_LOGS = 200
export const MAX_UNKNOWN_LOGS = 50
export const MAX_OPERATIONS = 50

/** Most bytes of the data of an unknown log. */
export const MAX_UNKNOWN_BYTES = 1_024

type Logged = Pick<RawLog, 'address' | 'topics' | 'data'>

/** A log's name and arguments by their names; null for a log that the ABI does not have or that is malformed. */
type Decoder = (
  log: Pick<Logged, 'topics' | 'data'>,
) => { readonly name: string; readonly args: Readonly<Record<string, unknown>> } | null

const decoderOf = (abi: readonly { readonly type: string }[]): Decoder => {
  const isEvent = (item: { readonly type: string }): item is AbiEvent => item.type === 'event'
  const bySelector = new Map(abi.filter(isEvent).map((event) => [toEventSelector(event), event]))
  return ({ topics, data }) => {
    const event = bySelector.get(topics[0] ?? '0x')
    if (event === undefined) return null
    try {
      const { args } = decodeEventLog({ abi: [event], topics: topics as [Hex, ...Hex[]], data })
      // A log without inputs has no arguments.
      return { name: event.name, args: (args ?? {}) as Readonly<Record<string, unknown>> }
    } catch {
      return null
    }
  }
}

const ofProtocol = decoderOf(logEvents)
const ofTokens = decoderOf(erc20Abi)
/** Of the EntryPoint contracts, which have had several versions and addresses. */
const ofEntryPoints = decoderOf(
  parseAbi([
    'event UserOperationEvent(bytes32 indexed userOpHash, address indexed sender, address indexed paymaster, uint256 nonce, bool success, uint256 actualGasCost, uint256 actualGasUsed)',
    'event UserOperationRevertReason(bytes32 indexed userOpHash, address indexed sender, uint256 nonce, bytes revertReason)',
  ]),
)

const lower = (text: unknown): string => String(text).toLowerCase()

/** A decoded log as answers show it. */
const shownLog = ({ name, args }: NonNullable<ReturnType<Decoder>>): Omit<NamedLog, 'address'> => {
  const shown = Object.entries(args).map(([key, value]) => {
    const argument = key.replace(/^_/, '')
    return [argument, scalarOf(argument, value)] as const
  })
  return { name, args: Object.fromEntries(shown) }
}

/** The name and the arguments of a log of the protocol, as answers show them; null for a log that the ABI does not have. */
export const protocolLog = (log: Pick<RawLog, 'topics' | 'data'>) => {
  const found = ofProtocol(log)
  return found === null ? null : shownLog(found)
}

const namedLogs = (logs: readonly Logged[], { diamond, ...deployment }: Deployment): NamedLog[] => {
  const protocol = lower(diamond)
  const tokens = configuredTokens(deployment).map(({ token }) => lower(token))
  return logs.flatMap((log): NamedLog[] => {
    const address = lower(log.address)
    const found = address === protocol ? ofProtocol(log) : ofTokens(log)
    if (found === null) return []
    // Anyone can deploy a token. One that is not configured counts when it moves to or from the protocol.
    const parties = Object.values(found.args).map(lower)
    if (address !== protocol && !tokens.includes(address) && !parties.includes(protocol)) return []
    return [{ address: getAddress(log.address), ...shownLog(found) }]
  })
}

const isHex = (value: unknown): value is Hex => typeof value === 'string' && value.startsWith('0x')

const createdBy = (logs: readonly Logged[], diamond: Address): Effects['created'] => {
  const decoded = logs
    .filter(({ address }) => lower(address) === lower(diamond))
    .flatMap((log) => ofProtocol(log) ?? [])
  return perKind((kind) => {
    const { created, owner } = entities[kind]
    const owners = new Map<number, Address>()
    for (const { args } of decoded.filter(({ name }) => created.logs.some((log) => log === name))) {
      const [id, ownerOf] = [args[created.id], args[owner]]
      // No valid chain has a larger id, and no path of this API takes one.
      if (typeof id === 'bigint' && id <= BigInt(Number.MAX_SAFE_INTEGER) && isHex(ownerOf))
        owners.set(Number(id), ownerOf)
    }
    return [...owners].map(([id, ownerOf]) => ({ id, owner: ownerOf }))
  })
}

/** The protocol's logs that the ABI does not have, or has in another form. */
const unknownIn = (logs: readonly RawLog[], diamond: Address): RawLog[] =>
  logs.filter((log) => lower(log.address) === lower(diamond) && ofProtocol(log) === null)

const rawOf = ({ logIndex, topics, data }: RawLog): UnknownLog => {
  const shown: Hex = `0x${data.slice(2, 2 + MAX_UNKNOWN_BYTES * 2)}`
  return { logIndex, topics, data: shown, dataOmitted: (data.length - shown.length) / 2 }
}

const failedOperations = (logs: readonly Logged[]): FailedOperation[] => {
  const decoded = logs.flatMap((log) => {
    const found = ofEntryPoints(log)
    return found === null ? [] : { ...found, address: log.address }
  })
  const reasons = new Map(
    decoded.flatMap(({ name, address, args }) =>
      name === 'UserOperationRevertReason' ? [[address + String(args.userOpHash), args.revertReason]] : [],
    ),
  )
  return decoded.flatMap(({ name, address, args: { userOpHash, sender, nonce, success } }): FailedOperation[] => {
    if (name !== 'UserOperationEvent' || success !== false || !isHex(userOpHash) || !isHex(sender)) return []
    const reason = reasons.get(address + userOpHash)
    return [
      {
        entryPoint: getAddress(address),
        hash: userOpHash,
        sender: getAddress(sender),
        nonce: typeof nonce === 'bigint' ? nonce : 0n,
        revert: isHex(reason) ? reason : null,
      },
    ]
  })
}

/** Decodes the logs of a receipt. Never throws. */
export const effectsOf = (logs: readonly RawLog[], deployment: Deployment): Effects => {
  const named = namedLogs(logs, deployment)
  const unknown = unknownIn(logs, deployment.diamond)
  return {
    created: createdBy(logs, deployment.diamond),
    createdIncomplete: unknown.length > 0,
    logs: named.slice(0, MAX_LOGS),
    logsOmitted: Math.max(0, named.length - MAX_LOGS),
    unknownLogs: unknown.slice(0, MAX_UNKNOWN_LOGS).map(rawOf),
    unknownLogsOmitted: Math.max(0, unknown.length - MAX_UNKNOWN_LOGS),
    failedOperations: failedOperations(logs).slice(0, MAX_OPERATIONS),
  }
}
