import type { PostPath, RequestBody } from 'fx-protection-client'
import type { Address } from 'viem'
import type { people } from './chain.ts'

export type PlanPath = Extract<PostPath, `/v1/plans/${string}`>

type Quote = NonNullable<RequestBody<'/v1/plans/create-event'>['quote']>

/** The body of every plan, as the typed client takes it. One that is missing here does not compile. */
export const planBodies = (
  addressOf: (person: keyof typeof people) => Address,
  token: Address,
  quote: Quote,
): { readonly [Path in PlanPath]: RequestBody<Path> } => {
  const chainId = 8453
  const seed = { initialLiquidity: 75_000_000_000n, paymentToken: token }
  return {
    '/v1/plans/create-event': {
      ...{ chainId, from: addressOf('creator'), name: 'Cedi importers Q4', allowExternalLp: true, ...seed, quote },
    },
    '/v1/plans/deposit': { chainId, from: addressOf('lp'), eventId: 3, amount: 1_000_000_000n },
    '/v1/plans/buy-protection': { chainId, from: addressOf('hedger'), eventId: 3, notional: 10_000_000_000n },
    '/v1/plans/claim-payout': { chainId, from: addressOf('hedger'), positionId: 2 },
    '/v1/plans/claim-premiums': { chainId, from: addressOf('lp'), depositId: 3 },
    '/v1/plans/withdraw-capital': { chainId, from: addressOf('lp'), depositId: 3 },
    '/v1/plans/withdraw-creator-earnings': { chainId, from: addressOf('creator'), eventId: 2 },
    '/v1/plans/set-pool-settings': {
      chainId,
      from: addressOf('creator'),
      eventId: 3,
      poolOpen: false,
      allowExternalLp: false,
    },
    '/v1/plans/submit-rate': { chainId, from: addressOf('secondOracle'), eventId: 4, price: 11_900_000n },
    '/v1/plans/claim-all': { chainId, from: addressOf('lp') },
    '/v1/plans/revoke-approval': { chainId, from: addressOf('hedger'), token },
  }
}
