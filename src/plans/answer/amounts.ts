import type { Address } from 'viem'
import type { Token } from '../../protocol/tokens.ts'
import type { Price } from '../draft/price.ts'
import { premiumPaid } from '../rehearsal/created.ts'
import type { Facts } from '../steps/facts.ts'
import type { Rehearsal, StepResult } from '../steps/rehearse.ts'
import type { Step } from '../steps/step.ts'
import type { Payout, Plan } from './schema.ts'

/* What a plan costs and pays, by its simulation. */

/** The cost as the chain will record it; its parts by the formula when the purchase could not be simulated. */
export const costOf = (
  { total, premium, exact }: Price,
  maxCost: bigint,
  token: Token,
  step: Step | undefined,
  rehearsal: Rehearsal,
): NonNullable<Plan['cost']> => {
  const ofPool = premiumPaid(step, rehearsal) ?? premium
  return {
    premium: premium === null ? null : String(ofPool),
    platformFee: feeOf(step, total, ofPool),
    total: total.toString(),
    maxCost: maxCost.toString(),
    exact,
    ...token,
  }
}

/** A token may move less, or more, than it was asked to: no part of an amount is negative. */
const orZero = (amount: bigint): bigint => (amount < 0n ? 0n : amount)

/** The part of a cost that is a fee: all that is neither premium nor seed; null for a deposit, which has no fee. */
const feeOf = (step: Step | undefined, total: bigint, premium: bigint | null): string | null => {
  if (premium !== null) return orZero(total - premium).toString()
  const seed = step?.transaction.args.initialLiquidity
  return seed === undefined ? null : orZero(total - BigInt(String(seed))).toString()
}

/** What a claim pays, by the facts before it and the wallet's gain; null for other steps and one that reverts. */
export const payoutOf = (
  { action }: Step,
  facts: Facts,
  result: StepResult | undefined,
  token: Token | undefined,
): Payout | null => {
  if (action?.pays == null || result?.ok !== true || token === undefined) return null
  const net = orZero(result.changes.get(token.token) ?? 0n)
  const gross = action.pays.gross(facts) ?? net
  return { gross: gross.toString(), fee: orZero(gross - net).toString(), net: net.toString(), ...token }
}

/** The sum of payouts; null without any, and for several tokens. */
export const sumOf = (payouts: readonly (Payout | null)[]): Payout | null => {
  const paid = payouts.filter((payout) => payout !== null)
  const [first] = paid
  if (first === undefined || paid.some(({ token }) => token !== first.token)) return null
  const sum = (part: 'gross' | 'fee' | 'net'): string =>
    paid.reduce((total, payout) => total + BigInt(payout[part]), 0n).toString()
  return { ...first, gross: sum('gross'), fee: sum('fee'), net: sum('net') }
}

/** How all steps change the balances of the wallet and the protocol. */
export const balanceChanges = (
  rehearsal: Rehearsal,
  [from, diamond]: readonly [Address, Address],
  known: ReadonlyMap<Address | null, Token>,
): Plan['effects']['balanceChanges'] => {
  const sums = new Map<Address, bigint>()
  for (const { changes } of rehearsal?.steps ?? [])
    for (const [token, change] of changes) sums.set(token, (sums.get(token) ?? 0n) + change)
  const listed = (account: Address, changes: Iterable<readonly [Address, bigint]>) =>
    [...changes].flatMap(([address, amount]) => {
      const token = known.get(address)
      return token === undefined || amount === 0n ? [] : [{ account, ...token, amount: amount.toString() }]
    })
  return [...listed(from, sums), ...listed(diamond, rehearsal?.ofProtocol ?? [])]
}
