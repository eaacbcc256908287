import type { Address } from 'viem'
import type { Chain } from '../chain/chain.ts'
import { viewCall } from '../chain/rpc/requests.ts'
import type { Outcome } from '../chain/rpc/transport.ts'
import { call } from '../protocol/outputs.ts'
import type { Draft } from './draft.ts'
import { createdReads } from './effects.ts'
import type { EventTokens } from './event-tokens.ts'
import { type Account, accountOf, accountRequests } from './gas.ts'
import { type Rehearsal, rehearse } from './rehearse.ts'
import { eventOf, type Facts, factRequests, factsOf } from './subjects.ts'
import { plainRequests } from './unsimulated.ts'

type Rehearsed = {
  readonly rehearsal: Rehearsal
  readonly account: Account
  /** The token of each step; null when it has none or it is unknown. */
  readonly tokenOf: readonly (Address | null)[]
  /** What is known of each step's subject, and of the event that it belongs to. */
  readonly facts: readonly Facts[]
  /** The outcomes of `plainRequests` when nothing was simulated. */
  readonly plain: readonly Outcome<unknown>[]
}

/** Simulates the exact steps; twice when the events turn out to be paid in further tokens. */
export const rehearseDraft = async (
  chain: Chain,
  eventTokens: EventTokens,
  draft: Draft,
  more: readonly Address[] = [],
): Promise<Rehearsed> => {
  const { block, from, steps, price, time, createdId } = draft
  const at = { blockHash: block.hash, time }
  const { chainId, diamond } = chain.deployment
  const unread = draft.facts === null ? steps.map(({ subject }) => factRequests(subject, diamond, block.hash)) : []
  const eventIds = [...new Set([...draft.eventIds, ...(draft.facts ?? []).flatMap((each) => eventOf(each) ?? [])])]
  const met = eventIds.flatMap((id) => eventTokens.known(chainId, id) ?? [])
  const tokens = [...new Set([...draft.tokens, ...met, ...more])]
  const { rehearsal, outcomes, instead } = await rehearse(
    chain,
    at,
    {
      ...{ from, steps, tokens },
      after: createdReads(steps.at(-1), createdId, diamond),
      instead: () => plainRequests(draft, chain.deployment),
    },
    {
      ...accountRequests(from, steps, at.blockHash),
      facts: unread.flat(),
      tokens: eventIds.map((id) => viewCall(diamond, call('getEventPaymentToken', [id]), at)),
      cores: eventIds.map((id) => viewCall(diamond, call('getHedgeEventCore', [id]), at)),
      stats: eventIds.map((id) => viewCall(diamond, call('getHedgeEventStats', [id]), at)),
    },
  )
  const left = [...outcomes.facts]
  const facts =
    draft.facts ?? steps.map(({ subject }, nth) => factsOf(subject, left.splice(0, unread[nth]?.length ?? 0)))
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
  const stats = new Map(
    eventIds.flatMap((id, nth) => (outcomes.stats[nth]?.ok ? [[id, outcomes.stats[nth].value]] : [])),
  )
  const known = facts.map((each): Facts => {
    const eventId = eventOf(each) ?? 0n
    const [core, ofEvent] = [each.core ?? cores.get(eventId), each.stats ?? stats.get(eventId)]
    return { ...each, ...(core && { core }), ...(ofEvent && { stats: ofEvent }) }
  })
  return { rehearsal, account: accountOf(outcomes), tokenOf, facts: known, plain: instead }
}
