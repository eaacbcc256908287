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
import type { ListSources } from '../reads/lists/sources.ts'
import { type Chains, chainOf } from '../reads/read.ts'
import { type ActionName, actions } from './actions/table.ts'
import { planOf } from './answer/plan.ts'
import type { Plan } from './answer/schema.ts'
import type { ActionDefinition } from './draft/definition.ts'
import type { Intent } from './draft/request-body.ts'
import type { Prepared } from './draft/situation.ts'
import { inTurns, REST_MS } from './in-turns.ts'
import { createEventTokens } from './steps/event-tokens.ts'

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

/** What an action has that asks for nothing before its block is read. */
const NOTHING: Prepared = { arguments: {}, expiresAt: null, issues: [] }

/** The planner of all chains. */
export const createPlanner = ({ tokens, pricing, lists, ...sources }: PlanSources) => {
  const eventTokens = createEventTokens(sources.chains)
  const turn = createTurns({ restMs: REST_MS })
  const chains: Chains = new Map([...sources.chains].map(([chainId, chain]) => [chainId, inTurns(chain, turn)]))
  const refuse = () => unavailable('too many plans at once: retry after 1 s')
  const limits = new Map([...chains.keys()].map((chainId) => [chainId, createConcurrencyLimit({ ...LIMITS, refuse })]))

  const planOn = (chain: Chain, name: ActionName, intent: Intent, prepared: Prepared): Promise<Plan> =>
    chain.pinned(
      async (block) => {
        const situation = { name, intent, prepared, chain, block, time: timeAfter(block), eventTokens, lists }
        const drafted = await actions[name].draft(situation)
        const issues = [...prepared.issues, ...drafted.issues]
        const plan = await planOf(chain, { tokens, eventTokens }, { ...drafted, issues })
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
  return async (name: ActionName, intent: Intent, { address, disconnected }: Client): Promise<Plan> => {
    const chain = chainOf(chains, intent.chainId)
    const limited = limits.get(intent.chainId)
    if (limited === undefined) throw unavailable(`chain ${intent.chainId} is not configured`)
    // Before the limit and the block: a slow engine must not hold up other plans, nor let the block grow old.
    const { prepare }: ActionDefinition = actions[name]
    const prepared = prepare ? await prepare(pricing, intent, chain.deployment) : NOTHING
    const run = () => planOn(chain, name, intent, prepared)
    return namedTokens(intent).some((token) => chain.isForeign(token))
      ? chain.runForeign(run, { address, disconnected })
      : limited(run, disconnected, address)
  }
}

export type Planner = ReturnType<typeof createPlanner>
