import type { Schemas } from 'fx-protection-client'
import { Link } from 'wouter-preact'
import { chainText, conditionText } from '../text/terms.ts'
import { dateText } from '../text/time.ts'
import { chainColumn } from './chain.tsx'
import { stateOf } from './events-table.tsx'
import { Pill } from './facts.tsx'
import { depositState, positionStates } from './holdings.tsx'
import { type Column, Table } from './table.tsx'
import { Amount, Share, Time } from './values.tsx'

type Position = Schemas['PositionRow']
type Deposit = Schemas['DepositRow']
type EventRow = Schemas['EventRow']
type Of = { readonly chainId: number; readonly eventId: number; readonly event?: Schemas['EventSummary'] | undefined }

const Event = ({ row: { chainId, eventId, event } }: { readonly row: Of }) => (
  <Link href={`/event/${chainId}/${eventId}`} class="name">
    <strong>{event === undefined ? `Event ${eventId}` : conditionText(event)}</strong>
    {event !== undefined && <small>{dateText(event.expiryDate)}</small>}
  </Link>
)

const positions: readonly Column<Position>[] = [
  { title: 'Position', cell: ({ chainId, id }) => <Link href={`/position/${chainId}/${id}`}>{id}</Link> },
  { title: 'Event', cell: (row) => <Event row={row} /> },
  { title: 'Notional', number: true, cell: (row) => <Amount value={row.notional} of={row} /> },
  { title: 'Cost', number: true, cell: (row) => <Amount value={row.premiumPaid + row.platformFeePaid} of={row} /> },
  { title: 'Payout', number: true, cell: (row) => <Amount value={row.payoutAmount} of={row} /> },
  {
    title: 'State',
    cell: ({ statusText }) => {
      const [word, tone] = positionStates[statusText] ?? positionStates.unknown
      return <Pill tone={tone}>{word}</Pill>
    },
  },
  { title: 'Bought', cell: ({ createdAt }) => createdAt !== null && <Time at={createdAt} /> },
  chainColumn,
]

const deposits: readonly Column<Deposit>[] = [
  { title: 'Deposit', cell: ({ chainId, id }) => <Link href={`/deposit/${chainId}/${id}`}>{id}</Link> },
  { title: 'Event', cell: (row) => <Event row={row} /> },
  { title: 'Capital', number: true, cell: (row) => <Amount value={row.amount} of={row} /> },
  {
    title: 'Worth at least',
    number: true,
    cell: (row) => row.valuation && <Amount value={row.valuation.total} of={row} />,
  },
  { title: 'At risk', number: true, cell: (row) => row.valuation && <Amount value={row.valuation.atRisk} of={row} /> },
  {
    title: 'Premiums earned',
    number: true,
    cell: (row) => <Amount value={row.premiumsEarned} of={row} />,
  },
  {
    title: 'State',
    cell: ({ withdrawn, event }) => {
      const [word, tone] = depositState(withdrawn, event?.state ?? 'open')
      return <Pill tone={tone}>{word}</Pill>
    },
  },
  chainColumn,
]

const eventsAt = (now: number | undefined): readonly Column<EventRow>[] => [
  {
    title: 'Event',
    cell: (row) => (
      <Link href={`/event/${row.chainId}/${row.id}`} class="name">
        <strong>{conditionText(row)}</strong>
        <small>{chainText(row.name)}</small>
      </Link>
    ),
  },
  {
    title: 'State',
    cell: (row) => {
      const [word, tone] = stateOf(row, undefined, now)
      return <Pill tone={tone}>{word}</Pill>
    },
  },
  { title: 'Expiry', cell: ({ expiryDate }) => dateText(expiryDate) },
  { title: 'Premium', number: true, cell: ({ premiumRate }) => <Share value={premiumRate} /> },
  { title: 'Created', cell: ({ createdAt }) => createdAt !== null && <Time at={createdAt} /> },
  chainColumn,
]

const keyOf = ({ chainId, id }: { readonly chainId: number; readonly id: number }): string => `${chainId} ${id}`

export const WalletPositions = ({ rows }: { readonly rows: readonly Position[] }) => (
  <Table label="Positions of the wallet" columns={positions} rows={rows} keyOf={keyOf} />
)

export const WalletDeposits = ({ rows }: { readonly rows: readonly Deposit[] }) => (
  <Table label="Deposits of the wallet" columns={deposits} rows={rows} keyOf={keyOf} />
)

/** Events as of a time in Unix seconds, now by default. */
export const WalletEvents = ({
  rows,
  now,
}: {
  readonly rows: readonly EventRow[]
  readonly now?: number | undefined
}) => <Table label="Events that the wallet created" columns={eventsAt(now)} rows={rows} keyOf={keyOf} />
