import { LRUCache } from 'lru-cache'
import type { Address, Hex } from 'viem'
import type { Deployment } from '../protocol/chains.ts'
import { configuredTokens } from '../protocol/tokens.ts'

/*
 * Foreign code is code that anyone may have deployed: of a contract that is neither configured nor the token of an
 * event. It may use up all gas that it gets and return megabytes. Here alone it is decided which calls run it.
 */

/**
 * The most gas of one call of a foreign contract: an `approve` takes 60,000, one of a token behind proxies up to
 * 150,000, and each such transaction 21,000 more. Memory for an answer of half a megabyte costs more.
 */
export const FOREIGN_GAS = 300_000n

/** The most gas of a call of the protocol in a simulation: more than any of its functions takes. */
export const MAX_GAS = 10_000_000n

type Call = { readonly to: Address; readonly data: Hex }

/** Which contracts of a chain are known. */
export type KnownCode = {
  /** Adds the token of an event. Only the owner of the protocol can allow tokens. */
  learnToken(token: Address): void
  isForeign(address: Address): boolean
  /**
   * Whether a call may run foreign code: of its target, or of an address among the arguments of a call of the protocol.
   * Functions of the owner call such addresses, and anyone may simulate a call of the owner. Of a known token only the
   * functions of ERC-20 run nothing else: others may ask a contract whether a signature is its own (EIP-1271).
   */
  runsForeign(call: Call): boolean
}

/** The most tokens of events that are kept; one that is left out is only called with the limits of foreign code. */
const KEPT = 1_000

/** A word of calldata that may be an address: a smaller number is an amount or an id. */
const ADDRESS = /^0{24}(?!0{16})[\da-f]{40}$/i

/** The addresses among the arguments of a call. Every ABI encoding has them at the start of a word. */
const addressesIn = (data: Hex): Address[] => {
  const words = data.slice(10).match(/.{64}/g) ?? []
  return words.flatMap((word): Address[] => (ADDRESS.test(word) ? [`0x${word.slice(24)}`] : []))
}

/** The selectors of `transfer`, `approve` and `transferFrom`. */
const ERC20: readonly string[] = ['0xa9059cbb', '0x095ea7b3', '0x23b872dd']

/** Creates the known contracts of a deployment: the protocol, its configured tokens, and the tokens that are learnt. */
export const createKnownCode = (deployment: Deployment): KnownCode => {
  const configured = [deployment.diamond, ...configuredTokens(deployment).map(({ token }) => token)]
  const diamond = deployment.diamond.toLowerCase()
  const fixed = new Set(configured.map((address) => address.toLowerCase()))
  const tokens = new LRUCache<string, true>({ max: KEPT })
  const isForeign = (address: Address): boolean => {
    const key = address.toLowerCase()
    return !fixed.has(key) && tokens.get(key) === undefined
  }
  return {
    isForeign,
    learnToken: (token) => void tokens.set(token.toLowerCase(), true),
    runsForeign({ to, data }) {
      if (isForeign(to)) return true
      if (to.toLowerCase() === diamond) return addressesIn(data).some(isForeign)
      return !ERC20.includes(data.slice(0, 10).toLowerCase())
    },
  }
}
