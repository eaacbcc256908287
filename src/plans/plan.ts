import { type Address, numberToHex as hex } from 'viem'
import type { Chain } from '../chain/chain.ts'
import type { Tokens } from '../chain/tokens.ts'
import type { Token } from '../protocol/tokens.ts'
import { checkIssues } from './checks.ts'
import type { Draft } from './draft.ts'
import { balanceChanges, costOf, createdBy, payoutOf, sumOf } from './effects.ts'
import type { EventTokens } from './event-tokens.ts'
import { type Account, gasCostOf, limitOf } from './gas.ts'
import { accountIssues, moneyIssues, revertIssue, simulationOf } from './issues.ts'
import type { Plan } from './records.ts'
import { rehearseDraft } from './rehearse-draft.ts'
import { digestOf, type Step } from './step.ts'
import { summaryOf } from './summary.ts'

type Simulation = ReturnType<typeof simulationOf>

/** The steps as transactions, from the wallet's next nonce on; undefined while prices, nonce or gas are unknown. */
const requestOf = ({ transaction }: Step, nth: number, gas: bigint | null, from: Address, account: Account) => {
  const { nonce, maxFeePerGas, tip, isContract } = account
  if (nonce === null || maxFeePerGas === null || tip === null || gas === null || isContract) return undefined
  return {
    type: '0x2',
    chainId: hex(transaction.chainId),
    nonce: hex(nonce + BigInt(nth)),
    ...{ from, to: transaction.to, data: transaction.data, value: '0x0' },
    gas: hex(gas),
    maxFeePerGas: hex(maxFeePerGas),
    maxPriorityFeePerGas: hex(tip),
  } as const
}

/**
 * Simulates the exact calls of a draft and makes the plan of what they did. Throws `service_unavailable` when no node
 * answers.
 */
export const planOf = async (
  chain: Chain,
  { tokens, eventTokens }: { readonly tokens: Tokens; readonly eventTokens: EventTokens },
  draft: Draft,
): Promise<Plan> => {
  const { name, from, block, steps, price, maxCost, time, validUntil, remaining, force } = draft
  const { chainId, deployment } = chain
  const { rehearsal, account, tokenOf, facts } = await rehearseDraft(chain, eventTokens, draft)
  const known = new Map<Address | null, Token>()
  const moved = rehearsal?.steps.flatMap(({ changes }) => [...changes.keys()]) ?? []
  const approved = steps.flatMap(({ action, transaction }) => (action === null ? [transaction.to] : []))
  for (const token of new Set([...moved, ...approved, ...tokenOf]))
    if (token !== null) known.set(token, await tokens.ask(chainId, token))
  const main = known.get(price?.token ?? tokenOf.at(-1) ?? null) ?? null

  const results = rehearsal?.steps
  const gasLimits = steps.map((_, nth) => (results?.[nth] ? limitOf(results[nth].gas) : null))
  const gasCost = gasCostOf(account, gasLimits)
  const payouts = steps.map((step, nth) =>
    payoutOf(step, facts[nth] ?? {}, results?.[nth], known.get(tokenOf[nth] ?? null)),
  )
  const simulations = steps.map((step, nth) => simulationOf(step, results?.[nth], block))
  const reverts = steps.flatMap((step, nth) =>
    results
      ? revertIssue(step.id, simulations[nth] as Simulation)
      : checkIssues(step, facts[nth] ?? {}, { from, time, profile: deployment.profile }),
  )
  const money = moneyIssues(price, maxCost, main, steps)
  const issues = [
    ...draft.issues,
    ...money,
    ...reverts.filter(({ code }) => !money.some((issue) => issue.blocking && issue.code === code)),
    ...accountIssues(account, gasCost?.total ?? null, deployment.symbol),
    ...(steps.length === 0
      ? [
          {
            code: 'nothing_to_claim',
            message: 'the wallet has nothing to claim on this chain',
            hint: 'Try again after a settlement.',
            blocking: true,
          },
        ]
      : []),
  ]
  const executable = !issues.some(({ blocking }) => blocking)
  const calls = steps.map(({ transaction: { to, data } }) => ({ to, data, value: hex(0) }))

  return {
    ...{ action: name, chainId, from },
    block: { number: Number(block.number), hash: block.hash, timestamp: Number(block.timestamp) },
    method: rehearsal?.method ?? null,
    summary: summaryOf(calls, main, (address) => known.get(address)),
    executable,
    issues,
    cost: price && maxCost !== null && main ? costOf(price, maxCost, main, steps.at(-1), rehearsal) : null,
    payout: sumOf(payouts),
    steps: steps.map((step, nth) => {
      const simulation = simulations[nth] as Simulation
      const request =
        executable || force ? requestOf(step, nth, gasLimits[nth] ?? null, draft.from, account) : undefined
      const estimatedGas = simulation.status === 'success' ? (results?.[nth]?.gas.toString() ?? null) : null
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
    gasCost: gasCost && {
      execution: gasCost.execution.toString(),
      dataFee: gasCost.dataFee.toString(),
      total: gasCost.total.toString(),
      symbol: deployment.symbol,
    },
    validUntil: { blockNumber: Number(block.number) + 1, timestamp: validUntil === null ? null : Number(validUntil) },
    remaining,
    digest: digestOf(chainId, from, steps),
  }
}
