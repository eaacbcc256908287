import { LRUCache } from 'lru-cache'
import { type Address, encodeAbiParameters, type Hex, keccak256, numberToHex } from 'viem'
import { isUnavailable } from '../lib/errors.ts'
import { balancesCall } from './balances.ts'
import type { KnownCode } from './foreign-code.ts'
import type { Node } from './pool/failover.ts'
import type { Request } from './rpc/requests.ts'
import type { StorageOverrides } from './rpc/simulation.ts'
import type { Outcome } from './rpc/transport.ts'

/*
 * Where tokens store balances. The ERC-20 standard does not say, so all likely places are overridden in one call, each
 * with another amount, and `balanceOf` shows which one the token reads.
 */

/** The place of an account's balance. */
type Place = (account: Address) => Hex

const word = { type: 'uint256' } as const
const account = { type: 'address' } as const

/** A mapping in Solidity: the key before the position. */
const solidity =
  (position: bigint): Place =>
  (of) =>
    keccak256(encodeAbiParameters([account, word], [of, position]))

/** A mapping in Vyper: the position before the key. */
const vyper =
  (position: bigint): Place =>
  (of) =>
    keccak256(encodeAbiParameters([word, account], [position, of]))

/** `openzeppelin.storage.ERC20` by ERC-7201, which upgradeable tokens use. */
const OPENZEPPELIN = 0x52c63247e1f47db19d5ce0460030c497f067ca4cebf71ba98eeadabe20bace00n

/** Positions of variables to try; USDC has its balances at 9, tokens with long lists of base contracts further up. */
const POSITIONS = Array.from({ length: 32 }, (_, at) => BigInt(at))

const places: readonly Place[] = [
  ...POSITIONS.map(solidity),
  solidity(OPENZEPPELIN),
  ...POSITIONS.slice(0, 8).map(vyper),
]

/** More than any cost, and so little that no sum of two balances overflows. */
const AMPLE = 2n ** 127n

const wordOf = (value: bigint): Hex => numberToHex(value, { size: 32 })

/** Finds the place of a token's balances: each place gets a balance of its own, and one of them is returned. */
const probe = (token: Address, of: Address, blockHash: Hex): Request<Place | undefined> => {
  const stateDiff = Object.fromEntries(places.map((place, at) => [place(of), wordOf(AMPLE + BigInt(at))]))
  const { parse, ...request } = balancesCall(of, [], [{ wallet: of, token }], blockHash, { [token]: { stateDiff } })
  return {
    ...request,
    parse(raw) {
      const balance = parse(raw).amounts[0]?.balance ?? 0n
      return balance < AMPLE ? undefined : places[Number(balance - AMPLE)]
    },
  }
}

/** The most tokens that are kept. */
const KEPT = 1_000

/** Tokens can be upgraded, so a place is looked for again after this time, in milliseconds. */
const KEPT_MS = 60_000

export type BalanceSlots = {
  /**
   * The overrides with which an account has ample balance of the tokens. They leave out tokens whose place is not
   * found, and all when no node can be asked.
   */
  ampleBalances(tokens: readonly Address[], of: Address, blockHash: Hex): Promise<StorageOverrides>
}

/** Creates the cache of places of one chain. */
export const createBalanceSlots = (
  node: Pick<Node, 'send'>,
  { isForeign }: Pick<KnownCode, 'isForeign'>,
): BalanceSlots => {
  const found = new LRUCache<Address, { readonly place: Place | undefined }>({ max: KEPT, ttl: KEPT_MS })
  const probed = async (
    probes: readonly Request<Place | undefined>[],
    foreign: boolean,
  ): Promise<readonly Outcome<Place | undefined>[]> => {
    try {
      return (await node.send({ outcomes: probes }, { foreign })).outcomes
    } catch (failure) {
      // No node in reach knows overrides. Whether one is in reach at all, the next request shows.
      if (isUnavailable(failure)) return []
      throw failure
    }
  }
  return {
    async ampleBalances(tokens, of, blockHash) {
      const unknown = tokens.filter((token) => !found.has(token))
      if (unknown.length > 0) {
        const outcomes = await probed(
          unknown.map((token) => probe(token, of, blockHash)),
          unknown.some(isForeign),
        )
        for (const [at, token] of unknown.entries()) {
          const outcome = outcomes[at]
          // A refusal of the node is no statement about the token.
          if (outcome?.ok === true) found.set(token, { place: outcome.value })
        }
      }
      const known = tokens.flatMap((token) => {
        const place = found.get(token)?.place
        return place === undefined ? [] : [{ [token]: { [place(of)]: wordOf(AMPLE) } }]
      })
      return Object.assign({}, ...known)
    },
  }
}
