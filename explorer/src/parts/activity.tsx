import type { Schemas } from 'fx-protection-client'
import type { ComponentChildren } from 'preact'
import { Link } from 'wouter-preact'
import { chainColumn } from './chain.tsx'
import { type Column, Table } from './table.tsx'
import { Account, Amount, Time, Transaction } from './values.tsx'

type Row = Schemas['Activity']

/** What happened, in words. */
const words: Readonly<Record<Row['type'], string>> = {
  unknown: 'Something this version does not know',
  'event.created': 'Event created',
  'pool.updated': 'Pool settings changed',
  'event.settled': 'Event settled',
  'deposit.created': 'Liquidity deposited',
  'position.created': 'Protection bought',
  'premiums.claimed': 'Premiums claimed',
  'payout.claimed': 'Payout claimed',
  'capital.withdrawn': 'Capital withdrawn',
  'earnings.withdrawn': 'Creator earnings withdrawn',
  'payouts.recovered': 'Unclaimed payouts recovered',
  'rate.submitted': 'Rate submitted',
  'consensus.reached': 'Oracles agreed',
  'submissions.cleared': 'Old submissions cleared',
  'fees.set': 'Fees changed',
  'fees.withdrawn': 'Platform fees withdrawn',
  'oracle.added': 'Oracle added',
  'oracle.removed': 'Oracle removed',
  'oracle.configured': 'Oracle rules changed',
  'oracle.activated': 'Oracles activated',
  'oracle_admin.set': 'Oracle admin changed',
  'signer.set': 'Pricing signer changed',
  'token.set': 'Payment token changed',
  'protocol.paused': 'Protocol paused',
  'protocol.unpaused': 'Protocol resumed',
  'ownership.offered': 'Ownership offered',
  'ownership.transferred': 'Ownership transferred',
  'coins.rescued': 'Coins rescued',
  'tokens.rescued': 'Tokens rescued',
  'cut.proposed': 'Upgrade proposed',
  'cut.executed': 'Upgrade executed',
  'cut.cancelled': 'Upgrade cancelled',
  'diamond.cut': 'Contracts changed',
}

/** What an activity is called. A newer service may have types that these pages do not know. */
const activityText = (type: string): string => (Object.hasOwn(words, type) ? words[type as Row['type']] : type)

const entities = [
  ['event', 'eventId'],
  ['position', 'positionId'],
  ['deposit', 'depositId'],
] as const

/** Links to what an activity is about. */
const Entities = ({ row }: { readonly row: Row }) => (
  <>
    {entities.flatMap(([kind, field]): ComponentChildren[] => {
      const id = row[field]
      if (id === null) return []
      return [
        <Link key={kind} href={`/${kind}/${row.chainId}/${id}`}>
          {kind} {id}
        </Link>,
        ' ',
      ]
    })}
  </>
)

const columns = {
  time: { title: 'When', cell: ({ blockTimestamp }) => <Time at={blockTimestamp} /> },
  what: { title: 'What', cell: ({ type }) => activityText(type) },
  of: { title: 'Of', cell: (row) => <Entities row={row} /> },
  who: { title: 'Who', cell: ({ wallet }) => (wallet === null ? '' : <Account address={wallet} />) },
  /** What the wallet paid with the fee or received without it; an amount that no wallet paid or received as it is. */
  flow: {
    title: 'Paid, or received after fee',
    number: true,
    cell: (row) => {
      const value = row.netAmount ?? row.amount
      return (
        value !== null && (
          <>
            {row.direction !== null && <small>{row.direction === 'out' ? 'paid' : 'received'} </small>}
            <Amount value={value} of={row} />
          </>
        )
      )
    },
  },
  tx: { title: 'Transaction', cell: ({ chainId, txHash }) => <Transaction chainId={chainId} hash={txHash} /> },
} satisfies Readonly<Record<string, Column<Row>>>

const { time, what, of, who, flow, tx } = columns
const ofAll = [time, what, of, chainColumn, who, flow, tx]
const ofWallet = [time, what, of, chainColumn, flow, tx]
const ofEvent = [time, what, of, who, flow, tx]

type Props = {
  readonly rows: readonly Row[]
  readonly label: string
  /** All rows are of one wallet, which is not named in each. */
  readonly oneWallet?: boolean
  /** All rows are of one event, and so of one chain. */
  readonly oneEvent?: boolean
}

/** Activity, newest first. */
export const ActivityTable = ({ rows, label, oneWallet = false, oneEvent = false }: Props) => (
  <Table
    label={label}
    columns={oneWallet ? ofWallet : oneEvent ? ofEvent : ofAll}
    rows={rows}
    keyOf={({ chainId, blockHash, logIndex }) => `${chainId} ${blockHash} ${logIndex}`}
  />
)
