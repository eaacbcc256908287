import { callAction } from '../draft/definition.ts'
import { notOpen, ownDeposit } from '../steps/checks.ts'

export const withdrawCapital = callAction({
  summary: "withdraw a deposit's capital",
  description: "Withdraws a deposit's share of the capital that remains after payouts, once its event is settled.",
  function: 'withdrawCapital',
  entity: 'deposit',
  pays: { gross: () => null },
  checks: [...ownDeposit, notOpen, { code: 'already_withdrawn', fails: ({ deposit }) => deposit?.withdrawn === true }],
  sentence: ([id]) => `withdraw the capital of deposit ${id}`,
})
