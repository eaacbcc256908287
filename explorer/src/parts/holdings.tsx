import type { Row, Schemas } from 'fx-protection-client'
import { Link } from 'wouter-preact'
import { Pill, type Tone } from './facts.tsx'
import { type Column, Table } from './table.tsx'
import { Account, Amount, Time } from './values.tsx'

type Position = Row<'/v1/hedge/positions'>
type Deposit = Row<'/v1/hedge/deposits'>

type Status = Position['statusText']
type EventState = Schemas['EventSummary']['state']

/** The state of a position in words. */
export const positionStates: Readonly<Record<Status, readonly [word: string, tone: Tone]>> = {
  active: ['active', 'good'],
  settled_win: ['pays out', 'warn'],
  settled_loss: ['ended without a payout', 'plain'],
  claimed: ['claimed', 'plain'],
  claimable: ['can be claimed', 'warn'],
  expired: ['expired', 'plain'],
  unknown: ['unknown', 'plain'],
}

const depositStates = {
  open: ['in the pool', 'good'],
  expired: ['waits for settlement', 'warn'],
  settled: ['can be withdrawn', 'warn'],
  triggered: ['can be withdrawn', 'warn'],
} as const satisfies Readonly<Record<EventState, readonly [word: string, tone: Tone]>>

/** The state of a deposit in words, by the state of its event. */
export const depositState = (withdrawn: boolean, state: EventState): readonly [word: string, tone: Tone] =>
  withdrawn ? ['withdrawn', 'plain'] : depositStates[state]

const positionColumns: readonly Column<Position>[] = [
  { title: 'Position', cell: ({ chainId, id }) => <Link href={`/position/${chainId}/${id}`}>{id}</Link> },
  { title: 'Hedger', cell: ({ hedger }) => <Account address={hedger} /> },
  { title: 'Notional', number: true, cell: (row) => <Amount value={row.notional} of={row} /> },
  { title: 'Premium', number: true, cell: (row) => <Amount value={row.premiumPaid} of={row} /> },
  { title: 'Payout', number: true, cell: (row) => <Amount value={row.payoutAmount} of={row} /> },
  {
    title: 'State',
    cell: ({ statusText }) => {
      const [word, tone] = positionStates[statusText] ?? positionStates.unknown
      return <Pill tone={tone}>{word}</Pill>
    },
  },
  { title: 'Bought', cell: ({ createdAt }) => createdAt !== null && <Time at={createdAt} /> },
]

const depositColumns = (state: EventState): readonly Column<Deposit>[] => [
  { title: 'Deposit', cell: ({ chainId, id }) => <Link href={`/deposit/${chainId}/${id}`}>{id}</Link> },
  { title: 'Provider', cell: ({ lp }) => <Account address={lp} /> },
  { title: 'Capital', number: true, cell: (row) => <Amount value={row.amount} of={row} /> },
  { title: 'Premiums earned', number: true, cell: (row) => <Amount value={row.premiumsEarned} of={row} /> },
  { title: 'Claimed', number: true, cell: (row) => <Amount value={row.premiumsClaimed} of={row} /> },
  {
    title: 'State',
    cell: ({ withdrawn }) => {
      const [word, tone] = depositState(withdrawn, state)
      return <Pill tone={tone}>{word}</Pill>
    },
  },
  { title: 'Deposited', cell: ({ createdAt }) => createdAt !== null && <Time at={createdAt} /> },
]

const keyOf = ({ chainId, id }: { readonly chainId: number; readonly id: number }): string => `${chainId} ${id}`

/** Positions of one event. */
export const PositionsTable = ({ rows }: { readonly rows: readonly Position[] }) => (
  <Table label="Positions" columns={positionColumns} rows={rows} keyOf={keyOf} />
)

/** Deposits of one event in a state. */
export const DepositsTable = ({ rows, state }: { readonly rows: readonly Deposit[]; readonly state: EventState }) => (
  <Table label="Deposits" columns={depositColumns(state)} rows={rows} keyOf={keyOf} />
)
