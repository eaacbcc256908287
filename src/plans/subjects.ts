import type { Address, Hex } from 'viem'
import { type Request, viewCall } from '../chain/rpc/requests.ts'
import type { Outcome } from '../chain/rpc/transport.ts'
import { type Call, call, type Output } from '../protocol/outputs.ts'

/*
 * What the call of a plan is about: an event, or the deposit or position that its first argument names, as the chain
 * has it before the call.
 */

const eventViews = (id: bigint) => ({
  core: call('getHedgeEventCore', [id]),
  stats: call('getHedgeEventStats', [id]),
  token: call('getEventPaymentToken', [id]),
})

const depositViews = (id: bigint) => ({
  deposit: call('getHedgeLpDeposit', [id]),
  pending: call('pendingPremiums', [id]),
})

const positionViews = (id: bigint) => ({ position: call('getHedgePosition', [id]) })

const viewsOf = { event: eventViews, deposit: depositViews, position: positionViews } as const

export type Subject = keyof typeof viewsOf

type Views = ReturnType<typeof eventViews> & ReturnType<typeof depositViews> & ReturnType<typeof positionViews>

/** The outputs of a subject's views by name; those that reverted are left out. */
export type Facts = { readonly [N in keyof Views]?: Views[N] extends Call<infer T> ? T : never }

/** The requests of a subject's views at a block, in the order that `factsOf` expects. */
export const factRequests = (subject: Subject, id: bigint, diamond: Address, blockHash: Hex): Request<unknown>[] =>
  Object.values<Call>(viewsOf[subject](id)).map((view) => viewCall(diamond, view, { blockHash }))

/** The outputs of the answers to `factRequests`. */
export const factsOf = (subject: Subject, outcomes: readonly Outcome<unknown>[]): Facts => {
  const names = Object.keys(viewsOf[subject](0n))
  return Object.fromEntries(names.flatMap((name, at) => (outcomes[at]?.ok ? [[name, outcomes[at].value]] : [])))
}

/** The event that a subject is or belongs to; null when it does not exist. */
export const eventOf = ({ core, deposit, position }: Facts): bigint | null => {
  const eventId = core?.id ?? deposit?.eventId ?? position?.eventId ?? 0n
  return eventId === 0n ? null : eventId
}

/** The status of a position whose payout can be claimed. */
const CLAIMABLE: Output<'getHedgePosition'>['status'] = 4

/**
 * What each kind of claim pays before fees, in token units; null when the chain does not say it, because no fee is
 * taken.
 */
export const grossOf = {
  payout: ({ position }: Facts) => (position?.status === CLAIMABLE ? position.payoutAmount : 0n),
  premiums: ({ pending }: Facts) => pending ?? 0n,
  capital: () => null,
  'creator-earnings': ({ stats }: Facts) => stats?.creatorEarnings ?? 0n,
} as const satisfies Readonly<Record<string, (facts: Facts) => bigint | null>>

export type Payable = keyof typeof grossOf
