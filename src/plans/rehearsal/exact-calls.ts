import type { Address } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import { viewCall } from '../../chain/rpc/requests.ts'
import type { Outcome } from '../../chain/rpc/transport.ts'
import { call } from '../../protocol/abi/outputs.ts'
import type { Draft } from '../draft/contents.ts'
import type { EventTokens } from '../steps/event-tokens.ts'
import { eventOf, type Facts, factRequests, factsOf } from '../steps/facts.ts'
import { type Rehearsal, rehearse } from '../steps/rehearse.ts'
import { createdReads } from './created.ts'
import { type Account, accountOf, accountRequests } from './gas.ts'
import { plainRequests } from './unsimulated.ts'

type Rehearsed = {
  readonly rehearsal: Rehearsal
  readonly account: Account
  /** The token of each step; null when it has none or it is unknown. */
  readonly tokenOf: readonly (Address | null)[]
  /** What is known of each step's entity, and of the event that it belongs to. */
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
  const unread = draft.facts === null ? steps.map(({ entity }) => factRequests(entity, diamond, block.hash)) : []
  const eventIds = [...new Set([...draft.eventIds, ...(draft.facts ?? []).flatMap((each) => eventOf(each) ?? [])])]
  const met = eventIds.flatMap((id) => eventTokens.known(chainId, id) ?? [])
  const tokens = [...new Set([...draft.tokens, ...met, ...more])]
  const { rehearsal, outcomes, instead } = await rehearse(
    chain,
    at,
    {
      from,
      steps,
      tokens,
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
  const byEvent = <T>(read: readonly Outcome<T>[]): ReadonlyMap<bigint, T> =>
    new Map(eventIds.flatMap((id, nth) => (read[nth]?.ok ? [[id, read[nth].value]] : [])))
  const [tokenOfEvent, cores, stats] = [byEvent(outcomes.tokens), byEvent(outcomes.cores), byEvent(outcomes.stats)]
  for (const [id, token] of tokenOfEvent) eventTokens.learn(chainId, id, token)
  const further = [...tokenOfEvent.values()].filter((token) => !tokens.includes(token))
  if (further.length > 0 && more.length === 0) return rehearseDraft(chain, eventTokens, draft, further)
  const left = [...outcomes.facts]
  const facts = draft.facts ?? steps.map(({ entity }, nth) => factsOf(entity, left.splice(0, unread[nth]?.length ?? 0)))
  const known = facts.map((each): Facts => {
    const eventId = eventOf(each) ?? 0n
    const [core, ofEvent] = [each.core ?? cores.get(eventId), each.stats ?? stats.get(eventId)]
    return { ...each, ...(core && { core }), ...(ofEvent && { stats: ofEvent }) }
  })
  const tokenOf = facts.map((each) => tokenOfEvent.get(eventOf(each) ?? 0n) ?? price?.token ?? null)
  return { rehearsal, account: accountOf(outcomes), tokenOf, facts: known, plain: instead }
}
