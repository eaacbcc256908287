import { LRUCache } from 'lru-cache'
import { type Address, getAddress, type Hex, isHex } from 'viem'
import { erc20Abi } from '../abi/erc20.generated.ts'
import { isUnavailable, unavailable } from '../lib/errors.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import type { ChainId } from '../protocol/chains.ts'
import { contractFunction } from '../protocol/contract-function.ts'
import { configuredTokens, type Token } from '../protocol/tokens.ts'
import type { Chain } from './chain.ts'
import { isRevert, NodeError } from './rpc/errors.ts'
import { isNodeFault } from './rpc/faults.ts'
import type { Request } from './rpc/requests.ts'

/** When a token was read, in milliseconds since the epoch, and what contradicts it. */
export type Reading = {
  readonly readAt: number
  /** The configured token with other decimals, else what the token returned until it changed on the last day. */
  readonly contradicts: { readonly by: 'configuration' | 'reading'; readonly token: Token } | null
}

export type Tokens = {
  /** The last known metadata of a token; undefined before `ask` for one that is not configured. */
  known(chainId: ChainId, address: Address): Token | undefined
  /** When `ask` last read a token; undefined when it has not been read. */
  reading(chainId: ChainId, address: Address): Reading | undefined
  /**
   * Reads a token from the chain, at most once a minute. Returns what is known of it while nodes do not answer, and
   * throws `service_unavailable` when nothing is. The same object stands for the same values.
   */
  ask(chainId: ChainId, address: Address): Promise<Token>
}

/** The most tokens that are kept. Only the owner of the protocol can allow further tokens, one by one. */
const KEPT = 1_000

/** Tokens can be upgraded and renamed, so their metadata is read again after this time, in milliseconds. */
const KEPT_MS = 60_000

/** How long a change is reported, in milliseconds. */
const CHANGE_REPORTED_MS = 86_400_000

/** A longer symbol counts as missing. */
const MAX_SYMBOL = 32

/** The largest `uint8`, which the decoder does not enforce. */
const MAX_DECIMALS = 255

const unreadable = (message: string): NodeError => new NodeError({ code: 3, message: `execution reverted: ${message}` })

/** Decodes a token's answer. Bytes that cannot be decoded are an error of the token and not of the node. */
const answerOf = <T>(raw: unknown, decode: (data: Hex) => T): T => {
  if (typeof raw !== 'string' || !isHex(raw)) throw new TypeError('expected 0x hex')
  if (raw === '0x') throw unreadable('no code or function at the address')
  try {
    return decode(raw)
  } catch {
    throw unreadable('the token returned something else')
  }
}

const symbol = contractFunction(erc20Abi, 'symbol')
const decimals = contractFunction(erc20Abi, 'decimals')

const symbolOf = (token: Address): Request<string> => ({
  method: 'eth_call',
  params: [{ to: token, data: symbol.encode([]) }, 'latest'],
  parse: (raw) => answerOf(raw, symbol.decode),
})

/** Reads the number of decimals of a token. */
export const decimalsOf = (token: Address): Request<number> => ({
  method: 'eth_call',
  params: [{ to: token, data: decimals.encode([]) }, 'latest'],
  parse(raw) {
    const count = answerOf(raw, decimals.decode)
    if (count > MAX_DECIMALS) throw unreadable('the token returned more than 255 decimals')
    return count
  },
})

/**
 * Texts of calls that failed without a revert. The token's code is the same on every node, so another node would fail
 * too.
 */
const FAILED = /out of gas|invalid opcode|opcode 0x[\da-f]+ not defined|invalid jump/i

const isOfTheToken = (error: NodeError): boolean =>
  isRevert(error) || (!isNodeFault(error.fault) && FAILED.test(error.message))

type Known = {
  readonly token: Token
  readonly readAt: number
  /** What it returned before its last change, and when that was noticed. */
  readonly change: { readonly before: Token; readonly at: number } | null
}

/** Whether two tokens have the same symbol and decimals. */
const isSame = (a: Token, b: Token): boolean => a.symbol === b.symbol && a.decimals === b.decimals

/** The tokens of some chains, also the configured ones. Nothing is read before the first `ask`. */
export const createTokens = (chains: ReadonlyMap<ChainId, Chain>, now: () => number = Date.now): Tokens => {
  const keyOf = (chainId: ChainId, address: Address): string => `${chainId},${address.slice(2).toLowerCase()}`
  const fixed = new Map(
    [...chains.values()].flatMap(({ chainId, deployment }) =>
      configuredTokens(deployment).map((token) => [keyOf(chainId, token.token), token] as const),
    ),
  )
  const asked = new LRUCache<string, Known>({ max: KEPT })
  // Most rows of a page have the same token.
  const once = createSingleFlight<Token>()

  /** The token as the chain has it; `isWhole` is false when a node failed to return a part of it. */
  const read = async (
    chain: Chain,
    address: Address,
  ): Promise<{ readonly token: Token; readonly isWhole: boolean }> => {
    const { symbol, decimals } = await chain.send({ symbol: symbolOf(address), decimals: decimalsOf(address) })
    const token: Token = {
      token: getAddress(address),
      symbol: symbol.ok && symbol.value.length <= MAX_SYMBOL ? symbol.value : null,
      decimals: decimals.ok ? decimals.value : null,
    }
    return { token, isWhole: [symbol, decimals].every((outcome) => outcome.ok || isOfTheToken(outcome.error)) }
  }

  const readAgain = async (chain: Chain, address: Address): Promise<Token> => {
    const key = keyOf(chain.chainId, address)
    const [last, configured] = [asked.get(key), fixed.get(key)]
    const instead = last?.token ?? configured
    const found = await read(chain, address).catch((fault: unknown) => {
      if (instead === undefined || !isUnavailable(fault)) throw fault
      return { token: instead, isWhole: false }
    })
    // A failure of the node is not kept: the next request may succeed.
    if (!found.isWhole) return instead ?? found.token
    const { token: of, symbol, decimals } = found.token
    const fresh: Token = {
      token: of,
      symbol: symbol ?? configured?.symbol ?? null,
      decimals: decimals ?? configured?.decimals ?? null,
    }
    const readAt = now()
    const hasChanged = last !== undefined && !isSame(last.token, fresh)
    const token = last === undefined || hasChanged ? fresh : last.token
    const change = hasChanged ? { before: last.token, at: readAt } : (last?.change ?? null)
    asked.set(key, { token, readAt, change })
    return token
  }

  return {
    known: (chainId, address) => {
      const key = keyOf(chainId, address)
      return asked.get(key)?.token ?? fixed.get(key)
    },
    reading: (chainId, address) => {
      const key = keyOf(chainId, address)
      const [last, configured] = [asked.get(key), fixed.get(key)]
      if (last === undefined) return undefined
      const { token, readAt, change } = last
      if (configured !== undefined && configured.decimals !== token.decimals)
        return { readAt, contradicts: { by: 'configuration', token: configured } }
      const isReported = change !== null && now() - change.at < CHANGE_REPORTED_MS
      return { readAt, contradicts: isReported ? { by: 'reading', token: change.before } : null }
    },
    async ask(chainId, address) {
      const key = keyOf(chainId, address)
      const last = asked.get(key)
      if (last !== undefined && now() - last.readAt < KEPT_MS) return last.token
      const chain = chains.get(chainId)
      if (chain === undefined) throw unavailable(`chain ${chainId} is not configured`)
      return once(key, () => readAgain(chain, address))
    },
  }
}
