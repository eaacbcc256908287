/** The sums of one range over the quotes on it, or of many ranges on one date. */
export type Sums = {
  /** Quotes that the engine gives, and those that it refuses because of the leverage. */
  readonly quotes: number
  readonly refused: number
  /** Millionths of a dollar. */
  readonly premiums: number
  readonly payouts: number
  /** Quotes that paid more than 0, and the sum of the model's probabilities of it. */
  readonly paid: number
  readonly chance: number
}

export const noSums = (): Sums => ({ quotes: 0, refused: 0, premiums: 0, payouts: 0, paid: 0, chance: 0 })

export const plus = (a: Sums, b: Sums): Sums => ({
  quotes: a.quotes + b.quotes,
  refused: a.refused + b.refused,
  premiums: a.premiums + b.premiums,
  payouts: a.payouts + b.payouts,
  paid: a.paid + b.paid,
  chance: a.chance + b.chance,
})
