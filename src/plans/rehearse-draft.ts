import type { Address } from 'viem'
import type { Chain } from '../chain/chain.ts'
import { viewCall } from '../chain/rpc/requests.ts'
import { call } from '../protocol/outputs.ts'
import type { Draft } from './draft.ts'
import { createdReads } from './effects.ts'
import type { EventTokens } from './event-tokens.ts'
import { type Account, accountOf, accountRequests } from './gas.ts'
import { type Rehearsal, rehearse } from './rehearse.ts'
import { eventOf, type Facts } from './subjects.ts'

type Rehearsed = {
  readonly rehearsal: Rehearsal
  readonly account: Account
  /** The token of each step; null when it has none or it is unknown. */
  readonly tokenOf: readonly (Address | null)[]
  /** What is known of each step's subject, and of the event that it belongs to. */
  readonly facts: readonly Facts[]
}

/** Simulates the exact steps; twice when the events turn out to be paid in further tokens. */
export const rehearseDraft = async (
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
