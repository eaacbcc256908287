import { LRUCache } from 'lru-cache'
import { type Address, decodeFunctionResult, encodeFunctionData, getAddress, type Hex, isHex } from 'viem'
import { erc20Abi } from '../abi/erc20.generated.ts'
import { unavailable } from '../lib/errors.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import type { ChainId } from '../protocol/chains.ts'
import { configuredTokens, type Token } from '../protocol/tokens.ts'
import type { Chain } from './chain.ts'
import { isRevert, NodeError } from './errors.ts'
import { isOfTheNode } from './faults.ts'
import type { Request } from './requests.ts'

export type Tokens = {
  /** What is known of a token; undefined before it was asked for. */
  known(chainId: ChainId, address: Address): Token | undefined
  /** Asks the chain, at most once an hour a token. Throws `service_unavailable` when no node is in reach. */
  ask(chainId: ChainId, address: Address): Promise<Token>
}

/** An owner of the protocol allows tokens one by one; nobody else can make them more. */
const KEPT = 1_000

/** Tokens can be upgraded, so what one said of itself is asked again after so long, in milliseconds. */
const KEPT_MS = 3_600_000

/** A longer symbol is no symbol. */
const MAX_SYMBOL = 32

/** The type of a token's decimals, which the decoder does not hold them to. */
const MAX_DECIMALS = 255

const unreadable = (message: string): NodeError => new NodeError({ code: 3, message: `execution reverted: ${message}` })

/** Reads what a token returns. Bytes that mean nothing are the token's fault and not the node's. */
const answerOf = <T>(raw: unknown, decode: (data: Hex) => T): T => {
  if (typeof raw !== 'string' || !isHex(raw)) throw new TypeError('expected 0x hex')
  if (raw === '0x') throw unreadable('no code or function at the address')
  try {
    return decode(raw)
  } catch {
    throw unreadable('the token returned something else')
  }
}

const symbolOf = (token: Address): Request<string> => ({
  method: 'eth_call',
  params: [{ to: token, data: encodeFunctionData({ abi: erc20Abi, functionName: 'symbol' }) }, 'latest'],
  parse: (raw) => answerOf(raw, (data) => decodeFunctionResult({ abi: erc20Abi, functionName: 'symbol', data })),
})

/** The question how many decimals a token has. */
export const decimalsOf = (token: Address): Request<number> => ({
  method: 'eth_call',
  params: [{ to: token, data: encodeFunctionData({ abi: erc20Abi, functionName: 'decimals' }) }, 'latest'],
  parse(raw) {
    const decimals = answerOf(raw, (data) => decodeFunctionResult({ abi: erc20Abi, functionName: 'decimals', data }))
    if (decimals > MAX_DECIMALS) throw unreadable('the token returned more than 255 decimals')
    return decimals
  },
})

/** How nodes name a call that failed without a revert: the token's code is the same on every node. */
const FAILED = /out of gas|invalid opcode|opcode 0x[\da-f]+ not defined|invalid jump/i

const isOfTheToken = (error: NodeError): boolean =>
  isRevert(error) || (!isOfTheNode(error.fault) && FAILED.test(error.message))

/** Opens the tokens of some chains; nothing is asked yet. Each is asked once an hour at most. */
export const createTokens = (chains: ReadonlyMap<ChainId, Chain>): Tokens => {
  const keyOf = (chainId: ChainId, address: Address): string => `${chainId},${address.slice(2).toLowerCase()}`
  const fixed = new Map(
    [...chains.values()].flatMap(({ chainId, deployment }) =>
      configuredTokens(deployment).map((token) => [keyOf(chainId, token.token), token] as const),
    ),
  )
  const asked = new LRUCache<string, Token>({ max: KEPT, ttl: KEPT_MS })
  // The rows of a page are mostly of one token.
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
        const [symbol, decimals] = await chain.send([symbolOf(address), decimalsOf(address)])
        const token: Token = {
          token: getAddress(address),
          symbol: symbol.ok && symbol.value.length <= MAX_SYMBOL ? symbol.value : null,
          decimals: decimals.ok ? decimals.value : null,
        }
        // What a node could not tell now it may tell another time.
        if ([symbol, decimals].every((said) => said.ok || isOfTheToken(said.error)))
          asked.set(keyOf(chainId, address), token)
        return token
      })
    },
  }
}
