import { LRUCache } from 'lru-cache'
import { type Address, getAddress, type Hex, isHex, numberToHex } from 'viem'
import { erc20Abi } from '../abi/erc20.generated.ts'
import { invalidField, isUnavailable, unavailable } from '../lib/errors.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import { contractFunction } from '../protocol/abi/contract-function.ts'
import type { ChainId } from '../protocol/chains.ts'
import { configuredTokens, type Token } from '../protocol/tokens.ts'
import type { Chain } from './chain.ts'
import { FOREIGN_GAS } from './foreign-code.ts'
import type { Outcomes } from './rpc/batch.ts'
import { isFailedCall, isRevert, isTooLong, NodeError } from './rpc/errors.ts'
import type { Request } from './rpc/requests.ts'
import type { Outcome } from './rpc/transport.ts'

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
  /**
   * The same for a token that a client named in the field `path`. Throws `validation_error` for one whose symbol or
   * decimals take too much gas or are too long.
   */
  askNamed(chainId: ChainId, address: Address, path: string): Promise<Token>
}

/** The most tokens that are kept. Only the owner of the protocol can allow further tokens, one by one. */
const KEPT = 1_000

/** Tokens can be upgraded and renamed, so their metadata is read again after this time, in milliseconds. */
const KEPT_MS = 60_000

/** How long a change is reported, in milliseconds. */
const CHANGE_REPORTED_MS = 86_400_000

/** The longest answers of a foreign token that are read, in bytes; each byte of a symbol takes two hex digits. */
const MAX_FOREIGN = { symbol: 16_384, decimals: 1_024 }

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

/** A call of a token. An event's token may have been upgraded, so it gets no more gas than a foreign one. */
const callOf = (token: Address, data: Hex) => ({
  method: 'eth_call',
  params: [{ to: token, data, gas: numberToHex(FOREIGN_GAS) }, 'latest'],
})

const symbolOf = (token: Address): Request<string> => ({
  ...callOf(token, symbol.encode([])),
  parse: (raw) => answerOf(raw, symbol.decode),
})

/** Reads the number of decimals of a token. */
export const decimalsOf = (token: Address): Request<number> => ({
  ...callOf(token, decimals.encode([])),
  parse(raw) {
    const count = answerOf(raw, decimals.decode)
    if (count > MAX_DECIMALS) throw unreadable('the token returned more than 255 decimals')
    return count
  },
})

/** Texts of a call that used up its gas. */
const OUT_OF_GAS = /out ?of ?gas|gas required exceeds|oog\b/i

const isOutOfGas = (outcome: Outcome<unknown>): boolean =>
  !outcome.ok && isFailedCall(outcome.error) && !isRevert(outcome.error) && OUT_OF_GAS.test(outcome.error.message)

const metadataOf = (token: Address) => ({ symbol: symbolOf(token), decimals: decimalsOf(token) })

type Metadata = ReturnType<typeof metadataOf>

/** The same with short answers only. */
const boundedMetadataOf = (token: Address): Metadata => ({
  symbol: { ...symbolOf(token), maxBytes: MAX_FOREIGN.symbol },
  decimals: { ...decimalsOf(token), maxBytes: MAX_FOREIGN.decimals },
})

const returnsTooMuch = (token: Address): string =>
  `symbol() or decimals() of ${token} returns more than ${MAX_FOREIGN.symbol / 2_048} KiB: give the address of a token`

const takesTooMuch = (token: Address, name: string): string =>
  `${name}() of ${token} takes more than ${FOREIGN_GAS} gas, as an answer of a megabyte does: give the address of a token`

type Known = {
  readonly token: Token
  readonly readAt: number
  /** What it returned before its last change, and when that was noticed. */
  readonly change: { readonly before: Token; readonly at: number } | null
}

/** Whether two tokens have the same symbol and decimals. */
const isSame = (a: Token, b: Token): boolean => a.symbol === b.symbol && a.decimals === b.decimals

/** The tokens of some chains, also the configured ones, `kept` at most. Nothing is read before the first `ask`. */
export const createTokens = (
  chains: ReadonlyMap<ChainId, Chain>,
  now: () => number = Date.now,
  kept = KEPT,
): Tokens => {
  const keyOf = (chainId: ChainId, address: Address): string => `${chainId},${address.slice(2).toLowerCase()}`
  const fixed = new Map(
    [...chains.values()].flatMap(({ chainId, deployment }) =>
      configuredTokens(deployment).map((token) => [keyOf(chainId, token.token), token] as const),
    ),
  )
  const asked = new LRUCache<string, Known>({ max: kept })
  // Most rows of a page have the same token.
  const once = createSingleFlight<Token>()

  const tokenOf = (address: Address, { symbol, decimals }: Outcomes<Metadata>): Token => ({
    token: getAddress(address),
    symbol: symbol.ok && symbol.value.length <= MAX_SYMBOL ? symbol.value : null,
    decimals: decimals.ok ? decimals.value : null,
  })

  /** Keeps what a token returned; what was known of it stays when a node failed to return a part. */
  const keep = (chainId: ChainId, address: Address, outcomes: Outcomes<Metadata>): Token => {
    const key = keyOf(chainId, address)
    const [last, configured] = [asked.get(key), fixed.get(key)]
    const { token: of, symbol, decimals } = tokenOf(address, outcomes)
    const fresh: Token = {
      token: of,
      symbol: symbol ?? configured?.symbol ?? null,
      decimals: decimals ?? configured?.decimals ?? null,
    }
    // A failure of the node is not kept: the next request may succeed.
    if (!Object.values(outcomes).every((outcome) => outcome.ok || isFailedCall(outcome.error)))
      return last?.token ?? configured ?? fresh
    const readAt = now()
    const hasChanged = last !== undefined && !isSame(last.token, fresh)
    const token = last === undefined || hasChanged ? fresh : last.token
    const change = hasChanged ? { before: last.token, at: readAt } : (last?.change ?? null)
    asked.set(key, { token, readAt, change })
    return token
  }

  /** What is known of a token and younger than a minute. */
  const current = (chainId: ChainId, address: Address): Token | undefined => {
    const last = asked.get(keyOf(chainId, address))
    return last !== undefined && now() - last.readAt < KEPT_MS ? last.token : undefined
  }

  const known: Tokens['known'] = (chainId, address) => {
    const key = keyOf(chainId, address)
    return asked.get(key)?.token ?? fixed.get(key)
  }

  const chainOf = (chainId: ChainId): Chain => {
    const chain = chains.get(chainId)
    if (chain === undefined) throw unavailable(`chain ${chainId} is not configured`)
    return chain
  }

  /** Returns what is known of a token when no node answers. */
  const knownInstead =
    (chainId: ChainId, address: Address) =>
    (fault: unknown): Token => {
      const instead = known(chainId, address)
      if (instead === undefined || !isUnavailable(fault)) throw fault
      return instead
    }

  const ask: Tokens['ask'] = async (chainId, address) => {
    const found = current(chainId, address)
    if (found !== undefined) return found
    const { send, learnToken } = chainOf(chainId)
    learnToken(address)
    const read = async () => keep(chainId, address, await send(metadataOf(address)))
    return once(keyOf(chainId, address), () => read().catch(knownInstead(chainId, address)))
  }

  return {
    known,
    ask,
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
    async askNamed(chainId, address, path) {
      const found = current(chainId, address)
      if (found !== undefined) return found
      const { send, isForeign } = chainOf(chainId)
      if (!isForeign(address)) return ask(chainId, address)
      try {
        // A refusal names the field, so it is not shared.
        const outcomes = await send(boundedMetadataOf(address), { foreign: true })
        for (const [name, outcome] of Object.entries(outcomes))
          if (isOutOfGas(outcome)) throw invalidField(path, takesTooMuch(address, name))
        return keep(chainId, address, outcomes)
      } catch (failure) {
        if (isTooLong(failure)) throw invalidField(path, returnsTooMuch(address))
        return knownInstead(chainId, address)(failure)
      }
    },
  }
}
