import { type Address, zeroAddress } from 'viem'
import { balancesCall } from '../../chain/balances.ts'
import { viewCall } from '../../chain/rpc/requests.ts'
import { MAX_UINT256 } from '../../lib/fixed.ts'
import { call } from '../../protocol/abi/outputs.ts'
import type { Deployment } from '../../protocol/chains.ts'
import { configuredTokens } from '../../protocol/tokens.ts'
import type { Body } from '../../tx/compile.ts'
import type { CallAction } from '../steps/call-action.ts'
import { eventOf, type Facts, factRequests, factsOf } from '../steps/facts.ts'
import { type Rehearsal, rehearse, type StepResult, wordOf } from '../steps/rehearse.ts'
import { actionStep, approval, type Step } from '../steps/step.ts'
import { argumentsOf, type Situation } from './situation.ts'

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

/**
 * The token that an action is paid in: the one of its event, else the one in its body, else the one that moved.
 * Undefined for an event that does not exist.
 */
const tokenOf = (facts: Facts, { paymentToken }: Body, result: StepResult | undefined, { usdc }: Deployment) => {
  if (facts.paymentToken !== undefined) return facts.paymentToken
  if (typeof paymentToken !== 'string') return undefined
  if (paymentToken !== zeroAddress) return paymentToken as Address
  // No view returns the protocol's default token. When nothing was simulated it is taken to be the configured one.
  return [...(result?.changes ?? [])].find(([, change]) => change < 0n)?.[0] ?? usdc
}

/**
 * Finds the price of an action in a simulation with ample balance, approval and `maxCost`, so that it holds for the fee
 * rates that the event was created with, whatever the wallet has. Throws as `Chain.simulate` does.
 */
export const priceOf = async (situation: Situation, action: CallAction): Promise<Priced> => {
  const { name, chain, block, time, eventTokens } = situation
  const { from } = situation.intent
  const { deployment } = chain
  const { diamond } = deployment
  const at = { blockHash: block.hash, time }
  const body = argumentsOf(situation)
  const step = actionStep(name, action, { ...body, maxCost: MAX_UINT256, deadline: MAX_UINT256 }, deployment)
  const { entity } = step
  const attempt = async (tokens: readonly Address[], isRepeat = false): Promise<Priced> => {
    const approvals = tokens.flatMap((token): Step[] =>
      [MAX_UINT256, 0n, MAX_UINT256].map((amount) => approval('approve', token, amount, deployment)),
    )
    const pairs = tokens.map((token) => ({ wallet: from, token }))
    const { rehearsal, outcomes } = await rehearse(
      chain,
      at,
      {
        from,
        tokens,
        steps: [...approvals, step],
        overrides: await chain.ampleBalances(tokens, from, at.blockHash),
      },
      {
        facts: factRequests(entity, diamond, at.blockHash),
        fees: viewCall(diamond, call('getHedgeFeeConfig'), at),
        held: balancesCall(diamond, [], pairs, at.blockHash),
      },
    )
    const facts = factsOf(entity, outcomes.facts)
    const eventId = eventOf(facts)
    if (eventId !== null && facts.paymentToken !== undefined && tokens.includes(facts.paymentToken))
      eventTokens.learn(deployment.chainId, eventId, facts.paymentToken)
    const result = rehearsal?.steps.at(-1)
    const named = tokenOf(facts, body, result, deployment)
    const isPriced = named !== undefined && tokens.includes(named)
    // The token of an event may be none of the configured ones. A node that names another one each time has no price.
    if (named !== undefined && !isPriced && !isRepeat) return attempt([...tokens, named], true)
    const token = isPriced ? named : undefined
    const nth = token === undefined ? -1 : tokens.indexOf(token)
    const change = result?.ok === true && token !== undefined ? (result.changes.get(token) ?? 0n) : null
    // A wallet that gains tokens by spending them is the protocol, or the token misbehaves.
    const spent = change === null || change > 0n ? null : -change
    const fees = answered(outcomes.fees)
    const held = answered(outcomes.held)?.amounts[nth]
    const total = spent ?? (fees === null ? null : (action.spends?.total(body, facts, fees) ?? null))
    return {
      facts,
      createdId: wordOf(result),
      price:
        token === undefined || total === null
          ? null
          : {
              token,
              total,
              exact: spent !== null,
              gas: result?.ok === true ? result.gas : null,
              premium: action.spends?.premium?.(body, facts) ?? null,
              balance: held?.balance ?? null,
              allowance: held?.allowance ?? null,
              needsReset: refusesChange(rehearsal, nth),
            },
    }
  }
  const { paymentToken } = body
  const known = entity === null ? undefined : eventTokens.known(deployment.chainId, entity.id)
  if (known !== undefined) return attempt([known])
  const configured = configuredTokens(deployment).map(({ token }) => token)
  const named = typeof paymentToken === 'string' && paymentToken !== zeroAddress ? [paymentToken as Address] : []
  return attempt([...new Set([...configured, ...named])])
}

/** Whether the first of the three approvals of a token failed and the last one did not. */
const refusesChange = (rehearsal: Rehearsal, nth: number): boolean =>
  rehearsal?.steps[3 * nth]?.ok === false && rehearsal.steps[3 * nth + 2]?.ok === true
