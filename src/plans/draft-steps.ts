import type { Address } from 'viem'
import type { Chain } from '../chain/chain.ts'
import type { Block } from '../chain/rpc/requests.ts'
import { entities } from '../protocol/entities.ts'
import { claimablesIn, portfoliosOf, type WalletClaimable } from '../reads/listings/portfolio.ts'
import type { ListSources } from '../reads/listings/sources.ts'
import { type Action, type ActionName, actions } from './actions.ts'
import { baseOf, type Draft, type Situation, tokensOf } from './draft.ts'
import { actionStep, type Step } from './step.ts'
import { type Facts, factRequests, factsOf, type Payable } from './subjects.ts'

/**
 * Most claims that are simulated for a plan: those that revert must not keep the others out of it. With 100 claims, the
 * plan would take a fourth request to a node.
 */
const MAX_TRIED = 80

/** Reads the facts of the subjects of steps at a block. */
const readFacts = async ({ send, deployment }: Chain, block: Block, steps: readonly Step[]): Promise<Facts[]> => {
  const requests = steps.map(({ subject }) => factRequests(subject, deployment.diamond, block.hash))
  if (requests.flat().length === 0) return steps.map(() => ({}))
  const { outcomes } = await send({ outcomes: requests.flat() })
  const left = [...outcomes]
  return steps.map(({ subject }, nth) => factsOf(subject, left.splice(0, requests[nth]?.length)))
}

/** Drafts steps that need no approval. */
export const draftSteps = async (
  situation: Situation,
  steps: readonly Step[],
  tokens: readonly Address[],
): Promise<Draft> => ({
  ...baseOf(situation),
  ...{ steps, price: null, maxCost: null, createdId: null },
  facts: await readFacts(situation.chain, situation.block, steps),
  tokens: [...new Set([...tokensOf(situation.chain), ...tokens])],
})

/** The action that claims each kind of claim, and the kind of entity that it is about. */
const claimActions = new Map(
  (Object.entries(actions) as [ActionName, Action][]).flatMap(([name, action]) =>
    action.pays === null || action.subject === null
      ? []
      : [[action.pays as string, { name, action, argument: entities[action.subject].created.id }] as const],
  ),
)

/** The kind of claim whose amount the other claims change. */
const EARNINGS: Payable = 'creator-earnings'

/** Something that can be claimed. */
type Claimable = Pick<WalletClaimable, 'kind' | 'id' | 'eventId' | 'token'>

/** Drafts the claims of what the index knows to be claimable. */
export const draftClaims = (situation: Situation, claimables: readonly Claimable[]): Draft => {
  const { chainId, deployment } = situation.chain
  // The fees of other claims add to the earnings of a creator.
  const found = claimables.toSorted((a, b) => Number(a.kind === EARNINGS) - Number(b.kind === EARNINGS))
  const taken = found.slice(0, MAX_TRIED)
  const steps = taken.flatMap(({ kind, id }): Step[] => {
    const claim = claimActions.get(kind)
    if (claim === undefined) return []
    const { name, action, argument } = claim
    return [actionStep(`${name}-${id}`, action, { chainId, [argument]: BigInt(id) }, deployment)]
  })
  const ofEvents = new Set(taken.map(({ token }) => token as Address))
  for (const token of ofEvents) situation.chain.learnToken(token)
  const tokens = [...tokensOf(situation.chain), ...ofEvents]
  // A claim may have been made since the block of the index, or its token may refuse the transfer.
  return {
    ...baseOf(situation),
    ...{ steps, price: null, maxCost: null, createdId: null },
    // A request of its own would be the fourth one: two simulations follow.
    facts: null,
    eventIds: [...new Set(taken.map(({ eventId }) => BigInt(eventId)))],
    tokens: [...new Set(tokens)],
    isPartial: true,
    remaining: found.length - taken.length,
  }
}

/** Reads what the index knows to be claimable. Throws as `portfoliosOf` does. */
export const readClaimables = async ({ intent, chain }: Situation, lists: ListSources): Promise<readonly Claimable[]> =>
  claimablesIn(await portfoliosOf(lists, { wallets: [intent.from], chainIds: [chain.chainId] })).claimables
