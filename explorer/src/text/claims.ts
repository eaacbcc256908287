import type { Schemas } from 'fx-protection-client'

type Kind = Schemas['Portfolio']['claimables'][number]['kind']

/** What can be claimed: its name, what it belongs to, its plan, and the parameter of the plan with the id. */
export const claims = {
  payout: { name: 'Payout', of: 'position', plan: 'claim-payout', id: 'positionId' },
  premiums: { name: 'Premiums', of: 'deposit', plan: 'claim-premiums', id: 'depositId' },
  capital: { name: 'Capital', of: 'deposit', plan: 'withdraw-capital', id: 'depositId' },
  'creator-earnings': { name: 'Creator earnings', of: 'event', plan: 'withdraw-creator-earnings', id: 'eventId' },
} as const satisfies Readonly<Record<Kind, unknown>>

export type Claim = { readonly kind: Kind; readonly chainId: number; readonly id: number }

/** The page that claims it, for the wallet that owns it. */
export const claimPath = ({ kind, chainId, id }: Claim, wallet: string): string =>
  `/act/${claims[kind].plan}?chainId=${chainId}&${claims[kind].id}=${id}&from=${wallet}`
