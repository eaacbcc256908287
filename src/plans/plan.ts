import { type Address, numberToHex as hex } from 'viem'
import type { Chain } from '../chain/chain.ts'
import type { Tokens } from '../chain/tokens.ts'
import { clamped } from '../protocol/response-fields.ts'
import type { Token } from '../protocol/tokens.ts'
import type { Simulation } from '../tx/simulation.ts'
import { checkIssues } from './checks.ts'
import { type Draft, MAX_CLAIMS } from './draft.ts'
import { balanceChanges, costOf, createdBy, payoutOf, sumOf } from './effects.ts'
import type { EventTokens } from './event-tokens.ts'
import { type Account, gasCostOf, limitOf } from './gas.ts'
import {
  accountIssues,
  changedTokenIssues,
  claimIssues,
  moneyIssues,
  revertIssue,
  simulationOf,
  tokenIssues,
} from './issues.ts'
import { lastSecondOfClaims } from './last-second.ts'
import type { Issue, Plan } from './records.ts'
import type { Rehearsal } from './rehearse.ts'
import { rehearseDraft } from './rehearse-draft.ts'
import { digestOf, type Step } from './step.ts'
import { type Facts, termsOf } from './subjects.ts'
import { summaryOf } from './summary.ts'
import { plainIssues, UNCHECKED } from './unsimulated.ts'

/**
 * A step as a transaction, with the nonce `nth` after the wallet's next one; undefined while prices or nonce are
 * unknown. It has no gas limit when the gas is unknown.
 */
const requestOf = ({ transaction }: Step, nth: number, gas: bigint | null, from: Address, account: Account) => {
  const { nonce, maxFeePerGas, tip, isContract } = account
  if (nonce === null || maxFeePerGas === null || tip === null || isContract) return undefined
  return {
    type: '0x2',
    chainId: hex(transaction.chainId),
    nonce: hex(nonce + BigInt(nth)),
    ...{ from, to: transaction.to, data: transaction.data, value: '0x0' },
    ...(gas !== null && { gas: hex(gas) }),
    maxFeePerGas: hex(maxFeePerGas),
    maxPriorityFeePerGas: hex(tip),
  } as const
}

/** The gas that each step needs; null where it is unknown. A step that reverts has used too little. */
const gasOf = ({ steps, price }: Draft, rehearsal: Rehearsal): (bigint | null)[] =>
  steps.map(({ action }, nth) => {
    const result = rehearsal?.steps[nth]
    if (result?.ok === true) return result.gas
    return action?.spends === true ? (price?.gas ?? null) : null
  })

/**
 * A draft of the first steps that do not revert, as many as a plan may have. The reasons of those that revert become
 * issues.
 */
const withoutReverted = (draft: Draft, facts: readonly Facts[], reverts: readonly Issue[]): Draft => {
  const working = draft.steps.filter(({ id }) => !reverts.some(({ step }) => step === id))
  const kept = new Set(working.slice(0, MAX_CLAIMS))
  const isKept = draft.steps.map((step) => kept.has(step))
  return {
    ...draft,
    isPartial: false,
    remaining: draft.remaining + working.length - kept.size,
    steps: draft.steps.filter((_, nth) => isKept[nth]),
    facts: facts.filter((_, nth) => isKept[nth]),
    eventIds: [],
    issues: [...draft.issues, ...reverts.map((issue) => ({ ...issue, blocking: false }))],
  }
}

/** The reason against a step that nodes do not simulate: the one of its own call, else the one of reads. */
const firstReason = (ofCall: readonly Issue[], ofReads: readonly Issue[]): readonly Issue[] =>
  [ofCall.find(({ code }) => code !== UNCHECKED) ?? ofReads[0] ?? ofCall[0]].flatMap((issue) => issue ?? [])

/** The field of a request that can name a foreign token. */
const namedIn = (action: string): string => (action === 'revoke-approval' ? 'token' : 'paymentToken')

/**
 * Simulates the exact calls of a draft and makes the plan of what they did. Throws `service_unavailable` when no node
 * answers.
 */
export const planOf = async (
  chain: Chain,
  { tokens, eventTokens }: { readonly tokens: Tokens; readonly eventTokens: EventTokens },
  draft: Draft,
): Promise<Plan> => {
  const { name, from, block, steps, price, maxCost, time, remaining, force } = draft
  const { chainId, deployment } = chain
  const { rehearsal, account, tokenOf, facts, plain } = await rehearseDraft(chain, eventTokens, draft)
  const known = new Map<Address | null, Token>()
  const moved = rehearsal?.steps.flatMap(({ changes }) => [...changes.keys()]) ?? []
  const approved = steps.flatMap(({ action, transaction }) => (action === null ? [transaction.to] : []))
  // What does not answer as a token is not asked for its symbol.
  const isToken = (token: Address): boolean =>
    rehearsal === null ? token !== price?.token || price.balance !== null : rehearsal.answering.has(token)
  for (const token of new Set([...moved, ...approved, ...tokenOf]))
    if (token !== null && isToken(token)) known.set(token, await tokens.askNamed(chainId, token, namedIn(name)))
  const readings = [...known.values()].map((token) => ({ token, reading: tokens.reading(chainId, token.token) }))
  const main = known.get(price?.token ?? tokenOf.at(-1) ?? null) ?? null

  const results = rehearsal?.steps
  const gas = gasOf(draft, rehearsal)
  const gasLimits = gas.map((each) => each && limitOf(each))
  const gasCost = gasCostOf(account, gasLimits)
  const payouts = steps.map((step, nth) =>
    payoutOf(step, facts[nth] ?? {}, results?.[nth], known.get(tokenOf[nth] ?? null)),
  )
  const simulations = steps.map((step, nth) => simulationOf(step, results?.[nth], block))
  const unsimulated = rehearsal === null ? await plainIssues(draft, deployment, plain) : []
  const reverts = steps.flatMap((step, nth) =>
    results
      ? revertIssue(step.id, simulations[nth] as Simulation)
      : firstReason(
          unsimulated.filter((issue) => issue.step === step.id),
          checkIssues(step, facts[nth] ?? {}, { from, time, profile: deployment.profile }),
        ),
  )
  if (draft.isPartial && (reverts.length > 0 || steps.length > MAX_CLAIMS))
    return planOf(chain, { tokens, eventTokens }, withoutReverted(draft, facts, reverts))
  const validUntil = draft.validUntil ?? lastSecondOfClaims(steps, facts, time)
  const money = moneyIssues(price, maxCost, main, steps)
  const issues = [
    ...draft.issues,
    ...money,
    ...reverts.filter(({ code }) => !money.some((issue) => issue.blocking && issue.code === code)),
    ...tokenIssues(steps, rehearsal),
    ...changedTokenIssues(readings),
    ...accountIssues(account, gasCost?.total ?? null, deployment.symbol),
    ...claimIssues(steps),
  ]
  const executable = !issues.some(({ blocking }) => blocking)
  const calls = steps.map(({ transaction: { to, data } }) => ({ to, data, value: hex(0) }))

  return {
    ...{ action: name, chainId, from },
    block: { number: Number(block.number), hash: block.hash, timestamp: Number(block.timestamp) },
    method: rehearsal?.method ?? null,
    summary: summaryOf(calls, {
      ...{ main, tokenAt: (address: Address) => known.get(address) },
      event: termsOf(facts.at(-1) ?? {}),
      total: price?.total ?? null,
      // An end that is over, or that of a purchase without a price, is not what the plan fails for.
      signBefore: price !== null && draft.validUntil !== null && draft.validUntil >= time ? draft.validUntil : null,
    }),
    executable,
    issues,
    cost: price && maxCost !== null && main ? costOf(price, maxCost, main, steps.at(-1), rehearsal) : null,
    payout: sumOf(payouts),
    steps: steps.map((step, nth) => {
      const simulation = simulations[nth] as Simulation
      const isRequested = rehearsal !== null && (executable || force)
      const request = isRequested ? requestOf(step, nth, gasLimits[nth] ?? null, from, account) : undefined
      const estimatedGas = simulation.status === 'success' ? (gas[nth]?.toString() ?? null) : null
      return {
        id: step.id,
        transaction: { ...step.transaction, estimatedGas, simulation },
        ...(request && { request }),
        simulation,
        payout: payouts[nth] ?? null,
      }
    }),
    walletCalls:
      (executable || force) && calls.length > 0
        ? { version: '2.0.0', chainId: hex(chainId), from, atomicRequired: false, calls }
        : null,
    effects: {
      created: { ...createdBy(steps.at(-1), rehearsal), predicted: true },
      balanceChanges: balanceChanges(rehearsal, [from, deployment.diamond], known),
    },
    tokens: readings.map(({ token, reading }) => ({
      ...token,
      readAt: reading === undefined ? null : Math.floor(reading.readAt / 1_000),
    })),
    gasCost: gasCost && {
      execution: gasCost.execution.toString(),
      dataFee: gasCost.dataFee.toString(),
      operatorFee: gasCost.operatorFee.toString(),
      total: gasCost.total.toString(),
      symbol: deployment.symbol,
    },
    validUntil: { blockNumber: Number(block.number) + 1, timestamp: validUntil === null ? null : clamped(validUntil) },
    remaining,
    digest: digestOf(chainId, from, steps),
  }
}
