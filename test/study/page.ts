import { FEWEST_CLOSES, FIRST_YEAR } from '../../src/pricing/backtest/past.ts'
import type { Figures } from './figures.ts'
import { BOOTSTRAP, HORIZONS, STRIKES, WIDTHS } from './grid.ts'
import type { Results, TierResult } from './results.ts'
import { tierTitles } from './titles.ts'

const percent = (value: number | null): string => (value === null ? '–' : `${(100 * value).toFixed(0)} %`)
const times = (value: number | null): string => (value === null ? '–' : value.toFixed(2))
const listed = (fractions: readonly number[]): string =>
  fractions.map((each) => `${Math.round(100 * each)} %`).join(', ')

const interval = ({ interval: found }: Figures): string =>
  found === null ? '' : ` [${times(found[0])}, ${times(found[1])}]`

const table = (header: readonly string[], rows: readonly (readonly string[])[]): string => {
  const widths = header.map((_, column) => Math.max(...[header, ...rows].map((cells) => cells[column]?.length ?? 0)))
  const lineOf = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  return [lineOf(header), lineOf(widths.map((width) => '-'.repeat(width))), ...rows.map(lineOf)].join('\n')
}

/** The row of a horizon; `shipped` is the same with the other choice of rates. */
const rowOf = (known: TierResult, shipped: TierResult | undefined): string[] => {
  const { horizon, both, fall, rise, pit, decided } = known
  const ranges = both.quotes + both.refused
  return [
    String(horizon),
    `${times(both.ratio)}${interval(both)}`,
    times(fall.ratio),
    times(rise.ratio),
    shipped === undefined
      ? '–'
      : [shipped.both, shipped.fall, shipped.rise].map(({ ratio }) => times(ratio)).join(', '),
    `${percent(both.paid)} / ${percent(both.chance)}`,
    `${pit.statistic.toFixed(3)} / ${pit.critical.toFixed(3)}${pit.statistic > pit.critical ? ' **outside**' : ''}`,
    both.worstYear === null ? '–' : `${both.worstYear[0]}: ${times(both.worstYear[1])}`,
    [decided.floor, decided.driftCap, decided.jumpCap, ranges === 0 ? 0 : both.refused / ranges]
      .map(percent)
      .join(', '),
  ]
}

const header = [
  'days',
  'both',
  'fall',
  'rise',
  'with the table',
  'paid, seen / model',
  'PIT / critical',
  'worst year',
  'floor, drift, jumps, refused',
]

const sectionOf = ({ tiers }: Results, tier: string, crosses: boolean): string => {
  const rows = tiers.filter((each) => each.tier === tier && each.crosses === crosses)
  const known = rows.filter(({ rates }) => rates === 'known')
  const [first] = known
  if (first === undefined) return ''
  const shipped = (horizon: number) => rows.find((each) => each.rates === 'shipped' && each.horizon === horizon)
  const kind = crosses ? 'Crosses' : 'Pairs'
  const counts = known.map(({ both }) => both.dates)
  return [
    `${kind}, ${Math.min(...counts)} to ${Math.max(...counts)} dates by horizon: ${first.pairs.join(', ')}.`,
    table(
      header,
      known.map((row) => rowOf(row, shipped(row.horizon))),
    ),
  ].join('\n\n')
}

/** A row a group: the figures at 90 days. */
const summaryOf = ({ tiers }: Results): string =>
  table(
    ['group', 'both', 'fall', 'rise', 'paid, seen / model', 'set by the floor', 'PIT'],
    tiers
      .filter(({ rates, horizon }) => rates === 'known' && horizon === 90)
      .map(({ tier, crosses, both, fall, rise, pit, decided }) => [
        `${tierTitles[tier] ?? tier}${crosses ? ', crosses' : ''}`,
        `${times(both.ratio)}${interval(both)}`,
        times(fall.ratio),
        times(rise.ratio),
        `${percent(both.paid)} / ${percent(both.chance)}`,
        percent(decided.floor),
        pit.statistic <= pit.critical ? 'inside' : '**outside**',
      ]),
  )

const columns = (ratesAsOf: string): string =>
  table(
    ['column', 'meaning'],
    [
      ['both', 'discounted payouts over premiums, both directions, with its 90 % interval'],
      ['fall, rise', 'the same against a fall and against a rise of the riskier leg, where one leg is riskier'],
      ['with the table', `both, fall and rise with the interest rates of ${ratesAsOf}`],
      ['paid, seen / model', 'share of the ranges that paid, and the mean probability of it in the model'],
      ['PIT / critical', 'see below; **outside** is above the critical value'],
      [
        'worst year',
        'the year of quotes with the highest ratio, the worst for the seller, of those with six months or more',
      ],
      [
        'floor, drift, jumps, refused',
        'how often the volatility floor, the drift cap and the cap on jumps decided, and ranges that were refused',
      ],
    ],
  )

const fields = table(
  ['field', 'meaning'],
  [
    ['`pit`', 'statistic and critical value'],
    ['`decided`', 'share of the prices in which `floor`, `driftCap` or `jumpCap` decided'],
    ['`both`', 'both directions'],
    ['`fall`, `rise`', 'of a tier: against a fall and against a rise of the riskier leg'],
    ['`upward`, `downward`', 'of a pair: against a rise and against a fall of its rate'],
    ['`dates`, `quotes`, `refused`', 'in a direction: months with a quote, ranges quoted, ranges refused'],
    ['`premiums`, `payouts`, `ratio`, `interval`', 'their sums, discounted payouts over premiums, its 90 % interval'],
    ['`paid`, `chance`', 'share of the quotes that paid, mean probability of it in the model'],
    ['`worstYear`, `years`', 'the ratio of the worst year, and of a tier that of each year'],
    ['`ranges`', 'of a pair: quotes, paid ones, premiums and payouts of each range, by strike, then by width'],
  ],
)

/** The pairs whose quotes begin after the first year, by the month of the first one. */
const lateStarts = (pairs: Results['pairs']): string => {
  const pairsOf = new Map<string, Set<string>>()
  for (const { pair, first } of pairs) {
    if (Number(first.slice(0, 4)) === FIRST_YEAR) continue
    const month = first.slice(0, 7)
    pairsOf.set(month, (pairsOf.get(month) ?? new Set()).add(pair))
  }
  return [...pairsOf]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([month, names]) => `${month}: ${[...names].join(', ')}`)
    .join('; ')
}

/** The horizon whose missing months the page states. */
const GAPS_HORIZON = 90

/** Months from year 0 to a date of the form YYYY-MM-DD. */
const monthsTo = (date: string): number => 12 * Number(date.slice(0, 4)) + Number(date.slice(5, 7))

/** The pairs that lack months between their first and their last one, with their number. */
const gaps = (pairs: Results['pairs']): string =>
  pairs
    .filter(({ rates, horizon }) => rates === 'known' && horizon === GAPS_HORIZON)
    .map(({ pair, first, last, both }) => ({ pair, missing: monthsTo(last) - monthsTo(first) + 1 - both.dates }))
    .filter(({ missing }) => missing > 0)
    .map(({ pair, missing }) => `${missing} of ${pair}`)
    .join(', ')

/** The page for readers who decide about premiums. */
export const pageOf = (results: Results): string => {
  const { about, pairs, tiers } = results
  const names = [...new Set(tiers.map(({ tier }) => tier))]
  const sections = names.map((tier) =>
    [`### ${tierTitles[tier] ?? tier}`, sectionOf(results, tier, false), sectionOf(results, tier, true)]
      .filter((part) => part !== '')
      .join('\n\n'),
  )
  return `# What the prices would have paid

A premium is fair when it equals what the protection pays on average. This page compares the engine's premiums with what
the same ranges paid, on every bundled pair and on some crosses, from ${FIRST_YEAR} to ${about.lastClose}. \`npm run study\` writes
the page, its pictures, and all figures: [tiers.json](tiers.json) and [pairs.json](pairs.json).

## The result at 90 days

Payouts for each dollar of premium, with a 90 % interval: 0.90 means that ranges sold for 100 dollars paid 90. 1 is fair;
less favours the seller of protection, more the buyer. An interval that contains 1 shows no difference from fair.

${summaryOf(results)}

_Fall_ and _rise_ are protection against a fall and against a rise of the riskier leg: the currency whose tier comes
later in the order developed, mainstream emerging, pegged, frontier. The dollar is the calmest. _Set by the floor_ is
the share of prices whose volatility is the tier's floor instead of the history's. _PIT_ is inside where the
probabilities of the model agree with what happened. Crosses have no closes of their own: the engine divides two rates
of the dollar.

![Payouts over premiums by tier and horizon](ratio.svg)

## How it was measured

- On the last day of each month the engine gets the three years of closes up to that day, as it would have read them
  then, and calibrates each pair on them. A pair needs ${FEWEST_CLOSES} closes.
- It prices ranges for ${HORIZONS.join(', ')} days, against a rise and against a fall. Strikes are ${listed(STRIKES)} of
  spot away from it, and caps ${listed(WIDTHS)} of spot beyond the strike. The functions are those of quotes.
- Each range pays by the formula of the protocol, \`notional × movement / spot\`, at the last close on or before its
  expiry. All ranges have the same notional. A range whose largest payout is above 100 times its premium is refused, as
  in a quote, and only counted.
- Payouts are discounted to the day of the quote with the dollar's rate of the quote, as the premium is. 1 is therefore
  fair for every horizon, whatever that rate was.
- Intervals and critical values come from ${BOOTSTRAP.resamples} resamples of the months in blocks of ${BOOTSTRAP.block}. A block keeps overlapping
  horizons and the common moves of all pairs together. The random numbers have a fixed seed, so that every run gives the
  same files.

### Which interest rates

The drift of developed, mainstream emerging and pegged pairs follows the interest rates of both currencies. The service
has one table of them, dated ${about.ratesAsOf}, and no older one. Each figure therefore has two versions:

- **Known:** on each date, only tables of that date or before. There is none, so the drift is 0. This is the
  main version, because it uses no rate of a later day.
- **With the table:** the drift follows the table of ${about.ratesAsOf} on every date. Most quotes could not have known it,
  and past rates differed. It shows how much the drift matters.

Dated tables of past rates would replace both. The drift of frontier pairs follows their closes in both versions.

## How often ranges paid

![Share of ranges that paid over the probability in the model](probability.svg)

## Good and bad years

![Payouts over premiums by year](years.svg)

## The tables

${columns(about.ratesAsOf)}

The model gives each rate at expiry a probability that the rate ends at or below it, the probability integral transform
(PIT). If the model is right, these probabilities are spread evenly from 0 to 1. PIT is their largest distance from that,
next to the critical value of a 5 % test.

${sections.join('\n\n')}

## The files

[tiers.json](tiers.json) has an entry for each tier, for pairs and for crosses, and [pairs.json](pairs.json) one for each
pair; both for each horizon and each version of the interest rates (\`rates\`: \`known\` or \`shipped\`).

${fields}

Amounts are millionths of a dollar, for ranges with a notional of 1,000 dollars each. Ratios, shares and statistics have
five digits.

## What it does not show

- **Closes, not fixings.** Rates are those of the Federal Reserve at noon in New York. An event settles at the price that
  its oracles submit.
- **Official rates.** Where an official and a street rate differ, the closes are official, and so are the payouts.
- **No costs.** Fees, gas and the yield of locked collateral are left out.
- **Few pegs, and no break of one.** The Hong Kong dollar and the Danish krone held in all these years. Their figures show
  what protection costs while a peg holds, and nothing about its break, which the premium is for.
- **Survivors.** The bundled pairs are those that are still published. Currencies that were abolished, redenominated or
  never published daily are missing.
- **One frontier currency.** The Sri Lankan rupee stands for all of them. USD/GHS and others like it have no daily
  history here.
- **Tiers of today.** Each pair is in its present tier on every date, also where it was pegged or managed then.
- **Defaults fitted later.** The parameters of a tier were fitted to closes up to 2024. Crosses use them on every date, and
  so do pairs with few jumps: for these the study is not free of hindsight.
- **Nothing after ${about.lastClose}.** The bundled closes end there.
- **Not all pairs from ${FIRST_YEAR}.** A pair begins with its first ${FEWEST_CLOSES} closes, some of them later: ${lateStarts(pairs)}.
- **Gaps.** A month has no price where a pair had too few closes in the three years before, or where every range was
  refused. For ${GAPS_HORIZON} days these months are missing: ${gaps(pairs)}.
- **Few independent years.** Quotes of neighbouring months share most of their term. There are about ${Number(about.lastClose.slice(0, 4)) - FIRST_YEAR} independent
  years in these figures, not as many as there are dates.
`
}
