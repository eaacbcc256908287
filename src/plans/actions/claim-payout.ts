import { statusNumber } from '../../protocol/statuses.ts'
import { callAction } from '../draft/definition.ts'
import { isMissing, notOpen, ownedBy } from '../steps/checks.ts'
import type { Facts } from '../steps/facts.ts'

/** The status of a position whose payout can be claimed. */
const CLAIMABLE = statusNumber('position', 'claimable')

/**
 * Seconds from a settlement after which the protocol may take the payouts that were not claimed. Deployments differ in who
 * may call `recoverExpiredPayouts`, and not in this time, which no view returns.
 */
const GRACE = 7_776_000n

const gross = ({ position }: Facts): bigint => (position?.status === CLAIMABLE ? position.payoutAmount : 0n)

export const claimPayout = callAction({
  summary: "claim a position's payout",
  description:
    'Claims the payout of a position after its event was settled in the payout zone. `payout` has the amount before and after the fee.',
  function: 'claimPayout',
  entity: 'position',
  pays: {
    gross,
    lastSecond: ({ stats, ...of }) => (stats !== undefined && gross(of) > 0n ? stats.settledAt + GRACE - 1n : null),
  },
  checks: [
    { code: 'position_not_found', fails: ({ position }) => isMissing(position?.id) },
    ownedBy('not_your_position', ({ position }) => position?.hedger),
    { code: 'already_claimed', fails: ({ position }) => position?.claimed === true },
    notOpen,
    { code: 'no_payout', fails: (facts) => gross(facts) === 0n },
  ],
  sentence: ([id]) => `claim the payout of position ${id}`,
})
