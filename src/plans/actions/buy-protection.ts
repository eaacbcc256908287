import { feeAmount, premiumAmount } from '../../protocol/formulas.ts'
import { purchaseText } from '../../protocol/sentence.ts'
import type { Body } from '../../tx/compile.ts'
import { callAction } from '../draft/definition.ts'
import { eventFound, isExpired, isSettled, notSettled } from '../steps/checks.ts'
import type { Facts } from '../steps/facts.ts'

const premium = ({ notional }: Body, { core }: Facts): bigint =>
  premiumAmount(notional as bigint, core?.premiumRate ?? 0n)

export const buyProtection = callAction({
  summary: 'buy a position against an event',
  description:
    'Buys a position: works out the premium, the fee and the deadline, and sets `maxCost` to the cost plus `maxCostBps`.',
  function: 'buyProtection',
  entity: 'event',
  spends: {
    premium,
    total(body, facts, { hedgerFeeRate }) {
      const ofPool = premium(body, facts)
      return ofPool + feeAmount(ofPool, hedgerFeeRate)
    },
  },
  creates: 'positionId',
  checks: [
    eventFound,
    {
      code: 'event_expired',
      profile: 'reference',
      fails: (facts, ...at) => isSettled(facts) || isExpired(facts, ...at),
    },
    { ...notSettled, profile: 'deployed' },
    { code: 'pool_closed', fails: ({ core }) => core?.poolOpen === false },
    { code: 'event_expired', profile: 'deployed', fails: isExpired },
  ],
  sentence: ([eventId, notional, maxCost], { event, unit, total }) => {
    const purchase = { eventId: eventId as bigint, notional: notional as bigint }
    return `buy ${purchaseText(event, { ...purchase, ...(total !== null && { maxCost: maxCost as bigint }) }, unit)}`
  },
})
