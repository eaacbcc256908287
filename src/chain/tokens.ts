import { LRUCache } from 'lru-cache'
import { type Address, getAddress, type Hex, isHex } from 'viem'
import { erc20Abi } from '../abi/erc20.generated.ts'
import { unavailable } from '../lib/errors.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import type { ChainId } from '../protocol/chains.ts'
import { contractFunction } from '../protocol/contract-function.ts'
import { configuredTokens, type Token } from '../protocol/tokens.ts'
import type { Chain } from './chain.ts'
import { isRevert, NodeError } from './rpc/errors.ts'
import { isNodeFault } from './rpc/faults.ts'
import type { Request } from './rpc/requests.ts'

export type Tokens = {
  /** The known metadata of a token; undefined before `ask`. */
  known(chainId: ChainId, address: Address): Token | undefined
  /** Reads a token from the chain, at most once an hour. Throws `service_unavailable` when no node answers. */
  ask(chainId: ChainId, address: Address): Promise<Token>
}

/** The most tokens that are kept. Only the owner of the protocol can allow further tokens, one by one. */
const KEPT = 1_000

/** Tokens can be upgraded, so their metadata is read again after this time, in milliseconds. */
const KEPT_MS = 3_600_000

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

/** The tokens of some chains. Nothing is read before the first `ask`. */
export const createTokens = (chains: ReadonlyMap<ChainId, Chain>): Tokens => {
  const keyOf = (chainId: ChainId, address: Address): string => `${chainId},${address.slice(2).toLowerCase()}`
  const fixed = new Map(
    [...chains.values()].flatMap(({ chainId, deployment }) =>
      configuredTokens(deployment).map((token) => [keyOf(chainId, token.token), token] as const),
    ),
  )
  const asked = new LRUCache<string, Token>({ max: KEPT, ttl: KEPT_MS })
  // Most rows of a page have the same token.
  const once = createSingleFlight<Token>()
  const known: Tokens['known'] = (chainId, address) => {
    const key = keyOf(chainId, address)
    return fixed.get(key) ?? asked.get(key)
  }
  return {
    known,
    async ask(chainId, address) {
      const found = known(chainId, address)
      if (found !== undefined) return found
      const chain = chains.get(chainId)
      if (chain === undefined) throw unavailable(`chain ${chainId} is not configured`)
      return once(keyOf(chainId, address), async () => {
        const { symbol, decimals } = await chain.send({ symbol: symbolOf(address), decimals: decimalsOf(address) })
        const token: Token = {
          token: getAddress(address),
          symbol: symbol.ok && symbol.value.length <= MAX_SYMBOL ? symbol.value : null,
          decimals: decimals.ok ? decimals.value : null,
        }
        // A failure of the node is not kept: the next request may succeed.
        if ([symbol, decimals].every((outcome) => outcome.ok || isOfTheToken(outcome.error)))
          asked.set(keyOf(chainId, address), token)
        return token
      })
    },
  }
}
