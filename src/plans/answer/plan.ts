import { type Address, numberToHex as hex } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import type { Tokens } from '../../chain/tokens.ts'
import { clamped } from '../../protocol/fields/response-fields.ts'
import type { Token } from '../../protocol/tokens.ts'
import { type Draft, MAX_CLAIMS } from '../draft/contents.ts'
import type { Price } from '../draft/price.ts'
import { createdBy } from '../rehearsal/created.ts'
import { rehearseDraft } from '../rehearsal/exact-calls.ts'
import { type Account, gasCostOf, limitOf } from '../rehearsal/gas.ts'
import { plainIssues, UNCHECKED } from '../rehearsal/unsimulated.ts'
import { checkIssues } from '../steps/checks.ts'
import type { EventTokens } from '../steps/event-tokens.ts'
import { type Facts, termsOf } from '../steps/facts.ts'
import type { Issue } from '../steps/issue.ts'
import type { StepResult } from '../steps/rehearse.ts'
import { digestOf, type Step } from '../steps/step.ts'
import { balanceChanges, costOf, payoutOf, sumOf } from './amounts.ts'
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
import type { Plan } from './schema.ts'
import { summaryOf } from './summary.ts'

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
    from,
    to: transaction.to,
    data: transaction.data,
    value: '0x0',
    ...(gas !== null && { gas: hex(gas) }),
    maxFeePerGas: hex(maxFeePerGas),
    maxPriorityFeePerGas: hex(tip),
  } as const
}

/** The gas that a step needs; null where it is unknown. A step that reverts has used too little. */
const gasOf = ({ action }: Step, result: StepResult | undefined, price: Price | null): bigint | null =>
  result?.ok === true ? result.gas : ((action?.spends && price?.gas) ?? null)

/** What became of a step; `reverts` has why it reverts. */
type Done = { readonly step: Step; readonly facts: Facts; readonly reverts: readonly Issue[] }

/**
 * A draft of the first steps that do not revert, as many as a plan may have. The reasons of those that revert become
 * issues.
 */
const withoutReverted = (draft: Draft, done: readonly Done[]): Draft => {
  const working = done.filter(({ reverts }) => reverts.length === 0)
  const kept = working.slice(0, MAX_CLAIMS)
  const reasons = done.flatMap(({ reverts }) => reverts.map((reason) => ({ ...reason, blocking: false })))
  return {
    ...draft,
    isPartial: false,
    eventIds: [],
    issues: [...draft.issues, ...reasons],
    remaining: draft.remaining + working.length - kept.length,
    steps: kept.map(({ step }) => step),
    facts: kept.map(({ facts }) => facts),
  }
}

/** The reason against a step that nodes do not simulate: the one of its own call, else the one of reads. */
const firstReason = (ofCall: readonly Issue[], ofReads: readonly Issue[]): readonly Issue[] =>
  [ofCall.find(({ code }) => code !== UNCHECKED) ?? ofReads[0] ?? ofCall[0]].flatMap((issue) => issue ?? [])

/**
 * Simulates the exact calls of a draft and makes the plan of what they did. Throws `service_unavailable` when no node
 * answers.
 */
export const planOf = async (
  chain: Chain,
  { tokens, eventTokens }: { readonly tokens: Tokens; readonly eventTokens: EventTokens },
  draft: Draft,
): Promise<Plan> => {
  const { name, from, tokenField, block, steps, price, maxCost, time, remaining, force } = draft
  const { chainId, deployment } = chain
  const { rehearsal, account, tokenOf, facts, plain } = await rehearseDraft(chain, eventTokens, draft)
  const known = new Map<Address | null, Token>()
  const moved = rehearsal?.steps.flatMap(({ changes }) => [...changes.keys()]) ?? []
  const approved = steps.flatMap(({ action, transaction }) => (action === null ? [transaction.to] : []))
  // What does not answer as a token is not asked for its symbol.
  const isToken = (token: Address): boolean =>
    rehearsal === null ? token !== price?.token || price.balance !== null : rehearsal.answering.has(token)
  for (const token of new Set([...moved, ...approved, ...tokenOf]))
    if (token !== null && isToken(token)) known.set(token, await tokens.askNamed(chainId, token, tokenField))
  const readings = [...known.values()].map((token) => ({ token, reading: tokens.reading(chainId, token.token) }))
  const main = known.get(price?.token ?? tokenOf.at(-1) ?? null) ?? null

  const unsimulated = rehearsal === null ? await plainIssues(draft, deployment, plain) : []
  const done = steps.map((step, nth) => {
    const [result, of] = [rehearsal?.steps[nth], facts[nth] ?? {}]
    const simulation = simulationOf(step, result, block)
    const gas = gasOf(step, result, price)
    return {
      step,
      facts: of,
      simulation,
      gas,
      limit: gas && limitOf(gas),
      payout: payoutOf(step, of, result, known.get(tokenOf[nth] ?? null)),
      reverts: rehearsal
        ? revertIssue(step.id, simulation)
        : firstReason(
            unsimulated.filter((issue) => issue.step === step.id),
            checkIssues(step, of, { from, time, profile: deployment.profile }),
          ),
    }
  })
  const reverts = done.flatMap((each) => each.reverts)
  if (draft.isPartial && (reverts.length > 0 || steps.length > MAX_CLAIMS))
    return planOf(chain, { tokens, eventTokens }, withoutReverted(draft, done))
  const limits = done.map(({ limit }) => limit)
  const gasCost = gasCostOf(account, limits)
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
    action: name,
    chainId,
    from,
    block: { number: Number(block.number), hash: block.hash, timestamp: Number(block.timestamp) },
    method: rehearsal?.method ?? null,
    summary: summaryOf(calls, {
      main,
      tokenAt: (address: Address) => known.get(address),
      event: termsOf(facts.at(-1) ?? {}),
      total: price?.total ?? null,
      // An end that is over, or that of a purchase without a price, is not what the plan fails for.
      signBefore: price !== null && draft.validUntil !== null && draft.validUntil >= time ? draft.validUntil : null,
    }),
    executable,
    issues,
    cost: price && maxCost !== null && main ? costOf(price, maxCost, main, steps.at(-1), rehearsal) : null,
    payout: sumOf(done.map(({ payout }) => payout)),
    steps: done.map(({ step, simulation, gas, limit, payout }, nth) => {
      const isRequested = rehearsal !== null && (executable || force)
      const request = isRequested ? requestOf(step, nth, limit, from, account) : undefined
      const estimatedGas = simulation.status === 'success' ? (gas?.toString() ?? null) : null
      return {
        id: step.id,
        transaction: { ...step.transaction, estimatedGas, simulation },
        ...(request && { request }),
        simulation,
        payout,
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
