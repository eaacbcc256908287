import { rateText } from '../../protocol/sentence.ts'
import { callAction } from '../draft/definition.ts'
import { eventFound, isExpired, notSettled } from '../steps/checks.ts'

export const submitRate = callAction({
  summary: "submit an event's settlement rate",
  description: 'Submits a settlement rate after expiry. Only a registered oracle can do so.',
  function: 'submitRate',
  entity: 'event',
  checks: [eventFound, notSettled, { code: 'event_not_expired', fails: (...at) => !isExpired(...at) }],
  sentence: ([id, price]) => `submit ${rateText(price as bigint)} as the settlement rate of event ${id}`,
})
