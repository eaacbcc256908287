import type { z } from 'zod'
import { figureNames, type Holding } from '../../db/queries/portfolios.ts'
import type { Kind } from '../../protocol/entities.ts'
import { Amount, decimal, Integer, integer } from '../../protocol/fields/response-fields.ts'
import type { Fold } from '../../protocol/history/fold.ts'
import { Utilization } from '../../protocol/records.ts'
import { heldAt } from '../history/holdings.ts'

/** A figure of a series: its schema, and its value for what the series is of. */
export type Figure<Of> = { readonly schema: z.ZodType; readonly value: (of: Of) => string | number | null }

type EventState = ReturnType<Fold['event']> & { readonly payouts: bigint }

const eventAmount = (name: keyof EventState, description: string): Figure<EventState> => ({
  schema: Amount.nullable().meta({ description }),
  value: (state) => {
    const amount = state[name]
    return typeof amount === 'bigint' ? decimal(amount) : null
  },
})

const count = (name: 'lpCount' | 'hedgerCount', description: string): Figure<EventState> => ({
  schema: Integer.meta({ description }),
  value: (state) => integer(state[name]),
})

/** The figures of an event, by its state after the logs up to a time. */
export const eventFigures = {
  liquidity: eventAmount(
    'totalLiquidity',
    '`totalLiquidity` of the stats, which a withdrawal of capital does not reduce',
  ),
  exposure: eventAmount('totalExposure', '`totalExposure` of the stats'),
  maxPayout: eventAmount('totalMaxPayout', '`totalMaxPayout` of the stats'),
  utilization: {
    schema: Utilization.shape.utilizationRate,
    value: ({ utilizationPercent }) => decimal(utilizationPercent),
  },
  premiums: eventAmount('totalPremiums', '`totalPremiums` of the stats'),
  payouts: eventAmount('payouts', 'Payouts that were claimed so far, before their fees'),
  creatorEarnings: eventAmount(
    'creatorEarnings',
    '`creatorEarnings` of the stats; null where the fee rates of the event are not known',
  ),
  deposits: count('lpCount', '`lpCount` of the stats'),
  positions: count('hedgerCount', '`hedgerCount` of the stats'),
} as const satisfies Readonly<Record<string, Figure<EventState>>>

/** The state of an event that its figures are made of. */
export const eventState = (fold: Fold, time: bigint): EventState => ({ ...fold.event(time), payouts: fold.payouts() })

type DepositState = NonNullable<ReturnType<Fold['deposit']>> &
  NonNullable<ReturnType<Fold['capital']>> & { readonly earned: bigint }

const depositAmount = (description: string, amount: (state: DepositState) => bigint): Figure<DepositState> => ({
  schema: Amount.meta({ description }),
  value: (state) => decimal(amount(state)),
})

/** The figures of a deposit. */
export const depositFigures = {
  deposited: depositAmount('Its capital; 0 once it is withdrawn', ({ deposited }) => deposited),
  capital: depositAmount(
    'What remains of its capital after payouts: the least that is possible until the event is settled; 0 once it is withdrawn',
    ({ remaining }) => remaining,
  ),
  premiumsEarned: depositAmount(
    '`premiumsEarned` of the deposit',
    ({ premiumsClaimed, pending }) => premiumsClaimed + pending,
  ),
  earned: depositAmount(
    'Premiums earned since the point before it; at the first point, since the creation',
    ({ earned }) => earned,
  ),
  premiumsClaimed: depositAmount('`premiumsClaimed` of the deposit', ({ premiumsClaimed }) => premiumsClaimed),
  claimable: depositAmount('Premiums that can be claimed, before the fee', ({ pending }) => pending),
  value: depositAmount('`capital` and `claimable`', ({ remaining, pending }) => remaining + pending),
} as const satisfies Readonly<Record<string, Figure<DepositState>>>

/** Reads the states of a deposit that its figures are made of, at one point after the other; null before its creation. */
export const depositStates = (id: bigint): ((fold: Fold) => DepositState | null) => {
  let before = 0n
  return (fold) => {
    const [state, capital] = [fold.deposit(id), fold.capital(id)]
    if (state === null || capital === null) return null
    const all = state.premiumsClaimed + state.pending
    const earned = all - before
    before = all
    return { ...state, ...capital, earned }
  }
}

/** An entity of a wallet with its kind. */
export type KindHolding = { readonly kind: Kind; readonly holding: Holding }

type Sums = ReadonlyMap<string, bigint>

const sumOf = (name: string, description: string): Figure<Sums> => ({
  schema: Amount.meta({ description }),
  value: (sums) => decimal(sums.get(name) ?? 0n),
})

/** The figures of a wallet in one token: those of the totals of its portfolio with all of its rows. */
export const walletFigures = {
  notional: sumOf('notional', 'Notional of all its positions so far'),
  premiumPaid: sumOf('premiumPaid', 'Premiums paid for all its positions so far'),
  deposited: sumOf('deposited', 'Capital of its deposits that is not withdrawn'),
  payout: sumOf('payout', 'Payouts that can be claimed'),
  premiums: sumOf('premiums', 'LP premiums that can be claimed'),
  capital: sumOf('capital', 'LP capital that can be withdrawn'),
  creatorEarnings: sumOf('creatorEarnings', 'Creator earnings that can be withdrawn'),
} as const satisfies Readonly<Record<string, Figure<Sums>>>

/** Adds the figures of a wallet's entities of an event at a time to sums. Those that do not exist yet have none. */
export const addHoldings = (
  sums: Map<string, bigint>,
  fold: Fold,
  time: bigint,
  holdings: readonly KindHolding[],
): void => {
  for (const { kind, holding } of holdings) {
    const id = BigInt(holding.row.id)
    const exists = kind === 'event' ? time >= BigInt(holding.row.blockTimestamp) : fold[kind](id) !== null
    if (!exists) continue
    const { figures } = heldAt[kind]({ fold, block: { timestamp: time } }, holding)
    for (const [at, name] of figureNames[kind].entries()) sums.set(name, (sums.get(name) ?? 0n) + (figures[at] ?? 0n))
  }
}
