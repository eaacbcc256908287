import type { Row } from 'fx-protection-client'
import { moneyText } from '../text/money.ts'
import { chainText, conditionText } from '../text/terms.ts'

export type EventRow = Row<'/v1/hedge/events'>
type Terms = Parameters<typeof conditionText>[0]
export type Owned = Row<'/v1/hedge/positions'> | Row<'/v1/hedge/deposits'>

/** `USD/MXN above 19.2, Peso remittances (event 9)`. */
export const eventLabel = (event: Pick<EventRow, 'id' | 'name' | keyof Terms>): string =>
  `${conditionText(event)}, ${chainText(event.name, 30)} (event ${event.id})`

/** `1,000 USDC, USD/MXN above 19.2 (position 66)`. */
export const ownLabel = (row: Owned): string => {
  const [kind, amount] = 'notional' in row ? ['position', row.notional] : ['deposit', row.amount]
  const of = row.event ? conditionText(row.event) : `event ${row.eventId}`
  return `${moneyText(amount, row)}, ${of} (${kind} ${row.id})`
}
