import { z } from 'zod'
import { Amount, decimal } from './fields/response-fields.ts'
import { feeAmount } from './formulas.ts'
import { ACTIVE, type Position } from './records.ts'

/** Why the fee on a claim is not known. */
const feeReasons = ['rates_unknown', 'rates_contradicted'] as const

/** The rate of the fee on a claim (1e6), or why it is not known. */
export type FeeRate = bigint | (typeof feeReasons)[number]

export const feeFields = {
  fee: Amount.nullable().meta({
    description: "The protocol's fee on it, by the rates at the event's creation; null when `feeReason` has a reason",
  }),
  net: Amount.nullable().meta({ description: 'What the claim pays: the amount minus the fee' }),
  feeReason: z.enum(feeReasons).nullable().optional().meta({
    description:
      'Why `fee` and `net` are null. `rates_unknown`: the index does not know the rates at the creation of the event yet; `rates_contradicted`: the rates that the protocol reports are not those that its logs set, so that none are certain',
  }),
}

/** The fee on a claim of `gross` and the amount after it; null with the reason where the fee rate is not known. */
export const feeOn = (gross: bigint, feeRate: FeeRate) => {
  if (typeof feeRate !== 'bigint') return { fee: null, net: null, feeReason: feeRate }
  const fee = feeAmount(gross, feeRate)
  return { fee: decimal(fee), net: decimal(gross - fee), feeReason: null }
}

export const Payout = z.object({
  gross: Amount.meta({ description: '`payoutAmount`' }),
  ...feeFields,
})

/** What a position's payout is before and after the protocol's fee; null until its event is settled. */
export const payout = (
  { status, payoutAmount }: z.output<typeof Position>,
  feeRate: FeeRate,
): z.output<typeof Payout> | null =>
  status === ACTIVE ? null : { gross: payoutAmount, ...feeOn(BigInt(payoutAmount), feeRate) }
