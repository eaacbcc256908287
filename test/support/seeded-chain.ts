import { type Abi, decodeFunctionData, encodeFunctionResult, type Hex, zeroAddress } from 'viem'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import type { Chain } from '../../src/chain/chain.ts'
import { parseLogs } from '../../src/chain/rpc/log-shape.ts'
import type { StoredBlock } from '../../src/db/stored.ts'
import { ledgerLog } from '../../src/protocol/abi/ledger-logs.ts'
import type { ChainId } from '../../src/protocol/chains.ts'
import { entities } from '../../src/protocol/entities.ts'
import { type Asked, fakeChain, rawBlock, rawReceipt } from './fake-chain.ts'
import { jsonLog } from './fake-log-chain.ts'
import { Failure } from './script.ts'
import {
  blockOf,
  type SeededDeposit,
  type SeededEvent,
  type SeededPosition,
  seedDeployment,
  walletOf,
} from './seed-index.ts'

/* A chain that has the seeded rows: its views return what the rows were seeded from, at every block. */

type Parameter = { readonly type: string; readonly name?: string; readonly components?: readonly Parameter[] }

/** A value of an ABI type, zero where none is given. */
const outputOf = ({ type, components = [] }: Parameter, given: unknown): unknown => {
  if (type === 'tuple') {
    const fields = Object(given)
    return Object.fromEntries(components.map((it) => [it.name, outputOf(it, fields[it.name ?? ''])]))
  }
  if (given !== undefined) return given
  if (type.endsWith('[]')) return []
  if (type === 'bool') return false
  if (type === 'string') return ''
  if (type === 'address') return zeroAddress
  return type.startsWith('bytes') ? '0x' : /^uint(8|16|32)$/.test(type) ? 0 : 0n
}

export type SeededRows = {
  readonly events: readonly SeededEvent[]
  readonly deposits: readonly SeededDeposit[]
  readonly positions: readonly SeededPosition[]
}

type Calls = Readonly<Record<string, (args: readonly unknown[]) => unknown>>

/** The fees that the chain charges. */
export const seededFees = {
  ...{ eventCreationFee: 1n, hedgerFeeRate: 2n, hedgerPayoutFeeRate: 3n, lpProfitFeeRate: 4n, creatorLoyaltyRate: 5n },
}

const viewsOf = ({ events, deposits, positions }: SeededRows): Calls => {
  const event = (id: unknown) => events.find(({ fact }) => fact.id === id)?.seen
  const deposit = (id: unknown) => deposits.find(({ fact }) => fact.id === id)?.seen
  const position = (id: unknown) => positions.find(({ fact }) => fact.id === id)?.seen
  const idsOf = (rows: readonly { readonly fact: { readonly id: bigint } & object }[], name: string, value: unknown) =>
    rows.filter(({ fact }) => Object(fact)[name] === value).map(({ fact }) => fact.id)
  return {
    getHedgeEventCore: ([id]) => event(id)?.core,
    getHedgeEventStats: ([id]) => event(id)?.stats,
    getHedgeEventRange: ([id]) => event(id)?.range,
    getPoolUtilization: ([id]) => event(id)?.utilization,
    getEventPaymentToken: ([id]) => event(id)?.paymentToken,
    getHedgeLpDeposit: ([id]) => deposit(id)?.deposit,
    pendingPremiums: ([id]) => deposit(id)?.pending,
    getHedgePosition: ([id]) => position(id)?.position,
    getEventDepositIds: ([id]) => idsOf(deposits, 'eventId', id),
    getEventPositionIds: ([id]) => idsOf(positions, 'eventId', id),
    getCreatorEventIds: ([wallet]) => idsOf(events, 'creator', wallet),
    getLpDepositIds: ([wallet]) => idsOf(deposits, 'lp', wallet),
    getHedgerPositionIds: ([wallet]) => idsOf(positions, 'hedger', wallet),
    getTotalHedgeEvents: () => BigInt(events.length),
    getHedgeFeeConfig: () => ({ ...seededFees, feeRecipient: walletOf(1) }),
    isPaused: () => false,
    facets: () => [],
  }
}

/** The rows of the ledger of the logs that created the rows. */
export const seededLedger = (rows: SeededRows, chainId: ChainId) =>
  parseLogs(logsOf(rows, seedDeployment(chainId).diamond))
    .map((log) => ({ ...ledgerLog(log), blockTimestamp: blockOf(log.blockNumber).timestamp }))
    .sort((a, b) => Number(a.blockNumber - b.blockNumber) || a.logIndex - b.logIndex)

/** The logs that created the rows, as a node returns them. */
const logsOf = ({ events, deposits, positions }: SeededRows, diamond: Hex) =>
  [...events, ...deposits, ...positions].map(({ fact }) => {
    const [name] = entities[fact.kind].created.logs
    const args = { ...fact, [entities[fact.kind].created.id]: fact.id }
    const log = jsonLog(diamond, name, args, blockOf(fact.blockNumber), fact.logIndex ?? 0)
    return { ...log, transactionHash: fact.txHash ?? log.transactionHash, number: fact.blockNumber }
  })

/**
 * A chain of the rows. At most `range` blocks of logs are in an answer, and the log of each transaction in `lost` is in
 * none. `views` replace views by their names; one that returns a Failure reverts, and one that throws
 * ends the batch.
 */
export const seededChain = (
  rows: SeededRows,
  {
    chainId = 8453,
    head = blockOf(10n),
    views = {},
    range = 1_000n,
    lost = [],
    logWidth = () => range,
    ...changes
  }: Partial<Omit<Chain, 'head'>> & {
    readonly head?: StoredBlock
    readonly views?: Calls
    readonly range?: bigint
    readonly lost?: readonly unknown[]
  } = {},
) => {
  const all: Calls = { ...viewsOf(rows), ...views }
  const deployment = seedDeployment(chainId)
  const logs = logsOf(rows, deployment.diamond)
  const called: string[] = []
  /** The ranges of blocks whose logs were read. */
  const ranges: (readonly [from: bigint, upTo: bigint])[] = []
  const answer = ({ method, params }: Asked): unknown => {
    const [first] = params
    if (method === 'eth_getBlockByNumber')
      return rawBlock(blockOf(typeof first === 'string' ? BigInt(first) : head.number))
    if (method === 'eth_getBlockByHash') {
      const number = BigInt(String(first)) >> 8n
      return number > 0n && first === blockOf(number).hash ? rawBlock(blockOf(number)) : null
    }
    if (method === 'eth_getTransactionReceipt') {
      const log = logs.find((it) => it.transactionHash === first)
      return log === undefined ? null : rawReceipt(first, Number(log.number), { blockHash: log.blockHash, logs: [log] })
    }
    if (method !== 'eth_call') return new Failure(-32_601, `${method} is not supported`)
    const { functionName, args = [] } = decodeFunctionData({ abi: protocolAbi, data: Object(first).data as Hex })
    called.push(`${functionName}(${args.join()})`)
    const view = all[functionName]
    if (view === undefined) return new Failure(3, `execution reverted: no ${functionName}`)
    const value = view(args)
    if (value instanceof Failure) return value
    const item = protocolAbi.find((it) => it.type === 'function' && it.name === functionName)
    const outputs: readonly Parameter[] = item?.type === 'function' ? item.outputs : []
    const results = outputs.map((output) =>
      outputOf(output, outputs.length === 1 ? value : Object(value)[output.name ?? '']),
    )
    const result = outputs.length === 1 ? results[0] : results
    return encodeFunctionResult({ abi: protocolAbi as Abi, functionName, result })
  }
  const readLogs: Chain['logs'] = async ({ from, upTo }) => {
    ranges.push([from, upTo])
    const last = upTo < from + range ? upTo : from + range - 1n
    const found = logs.filter((it) => it.number >= from && it.number <= last && !lost.includes(it.transactionHash))
    return { endpoint: 0, logs: parseLogs(found), last: blockOf(last), before: null }
  }
  const { chain, batches } = fakeChain(answer, {
    ...{ chainId, head: head.number, deployment, logs: readLogs, logWidth, ...changes },
  })
  return { chain, batches, called, ranges }
}
