import { callAction } from '../draft/definition.ts'
import { eventFound, ofCreator } from '../steps/checks.ts'

export const withdrawCreatorEarnings = callAction({
  summary: "withdraw an event creator's earnings",
  description: "Pays out the creator's share of the fees of an event. Only its creator can do so.",
  function: 'withdrawCreatorEarnings',
  entity: 'event',
  // Earlier steps of the plan may have added to the earnings.
  pays: { gross: () => null },
  checks: [eventFound, ofCreator, { code: 'no_earnings', fails: ({ stats }) => (stats?.creatorEarnings ?? 0n) === 0n }],
  sentence: ([id]) => `withdraw the creator's earnings of event ${id}`,
})
