import type { Address } from 'viem'
import type { Chain } from '../chain/chain.ts'
import type { Block } from '../chain/rpc/requests.ts'
import type { Tokens } from '../chain/tokens.ts'
import { createConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { unavailable } from '../lib/errors.ts'
import { MAX_UINT256, mulDivDown } from '../lib/fixed.ts'
import type { PricingClient } from '../pricing/client.ts'
import { configuredTokens } from '../protocol/tokens.ts'
import { claimablesOf } from '../reads/listings/portfolio.ts'
import type { ListSources } from '../reads/listings/sources.ts'
import { type Chains, chainOf } from '../reads/read.ts'
import type { Body } from '../tx/compile.ts'
import { type Action, type ActionName, actions } from './actions.ts'
import { eventTerms, NO_TERMS, type Terms } from './create-event.ts'
import { createEventTokens, type EventTokens } from './event-tokens.ts'
import type { Intent } from './intents.ts'
import { type Draft, planOf } from './plan.ts'
import { priceOf } from './price.ts'
import type { Plan } from './records.ts'
import { actionStep, approval, type Step } from './step.ts'
import { type Facts, factRequests, factsOf, type Payable } from './subjects.ts'

export type PlanSources = {
  readonly chains: Chains
  readonly tokens: Tokens
  readonly pricing: Pick<PricingClient, 'quote'>
  readonly lists: ListSources
}

/** Most steps of a plan that claims everything. */
const MAX_CLAIMS = 50

/** Most concurrent plans of a process, and most that wait: a plan takes three requests to a node. */
const LIMITS = { atOnce: 16, waiting: 512 }

type Situation = {
  readonly name: string
  readonly intent: Intent
  readonly chain: Chain
  readonly block: Block
  readonly time: bigint
}

/** Seconds until a purchase reverts, unless the request has another value. */
const DEADLINE_SECONDS = 600

const BPS_ONE = 10_000n

const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/** The later of the wall clock and the second after a block, in Unix seconds: when the next block is mined at best. */
const timeAfter = ({ timestamp }: Block): bigint => {
  const now = BigInt(Math.floor(Date.now() / 1_000))
  return now > timestamp ? now : timestamp + 1n
}

const baseOf = ({ name, intent, block, time }: Situation) => ({
  ...{ name, block, time },
  from: intent.from,
  force: intent.force ?? false,
  remaining: 0,
  validUntil: null,
})

const tokensOf = ({ deployment }: Chain): Address[] => configuredTokens(deployment).map(({ token }) => token)

/** The approvals before a step that takes up to `amount`. */
const approvalsOf = (
  { allowance, needsReset, token }: NonNullable<Awaited<ReturnType<typeof priceOf>>['price']>,
  amount: bigint,
  { approval: mode }: Intent,
  { deployment }: Chain,
): Step[] => {
  if (allowance !== null && allowance >= amount) return []
  const isReset = needsReset && allowance !== 0n
  return [
    ...(isReset ? [approval('reset-approval', token, 0n, deployment)] : []),
    approval('approve', token, mode === 'unlimited' ? MAX_UINT256 : amount, deployment),
  ]
}

/** Drafts an action that pulls tokens: prices it first, for its approval and its maximum cost. */
const draftSpending = async (
  situation: Situation,
  action: Action,
  body: Body,
  until: bigint | null,
  eventTokens: EventTokens,
): Promise<Draft> => {
  const { name, intent, chain, block, time } = situation
  const { from } = intent
  const { price, facts, createdId } = await priceOf(
    chain,
    eventTokens,
    { blockHash: block.hash, time },
    { name, action, body, from },
  )
  const isLimited = action.derived.includes('maxCost')
  const total = price?.total ?? 0n
  const slack = isLimited ? BigInt(intent.maxCostBps ?? 0) : 0n
  // An absurd amount has a cost that no argument can hold. Its call reverts for its own reason.
  const maxCost = smaller(total + mulDivDown(total, slack, BPS_ONE), MAX_UINT256)
  const deadline = time + BigInt(intent.deadlineSeconds ?? DEADLINE_SECONDS)
  const step = actionStep(name, action, { ...body, maxCost, deadline }, chain.deployment)
  const steps = [...(price === null ? [] : approvalsOf(price, maxCost, intent, chain)), step]
  const tokens = new Set([...(price === null ? tokensOf(chain) : [price.token])])
  return {
    ...baseOf(situation),
    ...{ steps, price, maxCost, createdId, tokens: [...tokens] },
    facts: steps.map((each) => (each === step ? facts : {})),
    validUntil: isLimited ? lastSecond(deadline, facts) : until,
  }
}

/** The last second at which a purchase is accepted: the deadline, or the one before the event's expiry. */
const lastSecond = (deadline: bigint, { core }: Facts): bigint =>
  // An event that does not exist has an expiry of 0.
  core === undefined || core.expiryDate === 0n || deadline < core.expiryDate ? deadline : core.expiryDate - 1n

/** Reads the facts of the subjects of steps at a block. */
const readFacts = async (chain: Chain, block: Block, steps: readonly Step[]): Promise<Facts[]> => {
  const { diamond } = chain.deployment
  if (steps.every(({ subjectId }) => subjectId === null)) return steps.map(() => ({}))
  const { outcomes } = await chain.send({
    outcomes: steps.flatMap(({ action, subjectId }) =>
      action?.subject == null || subjectId === null ? [] : factRequests(action.subject, subjectId, diamond, block.hash),
    ),
  })
  const left = [...outcomes]
  return steps.map(({ action, subjectId }) => {
    if (action?.subject == null || subjectId === null) return {}
    const count = factRequests(action.subject, subjectId, diamond, block.hash).length
    return factsOf(action.subject, left.splice(0, count))
  })
}

/** Drafts steps that need no approval. */
const draftSteps = async (
  situation: Situation,
  steps: readonly Step[],
  tokens: readonly Address[],
): Promise<Draft> => ({
  ...baseOf(situation),
  ...{ steps, price: null, maxCost: null, createdId: null },
  facts: await readFacts(situation.chain, situation.block, steps),
  tokens: [...new Set([...tokensOf(situation.chain), ...tokens])],
})

/** The action that claims each kind of claim. */
const claimActions = new Map<string, ActionName>(
  Object.entries(actions).flatMap(([name, { pays }]) => (pays === null ? [] : [[pays, name as ActionName] as const])),
)

/** The kind of claim whose amount the other claims change. */
const EARNINGS: Payable = 'creator-earnings'

/** Drafts the claims of everything that the index knows to be claimable. */
const draftClaims = async (situation: Situation, lists: ListSources): Promise<Draft> => {
  const { intent, chain } = situation
  // The fees of other claims add to the earnings of a creator.
  const found = (await claimablesOf(lists, intent.chainId, intent.from)).toSorted(
    (a, b) => Number(a.kind === EARNINGS) - Number(b.kind === EARNINGS),
  )
  const taken = found.slice(0, MAX_CLAIMS)
  const steps = taken.flatMap(({ kind, id }): Step[] => {
    const name = claimActions.get(kind)
    if (name === undefined) return []
    const action = actions[name]
    const argument = { event: 'eventId', deposit: 'depositId', position: 'positionId' }[action.subject ?? 'event']
    return [actionStep(`${name}-${id}`, action, { chainId: intent.chainId, [argument]: BigInt(id) }, chain.deployment)]
  })
  const draft = await draftSteps(situation, steps, [...new Set(taken.map(({ token }) => token as Address))])
  return { ...draft, remaining: found.length - taken.length }
}

const isAction = (name: string): name is ActionName => name in actions

/** The planner of all chains. */
export const createPlanner = (sources: PlanSources) => {
  const eventTokens = createEventTokens()
  const limited = createConcurrencyLimit({
    ...LIMITS,
    refuse: () => unavailable('too many plans at once: retry after 1 s'),
  })

  const draft = async (situation: Situation, { arguments: terms, expiresAt }: Terms): Promise<Draft> => {
    const { name, intent, chain } = situation
    if (name === 'claim-all') return draftClaims(situation, sources.lists)
    if (name === 'revoke-approval') {
      const token = intent.token as Address
      return draftSteps(situation, [approval(name, token, 0n, chain.deployment)], [token])
    }
    if (!isAction(name)) throw new TypeError(`no action ${name}`)
    const action: Action = actions[name]
    const body: Body = { ...intent, ...terms }
    if (action.spends) return draftSpending(situation, action, body, expiresAt, eventTokens)
    return draftSteps(situation, [actionStep(name, action, body, chain.deployment)], [])
  }

  /**
   * Plans an action. Throws `service_unavailable` when no node, and for claims no database, is in reach, and as the
   * pricing client does.
   */
  return async (name: string, intent: Intent): Promise<Plan> => {
    const chain = chainOf(sources.chains, intent.chainId)
    // Before the limit and the block: a slow engine must not hold up other plans, nor let the block grow old.
    const terms =
      name === 'create-event' ? await eventTerms(sources.pricing, intent, intent.from, chain.deployment) : NO_TERMS
    return limited(() =>
      chain.pinned(async (block) => {
        const drafted = await draft({ name, intent, chain, block, time: timeAfter(block) }, terms)
        return planOf(chain, { tokens: sources.tokens, eventTokens }, drafted)
      }),
    )
  }
}

export type Planner = ReturnType<typeof createPlanner>
