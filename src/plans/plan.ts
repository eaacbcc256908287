import { type Address, numberToHex } from 'viem'
import type { Chain } from '../chain/chain.ts'
import { type Block, viewCall } from '../chain/rpc/requests.ts'
import type { Tokens } from '../chain/tokens.ts'
import { call } from '../protocol/outputs.ts'
import type { Token } from '../protocol/tokens.ts'
import { checkIssues } from './checks.ts'
import { costOf, createdBy, createdReads, payoutOf, sumOf } from './effects.ts'
import type { EventTokens } from './event-tokens.ts'
import { type Account, accountOf, accountRequests, gasCostOf } from './gas.ts'
import { accountIssues, moneyIssues, revertIssue, simulationOf } from './issues.ts'
import type { Price } from './price.ts'
import type { Plan } from './records.ts'
import { type Rehearsal, rehearse } from './rehearse.ts'
import { digestOf, type Step } from './step.ts'
import { eventOf, type Facts } from './subjects.ts'
import { summaryOf } from './summary.ts'

/** What a plan consists of, before its exact calls are simulated. */
export type Draft = {
  readonly name: string
  readonly from: Address
  readonly block: Block
  /** Time of the block after it, in Unix seconds. */
  readonly time: bigint
  readonly steps: readonly Step[]
  /** What is known of each step's subject. */
  readonly facts: readonly Facts[]
  /** The price of the step that spends, and the most that it may take; null when none spends. */
  readonly price: Price | null
  readonly maxCost: bigint | null
  /** The id of what the last step will create; null when it is unknown or nothing is created. */
  readonly createdId: bigint | null
  /** The tokens that the steps may move, as far as they are known. */
  readonly tokens: readonly Address[]
  /** The last second at which the steps are accepted, in Unix seconds; null when no time makes them revert. */
  readonly validUntil: bigint | null
  /** Claims that did not fit into the plan. */
  readonly remaining: number
  /** True to return requests for steps that revert. */
  readonly force: boolean
}

type Rehearsed = {
  readonly rehearsal: Rehearsal
  readonly account: Account
  /** The token of each step; null when it has none or it is unknown. */
  readonly tokenOf: readonly (Address | null)[]
  /** What is known of each step's subject, and of the event that it belongs to. */
  readonly facts: readonly Facts[]
}

/** Simulates the exact steps; twice when the events turn out to be paid in further tokens. */
const rehearseDraft = async (
  chain: Chain,
  eventTokens: EventTokens,
  draft: Draft,
  more: readonly Address[] = [],
): Promise<Rehearsed> => {
  const { block, from, steps, facts, price, time, createdId } = draft
  const at = { blockHash: block.hash, time }
  const { chainId, diamond } = chain.deployment
  const eventIds = [...new Set(facts.flatMap((each) => eventOf(each) ?? []))]
  const met = eventIds.flatMap((id) => eventTokens.known(chainId, id) ?? [])
  const tokens = [...new Set([...draft.tokens, ...met, ...more])]
  const { rehearsal, outcomes } = await rehearse(
    chain,
    at,
    { from, steps, tokens, after: createdReads(steps.at(-1), createdId, diamond) },
    {
      ...accountRequests(from, steps, at.blockHash),
      tokens: eventIds.map((id) => viewCall(diamond, call('getEventPaymentToken', [id]), at)),
      cores: eventIds.map((id) => viewCall(diamond, call('getHedgeEventCore', [id]), at)),
    },
  )
  const byEvent = new Map(
    eventIds.flatMap((id, nth) => (outcomes.tokens[nth]?.ok ? [[id, outcomes.tokens[nth].value]] : [])),
  )
  for (const [id, token] of byEvent) eventTokens.learn(chainId, id, token)
  const further = [...byEvent.values()].filter((token) => !tokens.includes(token))
  if (further.length > 0 && more.length === 0) return rehearseDraft(chain, eventTokens, draft, further)
  const tokenOf = facts.map((each) => byEvent.get(eventOf(each) ?? 0n) ?? price?.token ?? null)
  const cores = new Map(
    eventIds.flatMap((id, nth) => (outcomes.cores[nth]?.ok ? [[id, outcomes.cores[nth].value]] : [])),
  )
  const known = facts.map((each) => {
    const core = each.core ?? cores.get(eventOf(each) ?? 0n)
    return core === undefined ? each : { ...each, core }
  })
  return { rehearsal, account: accountOf(outcomes), tokenOf, facts: known }
}

type Simulation = ReturnType<typeof simulationOf>

const hex = (value: bigint | number) => numberToHex(value)

/** The steps as transactions, from the wallet's next nonce on; undefined while prices, nonce or gas are unknown. */
const requestOf = ({ transaction }: Step, nth: number, gas: bigint | null, account: Account) => {
  const { nonce, maxFeePerGas, tip, isContract } = account
  if (nonce === null || maxFeePerGas === null || tip === null || gas === null || isContract) return undefined
  return {
    type: '0x2',
    chainId: hex(transaction.chainId),
    nonce: hex(nonce + BigInt(nth)),
    ...{ to: transaction.to, data: transaction.data, value: '0x0' },
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
  const moved = [...(rehearsal?.steps.flatMap(({ changes }) => [...changes.keys()]) ?? []), ...tokenOf]
  for (const token of new Set(moved)) if (token !== null) known.set(token, await tokens.ask(chainId, token))
  const main = known.get(price?.token ?? tokenOf.at(-1) ?? null) ?? null

  const results = rehearsal?.steps
  const gasLimits = steps.map((_, nth) => results?.[nth]?.gasLimit ?? null)
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
    summary: summaryOf(calls, main),
    executable,
    issues,
    cost: price && maxCost !== null && main ? costOf(price, maxCost, main, steps.at(-1), rehearsal) : null,
    payout: sumOf(payouts),
    steps: steps.map((step, nth) => {
      const simulation = simulations[nth] as Simulation
      const request = executable || force ? requestOf(step, nth, gasLimits[nth] ?? null, account) : undefined
      const estimatedGas = simulation.status === 'success' ? (gasLimits[nth]?.toString() ?? null) : null
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

/** How all steps change the balances of the wallet and the protocol. */
const balanceChanges = (
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
