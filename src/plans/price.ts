import { type Address, zeroAddress } from 'viem'
import { balancesCall } from '../chain/balances.ts'
import type { Chain } from '../chain/chain.ts'
import { viewCall } from '../chain/rpc/requests.ts'
import { MAX_UINT256 } from '../lib/fixed.ts'
import type { Deployment } from '../protocol/chains.ts'
import { feeAmount, premiumAmount } from '../protocol/formulas.ts'
import { call, type Output } from '../protocol/outputs.ts'
import { configuredTokens } from '../protocol/tokens.ts'
import type { Body } from '../tx/compile.ts'
import type { Action } from './actions.ts'
import type { EventTokens } from './event-tokens.ts'
import { type At, type Rehearsal, rehearse, wordOf } from './rehearse.ts'
import { actionStep, approval, type Step } from './step.ts'
import { eventOf, type Facts, factRequests, factsOf } from './subjects.ts'

/** What an action costs, in units of the token. */
export type Price = {
  readonly token: Address
  readonly total: bigint
  /** The part of a purchase that the pool gets; null for other actions. */
  readonly premium: bigint | null
  /** False for a cost by the formula, because the call could not be simulated. */
  readonly exact: boolean
  /** Gas of the call with ample balance and approval; null when it could not be simulated. */
  readonly gas: bigint | null
  /** The wallet's balance and its allowance for the protocol; null for a token that does not answer. */
  readonly balance: bigint | null
  readonly allowance: bigint | null
  /** True when the token demands that an allowance is set to 0 before it is changed. */
  readonly needsReset: boolean
}

/** The price of an action, null when neither a simulation nor the formula gives it, and what else was learnt. */
export type Priced = {
  readonly price: Price | null
  readonly facts: Facts
  /** The id of what the call creates on this state; null when the simulated call failed. */
  readonly createdId: bigint | null
}

const answered = <T>(outcome: { readonly ok: boolean; readonly value?: T } | undefined): T | null =>
  outcome?.ok === true ? (outcome.value ?? null) : null

const amountIn = (body: Body, name: string): bigint => {
  const value = body[name]
  return typeof value === 'bigint' ? value : 0n
}

const premiumIn = (body: Body, { core }: Facts): bigint =>
  premiumAmount(amountIn(body, 'notional'), core?.premiumRate ?? 0n)

/** The total by the formulas, with the fees of new events. */
const formulas: Readonly<Record<string, (body: Body, facts: Facts, fees: Output<'getHedgeFeeConfig'>) => bigint>> = {
  createEvent: (body, _, { eventCreationFee }) => eventCreationFee + amountIn(body, 'initialLiquidity'),
  deposit: (body) => amountIn(body, 'amount'),
  buyProtection: (body, facts, { hedgerFeeRate }) => {
    const premium = premiumIn(body, facts)
    return premium + feeAmount(premium, hedgerFeeRate)
  },
}

/**
 * The token that an action is paid in: the one of its event, else the one in its body, else the one that moved.
 * Undefined for an event that does not exist.
 */
const tokenOf = (
  { paymentToken: ofEvent }: Facts,
  { paymentToken }: Body,
  spent: ReadonlyMap<Address, bigint> | undefined,
  { usdc }: Deployment,
): Address | undefined => {
  if (ofEvent !== undefined) return ofEvent
  if (typeof paymentToken !== 'string') return undefined
  if (paymentToken !== zeroAddress) return paymentToken as Address
  // No view returns the protocol's default token. When nothing was simulated it is taken to be the configured one.
  return [...(spent ?? [])].find(([, change]) => change < 0n)?.[0] ?? usdc
}

/**
 * Finds the price of an action in a simulation with ample balance, approval and `maxCost`, so that it holds for the fee
 * rates that the event was created with, whatever the wallet has. Throws as `Chain.simulate` does.
 */
export const priceOf = async (
  chain: Pick<Chain, 'simulateSequence' | 'ampleBalances' | 'deployment'>,
  eventTokens: EventTokens,
  at: At,
  {
    name,
    action,
    body,
    from,
  }: { readonly name: string; readonly action: Action; readonly body: Body; readonly from: Address },
): Promise<Priced> => {
  const { deployment } = chain
  const { diamond } = deployment
  const step = actionStep(name, action, { ...body, maxCost: MAX_UINT256, deadline: MAX_UINT256 }, deployment)
  const { subject } = step
  const attempt = async (tokens: readonly Address[]): Promise<Priced> => {
    const approvals = tokens.flatMap((token): Step[] =>
      [MAX_UINT256, 0n, MAX_UINT256].map((amount) => approval('approve', token, amount, deployment)),
    )
    const { rehearsal, outcomes } = await rehearse(
      chain,
      at,
      {
        ...{ from, tokens, steps: [...approvals, step] },
        overrides: await chain.ampleBalances(tokens, from, at.blockHash),
      },
      {
        facts: factRequests(subject, diamond, at.blockHash),
        fees: viewCall(diamond, call('getHedgeFeeConfig'), { blockHash: at.blockHash }),
        held: balancesCall(
          diamond,
          [],
          tokens.map((token) => ({ wallet: from, token })),
          at.blockHash,
        ),
      },
    )
    const facts = factsOf(subject, outcomes.facts)
    const eventId = eventOf(facts)
    if (eventId !== null && facts.paymentToken !== undefined)
      eventTokens.learn(deployment.chainId, eventId, facts.paymentToken)
    const result = rehearsal?.steps.at(-1)
    const token = tokenOf(facts, body, result?.changes, deployment)
    // The token of an event may be none of the configured ones.
    if (token !== undefined && !tokens.includes(token)) return attempt([...tokens, token])
    const nth = token === undefined ? -1 : tokens.indexOf(token)
    const change = result?.ok === true && token !== undefined ? (result.changes.get(token) ?? 0n) : null
    // A wallet that gains tokens by spending them is the protocol, or the token misbehaves.
    const spent = change === null || change > 0n ? null : -change
    const fees = answered(outcomes.fees)
    const held = answered(outcomes.held)?.amounts[nth]
    const formula = formulas[action.function]
    const total = spent ?? (fees === null || formula === undefined ? null : formula(body, facts, fees))
    return {
      facts,
      createdId: wordOf(result),
      price:
        token === undefined || total === null
          ? null
          : {
              ...{ token, total, exact: spent !== null, gas: result?.ok === true ? result.gas : null },
              premium: action.function === 'buyProtection' ? premiumIn(body, facts) : null,
              balance: held?.balance ?? null,
              allowance: held?.allowance ?? null,
              needsReset: refusesChange(rehearsal, nth),
            },
    }
  }
  const { paymentToken } = body
  const known = subject === null ? undefined : eventTokens.known(deployment.chainId, subject.id)
  if (known !== undefined) return attempt([known])
  const configured = configuredTokens(deployment).map(({ token }) => token)
  const named = typeof paymentToken === 'string' && paymentToken !== zeroAddress ? [paymentToken as Address] : []
  return attempt([...new Set([...configured, ...named])])
}

/** Whether the first of the three approvals of a token failed and the last one did not. */
const refusesChange = (rehearsal: Rehearsal, nth: number): boolean =>
  rehearsal?.steps[3 * nth]?.ok === false && rehearsal.steps[3 * nth + 2]?.ok === true
