import { callAction } from '../draft/definition.ts'
import { ownDeposit } from '../steps/checks.ts'
import type { Facts } from '../steps/facts.ts'

const gross = ({ pending }: Facts): bigint => pending ?? 0n

export const claimPremiums = callAction({
  summary: "claim a deposit's premiums",
  description: 'Claims the premiums that a deposit has earned so far. The capital stays in the pool.',
  function: 'claimPremiums',
  entity: 'deposit',
  pays: { gross },
  checks: [...ownDeposit, { code: 'no_premiums', fails: (facts) => gross(facts) === 0n }],
  sentence: ([id]) => `claim the premiums of deposit ${id}`,
})
