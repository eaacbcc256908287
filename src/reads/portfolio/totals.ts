import type { Address } from 'viem'
import type { z } from 'zod'
import { figureNames, type Holding, type Sums } from '../../db/queries/portfolios.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { feeOn } from '../../protocol/claim-fees.ts'
import { type Kind, kinds } from '../../protocol/entities.ts'
import { decimal } from '../../protocol/fields/response-fields.ts'
import type { Token } from '../../protocol/tokens.ts'
import type { Row } from '../lists/records.ts'
import { claims, type Portfolio } from './records.ts'

export type Claimable = z.output<typeof Portfolio>['claimables'][number]

type Totals = z.output<typeof Portfolio>['totals']

/** A holding and its row as the portfolio shows it. */
type HeldRow = { readonly holding: Holding; readonly row: Row }

/** The rows of a wallet by kind. */
export type Holdings = Readonly<Record<Kind, HeldRow[]>>

/** The sums over all entities of a wallet, and their token. */
export type TokenSums = Sums & { readonly shownToken: Token }

type Total = { readonly chainId: ChainId; readonly token: Token; readonly sums: Map<string, bigint> }

const allFigures = (['position', 'deposit', 'event'] as const).flatMap((kind) => figureNames[kind])

const isClaim = (figure: string): figure is keyof typeof claims => figure in claims

/** Totals by chain and token, to which amounts are added. */
const createTotals = () => {
  const totals = new Map<string, Total>()
  return {
    of({ chainId, token, symbol, decimals }: Token & { readonly chainId: ChainId }): Total {
      const key = `${chainId} ${token}`
      const known = totals.get(key)
      if (known !== undefined) return known
      const sums = new Map(allFigures.map((name) => [name, 0n]))
      const total: Total = { chainId, token: { token, symbol, decimals }, sums }
      totals.set(key, total)
      return total
    },
    records: () =>
      [...totals.values()].map(({ chainId, token, sums }) => ({
        chainId,
        ...token,
        ...Object.fromEntries([...sums].map(([name, amount]) => [name, amount.toString()])),
      })) as Totals,
  }
}

const add = ({ sums }: Total, figure: string, amount: bigint): void =>
  void sums.set(figure, (sums.get(figure) ?? 0n) + amount)

const claimableOf = (
  { chainId, token }: Total,
  { feeRate, row: { id } }: Holding,
  figure: keyof typeof claims,
  amount: bigint,
) => {
  const claim = claims[figure]
  const build = { method: 'POST', path: claim.path, body: { chainId, [claim.id]: Number(id) } } as const
  const paid = feeOn(amount, claim.feeRate === null ? 0n : feeRate)
  return { kind: claim.kind, chainId, id: Number(id), ...token, amount: decimal(amount), ...paid, build }
}

/** The totals per token, and the claimable amounts, of a wallet's rows. */
export const totalsOf = (rows: Holdings): { totals: Totals; claimables: Claimable[] } => {
  const totals = createTotals()
  const claimables: Claimable[] = []
  for (const kind of kinds) {
    const names = figureNames[kind]
    for (const { holding, row } of rows[kind]) {
      const total = totals.of({ ...row, token: row.token as Address })
      for (let at = 0; at < names.length; at += 1) {
        const [figure, amount = 0n] = [names[at], holding.figures[at]]
        if (figure === undefined || amount === 0n) continue
        add(total, figure, amount)
        if (isClaim(figure)) claimables.push(claimableOf(total, holding, figure, amount))
      }
    }
  }
  return { totals: totals.records(), claimables }
}

/** The totals per token of all entities of a wallet, of which the response has only some rows. */
export const totalsOfSums = (sums: readonly TokenSums[]): Totals => {
  const totals = createTotals()
  for (const { kind, chainId, figures, shownToken } of sums) {
    const total = totals.of({ chainId, ...shownToken })
    for (const [at, figure] of figureNames[kind].entries()) add(total, figure, figures[at] ?? 0n)
  }
  return totals.records()
}
