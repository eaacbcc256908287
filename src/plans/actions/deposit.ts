import { amountText } from '../../protocol/sentence.ts'
import { callAction } from '../draft/definition.ts'
import { eventFound, notSettled } from '../steps/checks.ts'

export const deposit = callAction({
  summary: "add liquidity to an event's pool",
  description: "Deposits capital into an event's pool and creates a deposit. The cost is the amount.",
  function: 'deposit',
  entity: 'event',
  spends: { total: ({ amount }) => amount as bigint },
  creates: 'depositId',
  checks: [eventFound, notSettled],
  sentence: ([eventId, value], { unit }) => `deposit ${amountText(value as bigint, unit)} into event ${eventId}`,
})
