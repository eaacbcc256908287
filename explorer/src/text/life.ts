import type { Row, Schemas } from 'fx-protection-client'
import { rateText } from './amount.ts'
import { moneyText } from './money.ts'
import { conditionText } from './terms.ts'
import { dateText } from './time.ts'

/** A step of a life. */
export type Step = {
  readonly title: string
  readonly detail?: string
  /** Unix seconds; null where the time is not known or not yet known. */
  readonly at: number | null
  /** The transaction of the step. */
  readonly tx?: string | null
  /** It has not happened yet. */
  readonly ahead?: boolean
}

type Position = Row<'/v1/hedge/positions'>
type Deposit = Row<'/v1/hedge/deposits'>
type Event = Schemas['EventSummary']
type Activity = Schemas['Activity']

/** How long a payout is safe after the settlement, in seconds. Afterwards the protocol may take it. */
const CLAIM_SECONDS = 90 * 86_400

/** What a position is, and what it cost. */
export const positionText = (row: Position, event: Event): string =>
  `Protects ${moneyText(row.notional, row)} against ${conditionText(event)} on ${dateText(event.expiryDate)}. It cost ${moneyText(paidFor(row), row)}.`

/** What a position cost: the premium and the fee on it. */
export const paidFor = ({ premiumPaid, platformFeePaid }: Pick<Position, 'premiumPaid' | 'platformFeePaid'>): bigint =>
  premiumPaid + platformFeePaid

/** Whether a payout can be claimed: there is one, it is not claimed, and the protocol has not taken it. */
export const canClaim = ({ payoutAmount, claimed }: Position, activity: readonly Activity[]): boolean =>
  payoutAmount > 0n && !claimed && !activity.some(({ type }) => type === 'payouts.recovered')

/** What became of a position. */
export const outcomeText = (row: Position, event: Event, activity: readonly Activity[]): string => {
  if (event.state === 'open') return `The event is open until ${dateText(event.expiryDate)}.`
  if (event.state === 'expired') return 'The event has expired and waits for the rate of the oracles.'
  const settled = `The event was settled at ${rateText(event.settlementPrice)}.`
  const payout = moneyText(row.payout?.net ?? row.payoutAmount, row)
  if (row.claimed) return `${settled} The payout of ${payout} was claimed.`
  if (row.payoutAmount === 0n) return `${settled} That is outside of the payout zone, so nothing is paid.`
  if (canClaim(row, activity)) return `${settled} A payout of ${payout} can be claimed.`
  return `${settled} The payout was not claimed in time, and the protocol has taken it.`
}

const txOf = (activity: readonly Activity[], type: Activity['type']): string | null =>
  activity.find((row) => row.type === type)?.txHash ?? null

/** The expiry of an event and its settlement. */
const eventSteps = (event: Event, activity: readonly Activity[], paid: string, unpaid: string): Step[] => {
  const isOpen = event.state === 'open'
  const expiry = { title: isOpen ? 'The event expires' : 'The event expired', at: event.expiryDate, ahead: isOpen }
  if (event.settledAt === 0) {
    const detail = 'Oracles submit the rate after the expiry.'
    return [expiry, { title: 'Settlement', at: null, detail, ahead: true }]
  }
  const title = `Settled at ${rateText(event.settlementPrice)}`
  const tx = txOf(activity, 'event.settled')
  return [expiry, { title, at: event.settledAt, detail: event.triggered ? paid : unpaid, tx }]
}

/** The life of a position. `activity` is that of its event's settlement. */
export const positionLife = (row: Position, event: Event, activity: readonly Activity[]): readonly Step[] => {
  const steps: Step[] = [
    {
      title: 'Protection bought',
      at: row.createdAt,
      detail: `${moneyText(row.notional, row)} of notional for ${moneyText(paidFor(row), row)}.`,
      tx: row.createdTx,
    },
    ...eventSteps(
      event,
      activity,
      row.payoutAmount > 0n ? `It pays ${moneyText(row.payoutAmount, row)} before the fee.` : 'It pays out.',
      'Outside of the payout zone: nothing is paid.',
    ),
  ]
  const recovered = activity.find(({ type }) => type === 'payouts.recovered')
  if (row.claimed) {
    const received = row.payout?.net ?? null
    steps.push({
      title: 'Payout claimed',
      at: row.claimedAt,
      ...(received !== null && { detail: `The wallet received ${moneyText(received, row)}.` }),
      tx: row.claimedTx,
    })
  } else if (row.payoutAmount > 0n && recovered !== undefined) {
    const detail = 'The protocol took the payouts of the event that were not claimed.'
    steps.push({ title: 'Payout expired', at: recovered.blockTimestamp, detail, tx: recovered.txHash })
  } else if (row.payoutAmount > 0n) {
    const until = dateText(event.settledAt + CLAIM_SECONDS)
    const detail = `Claim it before ${until}: from then on the protocol may take it.`
    steps.push({ title: 'The payout can be claimed', at: null, detail, ahead: true })
  }
  return steps
}

/** What a deposit is. */
export const depositText = (row: Deposit, event: Event): string =>
  `${moneyText(row.amount, row)} of liquidity for an event that pays for ${conditionText(event)} on ${dateText(event.expiryDate)}.`

/** The life of a deposit. `activity` is that of the deposit and of its event's settlement. */
export const depositLife = (row: Deposit, event: Event, activity: readonly Activity[]): readonly Step[] => {
  const claimed = activity
    .filter(({ type }) => type === 'premiums.claimed')
    .map(({ netAmount, blockTimestamp, txHash }): Step => {
      const detail = netAmount === null ? {} : { detail: `The wallet received ${moneyText(netAmount, row)}.` }
      return { title: 'Premiums claimed', at: blockTimestamp, ...detail, tx: txHash }
    })
  const steps: Step[] = [
    ...claimed,
    ...eventSteps(
      event,
      activity,
      'Payouts to hedgers take a part of the capital.',
      'Outside of the payout zone: the capital is free.',
    ),
  ]
  if (row.withdrawn) {
    const withdrawn = activity.find(({ type }) => type === 'capital.withdrawn')?.amount ?? null
    steps.push({
      title: 'Capital withdrawn',
      at: row.withdrawnAt,
      ...(withdrawn !== null && { detail: `The wallet received ${moneyText(withdrawn, row)}.` }),
      tx: row.withdrawnTx,
    })
  } else if (event.settledAt !== 0) {
    steps.push({ title: 'The capital can be withdrawn', at: null, ahead: true })
  }
  const timeOf = ({ at, ahead }: Step): number => (ahead || at === null ? Number.MAX_SAFE_INTEGER : at)
  const deposited = {
    title: 'Deposited',
    at: row.createdAt,
    detail: `${moneyText(row.amount, row)}.`,
    tx: row.createdTx,
  }
  return [deposited, ...steps.toSorted((a, b) => timeOf(a) - timeOf(b))]
}

/** What became of an event until a time in Unix seconds; empty while it is open. */
export const eventOutcome = (
  { status, expiryDate, stats }: Pick<Row<'/v1/hedge/events'>, 'status' | 'expiryDate' | 'stats'>,
  now = Date.now() / 1_000,
): string => {
  if (status === 0) return expiryDate <= now ? 'It has expired and waits for the rate of the oracles.' : ''
  if (stats === undefined) return 'It is settled.'
  return `Settled at ${rateText(stats.settlementPrice)}: it ${stats.triggered ? 'pays out' : 'does not pay'}.`
}

/**
 * What of the payouts of a settled event is still to be claimed, in units of its token, when `paid` was. Payouts are
 * rounded down one by one, so that their reserve has up to a unit more for each of them.
 */
export const stillToClaim = (
  { totalMaxPayout, hedgerCount }: Pick<Schemas['EventStats'], 'totalMaxPayout' | 'hedgerCount'>,
  paid: bigint,
  isRecovered: boolean,
): bigint => {
  const rest = totalMaxPayout - paid
  return isRecovered || rest < BigInt(hedgerCount) ? 0n : rest
}

/** The interval of a series that has enough points and not too many, by the age of what it is about, in seconds. */
export const intervalOf = (age: number): 'hour' | 'day' | 'week' => {
  if (age < 4 * 86_400) return 'hour'
  return age < 400 * 86_400 ? 'day' : 'week'
}

/**
 * What a deposit of a settled event brought or cost, before fees: its premiums less what payouts took of its capital, in
 * units of its token and as a share of the deposit (1e6 fixed point of one). `capital` is what is left of its capital.
 */
export const resultOf = (
  { amount, premiumsEarned }: Pick<Deposit, 'amount' | 'premiumsEarned'>,
  capital: bigint | null | undefined,
): { readonly amount: bigint; readonly share: bigint } | undefined => {
  if (capital == null) return undefined
  const result = capital + premiumsEarned - amount
  return { amount: result, share: (result * 1_000_000n) / amount }
}
