import type { Address } from 'viem'
import type { Tokens } from '../../src/chain/tokens.ts'
import { type ActionName, actions } from '../../src/plans/actions/table.ts'
import type { Plan } from '../../src/plans/answer/schema.ts'
import type { Prepared } from '../../src/plans/draft/situation.ts'
import { createPlanner, type PlanSources } from '../../src/plans/planner.ts'
import { DAI_AT, planChain, USDC_AT, WALLET, type World } from './plan-chain.ts'

const metadata: Readonly<Record<Address, readonly [string, number]>> = { [USDC_AT]: ['USDC', 6], [DAI_AT]: ['DAI', 18] }

/** Tokens that answer at once, read at the second 1,700,000,000. */
export const knownTokens = (contradicts: NonNullable<ReturnType<Tokens['reading']>>['contradicts'] = null): Tokens => {
  const known: Tokens['known'] = (_, token) => {
    const [symbol, decimals] = metadata[token] ?? [null, null]
    return { token, symbol, decimals }
  }
  const ask: Tokens['ask'] = async (chainId, token) => known(chainId, token) ?? { token, symbol: null, decimals: null }
  return { known, ask, askNamed: ask, reading: () => ({ readAt: 1_700_000_000_999, contradicts }) }
}

const noEngine: PlanSources['pricing'] = {
  quote: () => Promise.reject(new Error('the engine is not asked')),
}

/** The planner of the wallet over a fake chain. Bodies are parsed as the API does, with bigints as texts. */
export const planner = (world: Partial<World>, pricing: PlanSources['pricing'] = noEngine, tokens = knownTokens()) => {
  const { chain } = planChain(world)
  const chains = new Map([[chain.chainId, chain]])
  const plan = createPlanner({ chains, tokens, pricing, lists: {} as never })
  return async (name: ActionName, body: Readonly<Record<string, unknown>>): Promise<Plan> => {
    const texts = Object.entries(body).map(([field, value]) => [
      field,
      typeof value === 'bigint' ? value.toString() : value,
    ])
    const intent = actions[name].body.parse({ chainId: chain.chainId, from: WALLET, ...Object.fromEntries(texts) })
    return plan(name, intent, { address: 'client', disconnected: new AbortController().signal })
  }
}

/** What was prepared for an action that asks for nothing. */
export const unprepared = (expiresAt: bigint | null = null): Prepared => ({ arguments: {}, expiresAt, issues: [] })
