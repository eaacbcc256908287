import { callAction } from '../draft/definition.ts'
import { eventFound, notSettled, ofCreator } from '../steps/checks.ts'

export const setPoolSettings = callAction({
  summary: "open or close an event's pool",
  description:
    'Opens or closes a pool to deposits and purchases, and allows or refuses other liquidity providers. Only the creator of the event can do so.',
  function: 'setPoolSettings',
  entity: 'event',
  checks: [eventFound, ofCreator, notSettled],
  sentence: ([id, isOpen, isExternal]) =>
    `${isOpen === true ? 'open' : 'close'} the pool of event ${id} and ${isExternal === true ? 'allow' : 'refuse'} other liquidity providers`,
})
