import { type Address, type Hex, isHex } from 'viem'
import { balancesAbi, balancesBytecode } from '../abi/balances.generated.ts'
import { contractFunction } from '../protocol/abi/contract-function.ts'
import type { Node } from './pool/failover.ts'
import { callOfCode } from './rpc/code-call.ts'
import { toServiceError } from './rpc/errors.ts'
import type { Block, Request } from './rpc/requests.ts'

/** The tokens of a wallet that are read. */
export type Holdings = { readonly wallet: Address; readonly tokens: readonly Address[] }

/** What a wallet has. */
export type Held = {
  readonly coins: bigint
  /** In the order of the tokens. */
  readonly amounts: readonly Amounts[]
}

/**
 * The most wallets and tokens of one call. Both amounts of a token take at most 600,000 gas, and nodes allow 25 million
 * or more.
 */
const AT_ONCE = 20

const balancesRead = contractFunction(balancesAbi, 'read')

type Pair = { readonly wallet: Address; readonly token: Address }

/** The amounts of one token; null where it does not return them. */
type Amounts = { readonly balance: bigint | null; readonly allowance: bigint | null }

type Answer = { readonly coins: readonly bigint[]; readonly amounts: readonly Amounts[] }

/** One call of the contract `Balances`, whose code is sent along, on a state that may be changed. */
export const balancesCall = (
  spender: Address,
  wallets: readonly Address[],
  pairs: readonly Pair[],
  block: Hex,
  overrides?: object,
): Request<Answer> => ({
  method: 'eth_call',
  params: [
    { data: callOfCode(balancesBytecode, balancesRead.encode([spender, wallets, pairs])) },
    { blockHash: block },
    ...(overrides === undefined ? [] : [overrides]),
  ],
  parse(raw) {
    if (!isHex(raw)) throw new TypeError('expected 0x hex')
    const [coins, balances, allowances] = balancesRead.decode(raw)
    if (coins.length !== wallets.length || balances.length !== pairs.length || allowances.length !== pairs.length)
      throw new RangeError('expected an amount of each wallet and token')
    const known = (amount: (typeof balances)[number] | undefined) => (amount?.isKnown ? amount.value : null)
    const amounts = balances.map((balance, at) => ({ balance: known(balance), allowance: known(allowances[at]) }))
    return { coins, amounts }
  },
})

/** A part of a list, by its number from 0. */
const partOf = <T>(items: readonly T[], nth: number): T[] => items.slice(nth * AT_ONCE, (nth + 1) * AT_ONCE)

/**
 * Reads the native coins of wallets, and their balances and allowances for a spender, at a block identified by its hash
 * and in one batch. A token that reverts, hangs or returns something else has no amounts and affects no other one.
 * Throws as `Reader.readAt` does.
 */
export const readBalances = async (
  node: Pick<Node, 'send'>,
  { hash }: Pick<Block, 'hash'>,
  { spender, holdings }: { readonly spender: Address; readonly holdings: readonly Holdings[] },
): Promise<Held[]> => {
  const wallets = holdings.map(({ wallet }) => wallet)
  const pairs = holdings.flatMap(({ wallet, tokens }) => tokens.map((token) => ({ wallet, token })))
  const count = Math.ceil(Math.max(wallets.length, pairs.length) / AT_ONCE)
  const calls = Array.from({ length: count }, (_, nth) =>
    balancesCall(spender, partOf(wallets, nth), partOf(pairs, nth), hash),
  )
  const { outcomes } = await node.send({ outcomes: calls })
  const answers = outcomes.map((outcome) => {
    if (!outcome.ok) throw toServiceError(outcome.error)
    return outcome.value
  })
  const coins = answers.flatMap((answer) => answer.coins)
  const amounts = answers.flatMap((answer) => answer.amounts)
  return holdings.map(({ tokens }, at) => ({ coins: coins[at] ?? 0n, amounts: amounts.splice(0, tokens.length) }))
}
