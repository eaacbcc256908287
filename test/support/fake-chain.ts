import { type Hex, numberToHex, pad } from 'viem'
import type { Chain } from '../../src/chain/chain.ts'
import { createUncachedReader } from '../../src/chain/read.ts'
import { type Batch, flatten, type Outcomes, unflatten } from '../../src/chain/rpc/batch.ts'
import { NodeError, NodeUnreachable } from '../../src/chain/rpc/errors.ts'
import type { Block, Request } from '../../src/chain/rpc/requests.ts'
import type { Outcome } from '../../src/chain/rpc/transport.ts'
import { unavailable } from '../../src/lib/errors.ts'
import type { ChainId, Deployment } from '../../src/protocol/chains.ts'
import { factsOf } from './known-chains.ts'
import { Failure } from './script.ts'

/** A call as a node gets it. */
export type Asked = Pick<Request<unknown>, 'method' | 'params'>

/** The hash of a block of the honest chain. */
export const hashAt = (number: number | bigint): Hex => pad(numberToHex(number))

/** A block of the honest chain, with one second between blocks. */
export const blockAt = (number: number | bigint): Block => ({
  number: BigInt(number),
  hash: hashAt(number),
  timestamp: 1_000_000n + BigInt(number),
})

/** The same as a node returns it. */
export const rawBlock = ({ number, hash, timestamp }: Block) => ({
  number: numberToHex(number),
  hash,
  timestamp: numberToHex(timestamp),
})

const diamond = '0x610178dA211FEF7D417bC0e6FeD39F05609AD788'

export const fakeDeployment = (chainId: ChainId): Deployment => ({
  ...{ chainId, ...factsOf(chainId), diamond, usdc: diamond, usdt: null, publicRpcUrl: '', startBlock: 0n },
  profile: 'reference',
})

/**
 * A chain without nodes: `answer` returns the result of each call as a node sends it, or a Failure, or throws what
 * the whole batch ends with. Blocks up to the head are answered unless `answer` does. `batches` are the calls so far.
 */
export const fakeChain = (
  answer: (asked: Asked) => unknown = () => undefined,
  { chainId = 8453, head = 1_000n, ...changes }: Partial<Omit<Chain, 'head'>> & { readonly head?: bigint } = {},
) => {
  const batches: Asked[][] = []
  const node = { head }
  const blockOf = ([tag]: readonly unknown[]) => {
    const number = typeof tag === 'string' && tag.startsWith('0x') ? BigInt(tag) : node.head
    return number <= node.head ? { ...rawBlock(blockAt(number)), transactions: [] } : null
  }
  const outcomeOf = (request: Request<unknown>): Outcome<unknown> => {
    const { method, params } = request
    const said = answer({ method, params })
    const raw = said === undefined && method === 'eth_getBlockByNumber' ? blockOf(params) : said
    if (raw instanceof Failure) return { ok: false, error: new NodeError({ ...raw }) }
    try {
      return { ok: true, value: request.parse(raw ?? null) }
    } catch (error) {
      if (error instanceof NodeError) return { ok: false, error }
      throw error
    }
  }
  const send = async <const B extends Batch>(batch: B): Promise<Outcomes<B>> => {
    const requests = flatten<Request<unknown>>(batch)
    batches.push(requests.map(({ method, params }) => ({ method, params })))
    return unflatten(batch, requests.map(outcomeOf))
  }
  const latest = async (): Promise<Block> => blockAt(node.head)
  const chain: Partial<Chain> = {
    chainId,
    deployment: fakeDeployment(chainId),
    timeoutMs: 1_000,
    send,
    head: latest,
    pinned: async (read) => read(await latest()),
    ...createUncachedReader({ node: { send }, diamond }),
    ask: () => {},
    runReplay: (run) => run(),
    status: () => ({ endpoints: [], halted: false, hasLogs: true }),
    ...changes,
  }
  return {
    // What a test does not replace and the code under test calls all the same is a TypeError.
    chain: chain as Chain,
    /** The head; a test may move it. */
    node,
    batches,
    /** The calls of one method so far. */
    calls: (method: string): Asked[] => batches.flat().filter((asked) => asked.method === method),
  }
}

/** What a batch ends with when an answer is longer than its request allows. */
export const tooLong = (): Error =>
  unavailable('no node answers', new NodeUnreachable('too long', { kind: 'size', usable: null }))

/** The receipt of a transaction, as a node returns it. */
export const rawReceipt = (hash: unknown, block: number, changes: object = {}) => ({
  ...{ transactionHash: hash, blockNumber: numberToHex(block), blockHash: hashAt(block), status: '0x1' },
  ...{ gasUsed: '0x5208', effectiveGasPrice: '0x7', logs: [], ...changes },
})
