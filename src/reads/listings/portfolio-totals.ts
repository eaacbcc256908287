import type { z } from 'zod'
import { figureNames, type Holding, type Sums } from '../../db/queries/portfolios.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { feeOn } from '../../protocol/claim-fees.ts'
import { type Kind, kinds } from '../../protocol/entities.ts'
import { decimal } from '../../protocol/response-fields.ts'
import type { Token } from '../../protocol/tokens.ts'
import { claims, type Portfolio } from './portfolio-records.ts'

export type Claimable = z.output<typeof Portfolio>['claimables'][number]

/** A holding and its rendered row. */
export type HeldRow = { readonly holding: Holding; readonly row: string }

/** The rows of a wallet by kind. */
export type Holdings = Readonly<Record<Kind, HeldRow[]>>

/** The sums over all entities of a wallet, and their token. */
export type TokenSums = Sums & { readonly shownToken: Token }

type Total = { readonly chainId: ChainId; readonly token: Token; readonly sums: Map<string, bigint> }

const allFigures = (['position', 'deposit', 'event'] as const).flatMap((kind) => figureNames[kind])

const isClaim = (figure: string): figure is keyof typeof claims => figure in claims

const tokenIn = (row: string): Token & { readonly chainId: ChainId } => JSON.parse(row)

/** Totals by chain and token, to which amounts are added. */
const createTotals = () => {
  const totals = new Map<string, Total>()
  return {
    /** The total of a token. `describe` is called for the first amount only. */
    of(chainId: string, hex: string, describe: () => Token): Total {
      const key = `${chainId} ${hex}`
      const known = totals.get(key)
      if (known !== undefined) return known
      const { token, symbol, decimals } = describe()
      const total: Total = {
        chainId: Number(chainId),
        token: { token, symbol, decimals },
        sums: new Map(allFigures.map((name) => [name, 0n])),
      }
      totals.set(key, total)
      return total
    },
    records: (): object[] =>
      [...totals.values()].map(({ chainId, token, sums }) => ({
        ...{ chainId, ...token },
        ...Object.fromEntries([...sums].map(([name, amount]) => [name, amount.toString()])),
      })),
  }
}

const add = ({ sums }: Total, figure: string, amount: bigint): void =>
  void sums.set(figure, (sums.get(figure) ?? 0n) + amount)

const claimableOf = (
  { chainId, token }: Total,
  { id, feeRate }: Holding,
  figure: keyof typeof claims,
  amount: bigint,
) => {
  const claim = claims[figure]
  const build = { method: 'POST', path: claim.path, body: { chainId, [claim.id]: Number(id) } } as const
  const paid = feeOn(amount, claim.feeRate === null ? 0n : feeRate)
  return { kind: claim.kind, chainId, id: Number(id), ...token, amount: decimal(amount), ...paid, build }
}

/** The totals per token, and the claimable amounts, of a wallet's rows. */
export const totalsOf = (rows: Holdings): { totals: object[]; claimables: Claimable[] } => {
  const totals = createTotals()
  const claimables: Claimable[] = []
  for (const kind of kinds) {
    const names = figureNames[kind]
    for (const { holding, row } of rows[kind]) {
      const { chainId, token: hex, figures } = holding
      // Until the event is read for the first time, only the row has the token.
      const total = totals.of(chainId, hex || tokenIn(row).token.slice(2).toLowerCase(), () => tokenIn(row))
      for (let at = 0; at < names.length; at += 1) {
        const [figure, amount = 0n] = [names[at], figures[at]]
        if (figure === undefined || amount === 0n) continue
        add(total, figure, amount)
        if (isClaim(figure)) claimables.push(claimableOf(total, holding, figure, amount))
      }
    }
  }
  return { totals: totals.records(), claimables }
}

/** The totals per token of all entities of a wallet, of which the response has only some rows. */
export const totalsOfSums = (sums: readonly TokenSums[]): object[] => {
  const totals = createTotals()
  for (const { kind, chainId, token, figures, shownToken } of sums) {
    const total = totals.of(chainId, token, () => shownToken)
    for (const [at, figure] of figureNames[kind].entries()) add(total, figure, figures[at] ?? 0n)
  }
  return totals.records()
}
