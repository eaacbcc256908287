import type { Row } from 'fx-protection-client'
import { Link } from 'wouter-preact'
import { Gauge } from '../charts/gauge.tsx'
import { exactShare, percentText } from '../text/amount.ts'
import { chainText, conditionText } from '../text/terms.ts'
import { dateText } from '../text/time.ts'
import { chainColumn } from './chain.tsx'
import { Pill, type Tone } from './facts.tsx'
import { type Column, Table } from './table.tsx'
import { Amount } from './values.tsx'

type EventRow = Row<'/v1/hedge/events'>

/** The state of an event in a word, at a time in Unix seconds. */
export const stateOf = (
  { status, poolOpen, expiryDate }: Pick<EventRow, 'status' | 'poolOpen' | 'expiryDate'>,
  triggered: boolean | undefined,
  now = Date.now() / 1_000,
): readonly [word: string, tone: Tone] => {
  if (status !== 0) return triggered ? ['paid out', 'warn'] : ['settled', 'plain']
  if (expiryDate <= now) return ['waits for settlement', 'warn']
  return poolOpen ? ['open', 'good'] : ['pool closed', 'plain']
}

/** The utilization of a pool (1e8 fixed point) as a share. */
export const shareOf = (utilizationRate: bigint): number => Number(utilizationRate) / 1e8

const columns: readonly Column<EventRow>[] = [
  {
    title: 'Event',
    cell: (row) => (
      <Link href={`/event/${row.chainId}/${row.id}`} class="name">
        <strong>{conditionText(row)}</strong>
        <small>{chainText(row.name)}</small>
      </Link>
    ),
  },
  chainColumn,
  {
    title: 'State',
    cell: (row) => {
      const [word, tone] = stateOf(row, row.stats?.triggered)
      return <Pill tone={tone}>{word}</Pill>
    },
  },
  { title: 'Expiry', cell: ({ expiryDate }) => <span class="nowrap">{dateText(expiryDate)}</span> },
  { title: 'Premium rate', number: true, cell: ({ premiumRate }) => exactShare(premiumRate) },
  {
    title: 'Liquidity',
    number: true,
    cell: (row) => row.stats && <Amount value={row.stats.totalLiquidity} of={row} />,
  },
  {
    title: 'Utilization',
    // A settled event reserves nothing: its rate stays that of the settlement.
    cell: ({ status, utilization }) =>
      status === 0
        ? utilization && (
            <span class="usage">
              <Gauge share={shareOf(utilization.utilizationRate)} label="Utilization of the pool" />
              <small>{percentText(utilization.utilizationRate)}</small>
            </span>
          )
        : '–',
  },
]

export const EventsTable = ({ rows, label }: { readonly rows: readonly EventRow[]; readonly label: string }) => (
  <Table label={label} columns={columns} rows={rows} keyOf={({ chainId, id }) => `${chainId} ${id}`} />
)
