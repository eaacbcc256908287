import type { Address, Hex } from 'viem'
import type { SequenceCall } from '../chain/rpc/simulation.ts'
import { type Call, call } from '../protocol/outputs.ts'
import type { Token } from '../protocol/tokens.ts'
import type { Price } from './price.ts'
import type { Payout, Plan } from './records.ts'
import { type Rehearsal, type StepResult, wordOf } from './rehearse.ts'
import type { Step } from './step.ts'
import { type Facts, grossOf } from './subjects.ts'

/* What a plan costs, pays and creates, by its simulation. */

const positionOf = (id: bigint) => call('getHedgePosition', [id])
const depositsOf = (eventId: bigint) => call('getEventDepositIds', [eventId])

/** What is read after a step has created the entity with this id: a position's record, an event's deposits. */
export const createdReads = (step: Step | undefined, id: bigint | null, diamond: Address): SequenceCall[] => {
  const creates = step?.action?.creates
  if (id === null || creates == null || creates === 'depositId') return []
  const { data } = creates === 'positionId' ? positionOf(id) : depositsOf(id)
  return [{ to: diamond, data }]
}

/** Decodes what a view returned after the steps; null when it was not read or reverted. */
const readAfter = <T>(rehearsal: Rehearsal, view: Call<T>): T | null => {
  const [result] = rehearsal?.after ?? []
  return result?.ok === true && result.data !== '0x' ? view.decode(result.data as Hex) : null
}

/** The ids that the last step creates; an event with a seed also creates a deposit. */
export const createdBy = (step: Step | undefined, rehearsal: Rehearsal) => {
  const creates = step?.action?.creates
  const id = wordOf(rehearsal?.steps.at(-1))
  if (creates == null || id === null) return {}
  const [seed] = creates === 'eventId' ? (readAfter(rehearsal, depositsOf(id)) ?? []) : []
  return { [creates]: Number(id), ...(seed !== undefined && { depositId: Number(seed) }) }
}

/** The cost as the chain will record it; its parts by the formula when the purchase could not be simulated. */
export const costOf = (
  { total, premium, exact }: Price,
  maxCost: bigint,
  token: Token,
  step: Step | undefined,
  rehearsal: Rehearsal,
): NonNullable<Plan['cost']> => {
  const isPurchase = step?.action?.creates === 'positionId'
  const isBought = isPurchase && rehearsal?.steps.at(-1)?.ok === true
  const position = isBought ? readAfter(rehearsal, positionOf(0n)) : null
  const ofPool = position?.premiumPaid ?? premium
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
  // No fee is taken from a creator's earnings, and earlier steps of the plan may have added to them.
  const gross = (action.pays === 'creator-earnings' ? null : grossOf[action.pays](facts)) ?? net
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
