import { capacityOf, type Row } from 'fx-protection-client'
import { moneyText } from '../text/money.ts'
import { readField } from './fields.ts'

type EventRow = Pick<
  Row<'/v1/hedge/events'>,
  'status' | 'poolOpen' | 'expiryDate' | 'utilization' | 'symbol' | 'decimals'
>

/** A notional in units of the token, null where there is none, and what is wrong with it; empty when it is missing. */
export type Notional = { readonly notional: bigint | null; readonly problem?: string }

/** What a person typed as a notional of an event, at a time in Unix seconds. */
export const notionalOf = (text: string, event: EventRow, now = Date.now() / 1_000): Notional => {
  const read = readField('notional', text, { decimals: event.decimals ?? 0 })
  if (read === undefined || 'problem' in read) return { notional: null, problem: read?.problem ?? '' }
  const notional = BigInt(String(read.value))
  const capacity = event.utilization && capacityOf(event, event.utilization, now)
  if (capacity === undefined || notional <= capacity) return { notional }
  const problem = capacity === 0n ? 'Nothing can be bought now.' : `Only ${moneyText(capacity, event)} can be bought.`
  return { notional, problem }
}
