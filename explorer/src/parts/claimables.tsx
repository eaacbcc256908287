import type { Schemas } from 'fx-protection-client'
import { Link } from 'wouter-preact'
import { useChains } from '../api/chains.ts'
import { claimPath, claims } from '../text/claims.ts'
import { type Column, Table } from './table.tsx'
import { Amount } from './values.tsx'

type Claimable = Schemas['Portfolio']['claimables'][number]

const columns: readonly Column<Claimable>[] = [
  { title: 'What', cell: ({ kind }) => claims[kind].name },
  {
    title: 'Of',
    cell: ({ kind, chainId, id }) => (
      <Link href={`/${claims[kind].of}/${chainId}/${id}`}>
        {claims[kind].of} {id}
      </Link>
    ),
  },
  { title: 'Amount before fee', number: true, cell: (row) => <Amount value={row.amount} of={row} /> },
  { title: 'Fee', number: true, cell: (row) => (row.fee === null ? 'not known' : <Amount value={row.fee} of={row} />) },
  {
    title: 'Received after fee',
    number: true,
    cell: (row) => (row.net === null ? 'not known' : <Amount value={row.net} of={row} />),
  },
]

const claimOf = (wallet: string): Column<Claimable> => ({
  title: 'Claim',
  action: true,
  cell: (row) => (
    <Link
      class="button plain"
      href={claimPath(row, wallet)}
      aria-label={`Claim: ${claims[row.kind].name} of ${claims[row.kind].of} ${row.id}`}
    >
      Claim
    </Link>
  ),
})

type Props = {
  /** The wallet that can claim it. A plan of another one than that of the reader is simulated, and cannot be signed. */
  readonly wallet: string
  readonly rows: readonly Claimable[]
  /** Whether it can be claimed: what could be claimed in the past has no links. */
  readonly now: boolean
}

/** What a wallet can claim, by chain, because one plan claims all of one chain. */
export const Claimables = ({ wallet, rows, now }: Props) => {
  const chains = useChains()
  const ids = [...new Set(rows.map(({ chainId }) => chainId))]
  return (
    <>
      {ids.map((chainId) => {
        const name = chains.find((chain) => chain.chainId === chainId)?.name ?? `chain ${chainId}`
        const own = rows.filter((row) => row.chainId === chainId)
        return (
          <section key={chainId} class="group">
            <div class="bar">
              <h3>{name}</h3>
              {now && own.length > 1 && (
                <Link class="button" href={`/act/claim-all?chainId=${chainId}&from=${wallet}`}>
                  Claim all on {name}
                </Link>
              )}
            </div>
            <Table
              label={`Can be claimed on ${name}`}
              columns={now ? [...columns, claimOf(wallet)] : columns}
              rows={own}
              keyOf={({ kind, id }) => `${kind} ${id}`}
            />
          </section>
        )
      })}
    </>
  )
}
