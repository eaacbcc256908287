import { type Address, zeroAddress } from 'viem'
import type { Chain } from '../chain/chain.ts'
import type { Block } from '../chain/rpc/requests.ts'
import type { Tokens } from '../chain/tokens.ts'
import { createConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { unavailable } from '../lib/errors.ts'
import { max } from '../lib/fixed.ts'
import { createTurns } from '../lib/turns.ts'
import type { PricingClient } from '../pricing/client.ts'
import type { Client } from '../reads/freshness/waits.ts'
import type { ListSources } from '../reads/listings/sources.ts'
import { type Chains, chainOf } from '../reads/read.ts'
import type { Body } from '../tx/compile.ts'
import { type Action, type ActionName, actions } from './actions.ts'
import { eventTerms, NO_TERMS, type Terms } from './create-event.ts'
import type { Draft, Situation } from './draft.ts'
import { draftSpending } from './draft-spending.ts'
import { draftClaims, draftSteps, readClaimables } from './draft-steps.ts'
import { createEventTokens } from './event-tokens.ts'
import { inTurns, REST_MS } from './in-turns.ts'
import type { Intent } from './intents.ts'
import { planOf } from './plan.ts'
import type { Plan } from './records.ts'
import { actionStep, approval } from './step.ts'

export type PlanSources = {
  readonly chains: Chains
  readonly tokens: Tokens
  readonly pricing: Pick<PricingClient, 'quote'>
  readonly lists: ListSources
}

/**
 * Most concurrent plans of a chain, and most that wait: a plan takes three requests to a node. Fewer would make few
 * plans a second with a node that answers slowly. A chain with slow nodes does not hold up the plans of another one.
 */
const LIMITS = { atOnce: 16, waiting: 512 }

/** The later of the wall clock and the second after a block, in Unix seconds: when the next block is mined at best. */
const timeAfter = ({ timestamp }: Block): bigint => max(BigInt(Math.floor(Date.now() / 1_000)), timestamp + 1n)

/** The fields in which a request names a token. */
const namedTokens = ({ token, paymentToken }: Intent): Address[] =>
  [token, paymentToken].filter((named): named is Address => typeof named === 'string' && named !== zeroAddress)

const isAction = (name: string): name is ActionName => name in actions

/** The planner of all chains. */
export const createPlanner = (sources: PlanSources) => {
  const eventTokens = createEventTokens(sources.chains)
  const turn = createTurns({ restMs: REST_MS })
  const chains: Chains = new Map([...sources.chains].map(([chainId, chain]) => [chainId, inTurns(chain, turn)]))
  const refuse = () => unavailable('too many plans at once: retry after 1 s')
  const limits = new Map([...chains.keys()].map((chainId) => [chainId, createConcurrencyLimit({ ...LIMITS, refuse })]))

  const draft = async (situation: Situation, { arguments: terms, expiresAt }: Terms): Promise<Draft> => {
    const { name, intent, chain } = situation
    if (name === 'claim-all') return draftClaims(situation, await readClaimables(situation, sources.lists))
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

  const planOn = (chain: Chain, name: string, intent: Intent, terms: Terms): Promise<Plan> =>
    chain.pinned(
      async (block) => {
        const drafted = await draft({ name, intent, chain, block, time: timeAfter(block) }, terms)
        const plan = await planOf(
          chain,
          { tokens: sources.tokens, eventTokens },
          {
            ...drafted,
            issues: [...terms.issues, ...drafted.issues],
          },
        )
        // The response is encoded in a turn of its own.
        await turn()
        return plan
      },
      // Who has just seen a receipt plans the next step on its block.
      { isFresh: true },
    )

  /**
   * Plans an action. The plans of a chain that wait start in turns of their clients. Those that name a foreign token
   * have the budget of foreign code instead, and so do not keep out others. Throws `service_unavailable` when
   * no node, and for claims no database, is in reach, and when too many plans wait, the reason of `disconnected` when it
   * aborts before the plan starts, and as the pricing client does.
   */
  return async (name: string, intent: Intent, { address, disconnected }: Client): Promise<Plan> => {
    const chain = chainOf(chains, intent.chainId)
    const limited = limits.get(intent.chainId)
    if (limited === undefined) throw unavailable(`chain ${intent.chainId} is not configured`)
    // Before the limit and the block: a slow engine must not hold up other plans, nor let the block grow old.
    const terms =
      name === 'create-event' ? await eventTerms(sources.pricing, intent, intent.from, chain.deployment) : NO_TERMS
    const run = () => planOn(chain, name, intent, terms)
    return namedTokens(intent).some((token) => chain.isForeign(token))
      ? chain.runForeign(run, { address, disconnected })
      : limited(run, disconnected, address)
  }
}

export type Planner = ReturnType<typeof createPlanner>
