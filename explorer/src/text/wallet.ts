import type { Schemas } from 'fx-protection-client'

type Total = Schemas['Portfolio']['totals'][number]
type Point = Schemas['WalletPoint']
type Of = Pick<Point, 'chainId' | 'token' | 'symbol' | 'decimals'>

/** What a wallet has in one token of one chain: its totals now, null without any, and over time. */
export type Holding = Of & { readonly total: Total | null; readonly points: readonly Point[] }

/** The totals and the series of each chain and token, those with totals first. */
export const holdingsOf = (totals: readonly Total[], series: readonly (readonly Point[])[]): readonly Holding[] => {
  const isOf = (a: Of, b: Of): boolean => a.chainId === b.chainId && a.token === b.token
  const held = totals.map((total) => ({
    ...total,
    total,
    points: series.find(([first]) => first !== undefined && isOf(first, total)) ?? [],
  }))
  const past = series.flatMap((points) => {
    const [first] = points
    return first === undefined || totals.some((total) => isOf(total, first)) ? [] : [{ ...first, total: null, points }]
  })
  return [...held, ...past]
}

/** What can be claimed of a token: payouts, premiums, capital and earnings, before fees. */
export const claimableOf = (row: Pick<Point, 'payout' | 'premiums' | 'capital' | 'creatorEarnings'>): bigint =>
  (row.payout ?? 0n) + (row.premiums ?? 0n) + (row.capital ?? 0n) + (row.creatorEarnings ?? 0n)
