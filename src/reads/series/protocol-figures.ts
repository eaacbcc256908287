import type { DaySum } from '../../db/queries/totals.ts'
import { Amount, decimal, Integer, integer } from '../../protocol/fields/response-fields.ts'
import type { LedgerTypeName } from '../../protocol/ledger.ts'
import type { Figure } from './figures.ts'

export type Sum = Pick<DaySum, 'rows' | 'amount' | 'fee' | 'notional'>

/** The sums of all days so far in one token, by type. */
export type Totals = (type: LedgerTypeName) => Sum

const amount = (description: string, value: (of: Totals) => bigint): Figure<Totals> => ({
  schema: Amount.meta({ description }),
  value: (of) => decimal(value(of)),
})

const count = (description: string, type: LedgerTypeName): Figure<Totals> => ({
  schema: Integer.meta({ description }),
  value: (of) => integer(of(type).rows),
})

/** The figures of the protocol in one token. All are sums since its first log. */
export const protocolFigures = {
  events: count('Events created', 'event.created'),
  settlements: count('Events settled', 'event.settled'),
  deposits: count('Deposits', 'deposit.created'),
  positions: count('Positions', 'position.created'),
  claims: count('Payouts claimed', 'payout.claimed'),
  liquidity: amount(
    'Capital of the deposits that are not withdrawn, before payouts',
    (of) => of('deposit.created').amount - of('capital.withdrawn').notional,
  ),
  deposited: amount('Capital of all deposits', (of) => of('deposit.created').amount),
  withdrawn: amount('Capital withdrawn, after payouts', (of) => of('capital.withdrawn').amount),
  exposure: amount(
    'Notional of the positions of events that are not settled',
    (of) => of('position.created').notional - of('event.settled').notional,
  ),
  premiums: amount('Premiums paid', (of) => of('position.created').amount),
  premiumsClaimed: amount('Premiums claimed by LPs, before the fee', (of) => of('premiums.claimed').amount),
  payouts: amount('Payouts claimed, before the fee', (of) => of('payout.claimed').amount),
  recovered: amount('Payouts that were not claimed in time', (of) => of('payouts.recovered').amount),
  fees: amount(
    'Fees on premiums, on premiums claimed and on payouts, with the share of the creators',
    (of) => of('position.created').fee + of('premiums.claimed').fee + of('payout.claimed').fee,
  ),
  earnings: amount('Earnings withdrawn by creators', (of) => of('earnings.withdrawn').amount),
} as const satisfies Readonly<Record<string, Figure<Totals>>>
