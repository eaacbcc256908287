import {
  decodeFunctionData,
  encodeAbiParameters,
  encodeEventTopics,
  encodeFunctionResult,
  type Hex,
  numberToHex,
  zeroAddress,
} from 'viem'
import { deployedLogsAbi, protocolAbi } from '../../src/abi/protocol.generated.ts'
import type { Chain } from '../../src/chain/chain.ts'
import { type Batch, flatten, unflatten } from '../../src/chain/rpc/batch.ts'
import { NodeError, toServiceError } from '../../src/chain/rpc/errors.ts'
import { parseLogs } from '../../src/chain/rpc/log-shape.ts'
import { type Block, getBlock, type Request } from '../../src/chain/rpc/requests.ts'
import type { Outcome } from '../../src/chain/rpc/transport.ts'
import type { Call } from '../../src/protocol/abi/outputs.ts'
import { entities, type Kind, kinds } from '../../src/protocol/entities.ts'
import { blockOf, type Plan, seedDeployment, seedDeposit, seedEvent, seedPosition, seedToken } from './seed-index.ts'

/** A chain of which a test uses only some parts. The others throw an Error that names them. */
export const partOfChain = (used: Partial<Chain>): Chain =>
  new Proxy(used as Chain, {
    get(target, name) {
      if (name in target || typeof name === 'symbol' || name === 'then') return Reflect.get(target, name)
      throw new Error(`the fake chain has no ${name}`)
    },
  })

const plan: Plan = { token: seedToken, rowsABlock: 1, wallets: 5, events: 3 }
const logAbi = [...protocolAbi, ...deployedLogsAbi].flatMap((item) => (item.type === 'event' ? [item] : []))

/** Arguments that a log does not give. */
const defaults: Readonly<Record<string, unknown>> = {
  ...{ uint256: 0n, bool: false, string: '', bytes: '0x', address: zeroAddress, 'tuple[]': [] },
}

/** A log as a node returns it. */
type JsonLog = ReturnType<typeof jsonLog>

/** A log of the protocol as a node returns it. Arguments that are not given are zero or empty. */
export const jsonLog = (
  diamond: Hex,
  name: string,
  given: Readonly<Record<string, unknown>>,
  block: Block,
  index: number,
) => {
  const item = logAbi.find((each) => each.name === name)
  if (item === undefined) throw new Error(`the protocol has no log ${name}`)
  const args = Object.fromEntries(item.inputs.map((input) => [input.name, given[input.name] ?? defaults[input.type]]))
  const plain = item.inputs.filter(({ indexed }) => indexed !== true)
  return {
    name,
    address: diamond,
    topics: encodeEventTopics({ abi: [item], eventName: name, args } as never) as Hex[],
    data: encodeAbiParameters(
      plain,
      plain.map((input) => args[input.name]),
    ),
    blockNumber: numberToHex(block.number),
    blockHash: block.hash,
    blockTimestamp: numberToHex(block.timestamp),
    transactionHash: numberToHex((BigInt(block.hash) << 16n) + BigInt(index), { size: 32 }),
    logIndex: numberToHex(index),
  }
}

type Views = Readonly<Record<string, unknown>>
/** What an entity's views return from a block on. */
type Version = { readonly kind: Kind; readonly id: bigint; readonly from: bigint; readonly views: Views }

/** A log of a block that is mined: its name and arguments. */
export type Emitted = readonly [name: string, args: Readonly<Record<string, unknown>>]

/** The name and the first topic of a log that no release knows. */
export const UNKNOWN = 'unknown'
export const UNKNOWN_TOPIC: Hex = `0x${'ab'.repeat(32)}`

const missing = () => new NodeError({ code: -32_000, message: 'header not found' })
const reverted = () => new NodeError({ code: 3, message: 'execution reverted' })

const attempt = (run: () => unknown): Outcome<unknown> => {
  try {
    return { ok: true, value: run() }
  } catch (error) {
    if (error instanceof NodeError) return { ok: false, error }
    throw error
  }
}

/** Outputs of a view under their names, as the list in which they are encoded. */
const encodeOutputs = (name: string, value: unknown): Hex => {
  const item = protocolAbi.find((each) => each.type === 'function' && each.name === name)
  if (item?.type !== 'function') throw new Error(`the protocol has no view ${name}`)
  const outputs: readonly { readonly name: string }[] = item.outputs
  const result = outputs.length === 1 ? value : outputs.map((output) => (value as Views)[output.name])
  return encodeFunctionResult({ abi: [item], functionName: name, result } as never)
}

const seeds = { event: seedEvent, deposit: seedDeposit, position: seedPosition } as const

/**
 * A chain in memory with one endpoint, whose blocks are two seconds apart and whose entities are those of
 * `seed-index.ts`. A test mines blocks, replaces them, and hides logs. Requests are answered in the shapes of a node.
 */
export const createFakeChain = ({ startBlock = 0n } = {}) => {
  const deployment = { ...seedDeployment(8453), startBlock }
  let fork = 0
  let blocks: Block[] = [blockOf(0n)]
  let logs: JsonLog[] = []
  let versions: Version[] = []
  const sent: string[][] = []
  const faults: string[] = []
  const state = {
    /** Whether a log is left out of the answers: of `Chain.logs` (`range`), or of other requests (`probe`). */
    hides: (_log: JsonLog, _by: 'range' | 'probe'): boolean => false,
    /** A log as the node returns it. */
    claims: (log: JsonLog): JsonLog => log,
    /** Blocks at the head that the node does not report as its newest one. */
    lag: 0,
    /** Blocks per request for logs. */
    width: 1_000n,
    hasLogs: true,
    finalized: 0n,
    /** Seconds between blocks. */
    seconds: 2n,
    protocol: { fees: [1n, 2n, 3n, 4n, 5n], paused: false, facets: [] as unknown[] },
  }

  const head = (): Block => blocks.at(-1 - state.lag) ?? blockOf(0n)
  const named = (tag: unknown): Block | null => {
    if (tag === 'latest') return head()
    return blocks[Number(tag === 'finalized' ? state.finalized : tag)] ?? null
  }
  type Span = { from: bigint; upTo: bigint }
  const shown = ({ from, upTo }: Span, by: 'range' | 'probe') =>
    logs
      .filter((log) => BigInt(log.blockNumber) >= from && BigInt(log.blockNumber) <= upTo && !state.hides(log, by))
      .map(state.claims)

  const outputOf = (name: string, id: bigint | undefined, at: bigint): unknown => {
    if (name === 'getHedgeFeeConfig') {
      const [eventCreationFee, hedgerFeeRate, hedgerPayoutFeeRate, lpProfitFeeRate, creatorLoyaltyRate] =
        state.protocol.fees
      return { eventCreationFee, hedgerFeeRate, hedgerPayoutFeeRate, lpProfitFeeRate, creatorLoyaltyRate }
    }
    if (name === 'isPaused') return state.protocol.paused
    if (name === 'getTotalHedgeEvents') return BigInt(versions.filter(({ kind }) => kind === 'event').length)
    if (name === 'facets') return state.protocol.facets
    for (const kind of kinds)
      for (const [key, view] of Object.entries(entities[kind].views))
        if (view === name) {
          const version = versions.findLast((each) => each.kind === kind && each.id === id && each.from <= at)
          if (version !== undefined) return version.views[key]
        }
    throw reverted()
  }
  const view = (data: Hex, blockHash: Hex): Hex => {
    const block = blocks.find(({ hash }) => hash === blockHash)
    if (block === undefined) throw missing()
    const { functionName, args } = decodeFunctionData({ abi: protocolAbi, data })
    return encodeOutputs(functionName, outputOf(functionName, args?.[0] as bigint | undefined, block.number))
  }
  const answer = ({ method, params: [first], ...request }: Request<unknown>): unknown => {
    if (method === 'eth_getLogs') {
      const { fromBlock, toBlock } = first as { fromBlock: Hex; toBlock: Hex | 'latest' }
      const upTo = toBlock === 'latest' ? head().number : BigInt(toBlock)
      return shown({ from: BigInt(fromBlock), upTo }, 'probe')
    }
    if (method === 'eth_chainId') return numberToHex(deployment.chainId)
    if (request.view !== undefined) return view(request.view.data, request.view.blockHash)
    if (method === 'eth_call') return view((first as { readonly data: Hex }).data, head().hash)
    const block = named(first)
    return block && { ...block, number: numberToHex(block.number), timestamp: numberToHex(block.timestamp) }
  }
  const outcomesOf = <B extends Batch>(batch: B) => {
    const requests = flatten<Request<unknown>>(batch)
    sent.push(requests.map(({ method }) => method))
    return unflatten(
      batch,
      requests.map((request) => attempt(() => request.parse(answer(request)))),
    )
  }

  const chain = partOfChain({
    chainId: 8453,
    deployment,
    timeoutMs: 1_000,
    head: async () => head(),
    send: async (batch) => outcomesOf(batch),
    sendBy: async (batch) => ({ endpoint: 0, outcomes: outcomesOf(batch) }),
    async poll(batch) {
      const { latest, ...outcomes } = outcomesOf({ ...(batch as Batch), latest: getBlock('latest') })
      return { endpoint: 0, head: (latest as { readonly value: Block }).value, outcomes: outcomes as never }
    },
    async queryAllEndpoints(batch) {
      const answers = [{ endpoint: 0, outcomes: outcomesOf(batch) }]
      sent.splice(-1, 1, ['all endpoints'])
      return answers
    },
    async readAt(block, asked) {
      const at = blocks.find(({ hash }) => hash === block.hash)
      if (at === undefined) throw toServiceError(missing())
      sent.push([`${asked.length} at ${at.number}`])
      const outcomes = asked.map((each) => {
        if (!('data' in each)) throw new Error('the fake chain has no storage')
        return attempt(() => (each as Call).decode(view(each.data, block.hash)))
      })
      return outcomes as never
    },
    async logs({ from, upTo }) {
      const end = from + state.width - 1n
      const last = named(end < upTo ? end : upTo)
      if (last === null) throw toServiceError(missing())
      sent.push([`logs ${from}..${last.number}`])
      const found = parseLogs(shown({ from, upTo: last.number }, 'range'))
      return { endpoint: 0, logs: found, last, before: named(from === 0n ? 0n : from - 1n) }
    },
    penalize: (endpoint, why) => void faults.push(`${endpoint} penalized: ${why}`),
    dropHead: (block) => void faults.push(`dropped block ${block.number}`),
    reportMissingLogs: (endpoint, why) => void faults.push(`${endpoint} left out: ${why}`),
    logWidth: () => (state.hasLogs ? state.width : null),
    status: () => {
      const endpoint = { index: 0, rank: 'ok', height: head().number, width: state.width } as const
      const rest = { batch: 100, missing: [], penalty: null, fault: null }
      return { endpoints: [{ ...endpoint, ...rest }], halted: false, hasLogs: state.hasLogs }
    },
    isForeign: () => false,
  })

  /** A log by its name, or one that no release knows with `words` as further topics. */
  const emit = (name: string, args: Readonly<Record<string, unknown>>, block: Block, at: number): JsonLog => {
    if (name !== UNKNOWN) return jsonLog(deployment.diamond, name, args, block, at)
    const words = (args.words as readonly bigint[]).map((word) => numberToHex(word, { size: 32 }))
    return { ...jsonLog(deployment.diamond, 'Paused', {}, block, at), topics: [UNKNOWN_TOPIC, ...words], data: '0x' }
  }

  /** Mines a block with these logs. */
  const mine = (...emitted: readonly Emitted[]): Block => {
    const block = { ...blockOf(head().number + 1n, fork), timestamp: head().timestamp + state.seconds }
    blocks.push(block)
    logs.push(...emitted.map(([name, args], at) => emit(name, args, block, at)))
    return block
  }
  /** Sets what an entity's views return from the next block on. */
  const put = (kind: Kind, id: bigint, views: object): void =>
    void versions.push({ kind, id, from: head().number + 1n, views: views as Views })
  /** Creates an entity in the next block, and returns the log that the block must have. */
  const created = (kind: Kind, id: number): Emitted => {
    const { fact, seen } = seeds[kind](id, plan)
    put(kind, BigInt(id), seen)
    return [entities[kind].created.logs[0], { ...fact, [entities[kind].created.id]: fact.id }]
  }

  return {
    chain,
    state,
    head,
    mine,
    put,
    created,
    /** Mines blocks without logs. */
    pass: (count: number): Block => Array.from({ length: count }, () => mine()).at(-1) ?? head(),
    /** Creates entities of a kind in one block, and returns the block. */
    create(kind: Kind, ...ids: readonly number[]): Block {
      return mine(...ids.map((id) => created(kind, id)))
    },
    /** Replaces all blocks above a number by those of a new fork that the test mines. */
    reorg(above: bigint): void {
      fork += 1
      blocks = blocks.slice(0, Number(above) + 1)
      logs = logs.filter(({ blockNumber }) => BigInt(blockNumber) <= above)
      versions = versions.filter(({ from }) => from <= above)
    },
    /** Mines blocks, and moves the last log to the last of them. */
    move(count: number): void {
      const { number, hash } = Array.from({ length: count }, () => mine()).at(-1) ?? head()
      const moved = logs.at(-1)
      if (moved !== undefined)
        logs = [...logs.slice(0, -1), { ...moved, blockNumber: numberToHex(number), blockHash: hash }]
    },
    /** The block of a number. */
    block: (number: bigint): Block => blocks[Number(number)] ?? blockOf(number, fork),
    /** The number of batches since the last call of `sent`. */
    asked: (): number => sent.length,
    /** What was sent since the last call of this function: the methods of each batch. */
    sent: (): string[][] => sent.splice(0),
    /** What was reported against endpoints since the last call of this function. */
    faults: (): string[] => faults.splice(0),
  }
}

export type FakeChain = ReturnType<typeof createFakeChain>
