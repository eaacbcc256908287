import type { Address } from 'viem'
import { claimablesIn, portfoliosOf, type WalletClaimable } from '../../reads/portfolio/portfolio.ts'
import { baseOf, type Draft, MAX_CLAIMS, tokensOf } from '../draft/contents.ts'
import type { ActionDefinition } from '../draft/definition.ts'
import { requestBody } from '../draft/request-body.ts'
import type { Situation } from '../draft/situation.ts'
import { actionStep, firstArgument } from '../steps/step.ts'
import { claimPayout } from './claim-payout.ts'
import { claimPremiums } from './claim-premiums.ts'
import { withdrawCapital } from './withdraw-capital.ts'
import { withdrawCreatorEarnings } from './withdraw-creator-earnings.ts'

/**
 * Most claims that are simulated for a plan: those that revert must not keep the others out of it. With 100 claims, the
 * plan would take a fourth request to a node.
 */
const MAX_TRIED = 80

/** Something that can be claimed. */
type Claimable = Pick<WalletClaimable, 'kind' | 'id' | 'eventId' | 'token'>

/** The action of each kind of claim, and its name. */
const claims = {
  payout: ['claim-payout', claimPayout],
  premiums: ['claim-premiums', claimPremiums],
  capital: ['withdraw-capital', withdrawCapital],
  'creator-earnings': ['withdraw-creator-earnings', withdrawCreatorEarnings],
} as const satisfies Readonly<Record<Claimable['kind'], unknown>>

/** The kind of claim whose amount the other claims change. */
const EARNINGS: Claimable['kind'] = 'creator-earnings'

/** Drafts the claims of what the index knows to be claimable. @internal */
export const draftClaims = (situation: Situation, claimables: readonly Claimable[]): Draft => {
  const { chainId, deployment } = situation.chain
  // The fees of other claims add to the earnings of a creator.
  const found = claimables.toSorted((a, b) => Number(a.kind === EARNINGS) - Number(b.kind === EARNINGS))
  const taken = found.slice(0, MAX_TRIED)
  const steps = taken.map(({ kind, id }) => {
    const [name, action] = claims[kind]
    return actionStep(`${name}-${id}`, action, { chainId, [firstArgument(action)]: BigInt(id) }, deployment)
  })
  const ofEvents = new Set(taken.map(({ token }) => token as Address))
  for (const token of ofEvents) situation.chain.learnToken(token)
  // A claim may have been made since the block of the index, or its token may refuse the transfer.
  return {
    ...baseOf(situation),
    steps,
    // A request of its own would be the fourth one: two simulations follow.
    facts: null,
    eventIds: [...new Set(taken.map(({ eventId }) => BigInt(eventId)))],
    tokens: [...new Set([...tokensOf(situation.chain), ...ofEvents])],
    isPartial: true,
    remaining: found.length - taken.length,
  }
}

export const claimAll: ActionDefinition = {
  summary: 'claim everything that a wallet can claim on a chain',
  description: `Claims up to ${MAX_CLAIMS} payouts, premiums, capital and creator earnings of a wallet on one chain, each in a step of its own. \`remaining\` counts the rest.`,
  body: requestBody({}),
  async draft(situation) {
    const { intent, chain, lists } = situation
    const portfolios = await portfoliosOf(lists, { wallets: [intent.from], chainIds: [chain.chainId] })
    return draftClaims(situation, claimablesIn(portfolios).claimables)
  },
}
