import { escapeMarkup } from '../../src/lib/http/markup.ts'
import { ACROSS, frame, ink, WIDTH } from '../../src/pricing/chart/frame.ts'
import { linear, type Scale } from '../../src/pricing/chart/scale.ts'
import { element, label, pathThrough } from '../../src/pricing/chart/svg.ts'
import { HORIZONS } from './grid.ts'
import type { Results, TierResult } from './results.ts'
import { tierTitles } from './titles.ts'

const HEIGHT = 470
const PLOT: readonly [bottom: number, top: number] = [HEIGHT - 66, 130]
const LEFT = 28
const FONTS = "-apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif"

const colours: Readonly<Record<string, string>> = {
  developed: ink.line,
  mainstreamEM: ink.today,
  frontierEM: ink.strike,
  pegged: ink.cap,
}
const colourOf = (tier: string): string => colours[tier] ?? ink.text

/** The tiers' pairs with closes of their own, with the rates that were known. */
const mainTiers = ({ tiers }: Results): TierResult[] =>
  tiers.filter(({ rates, crosses }) => rates === 'known' && !crosses)

const legend = (tiers: readonly string[]): string =>
  tiers
    .map((tier, index) => {
      const x = ACROSS[0] + index * 180
      return (
        element('circle', { cx: x + 6, cy: 84, r: 5, fill: colourOf(tier) }) +
        label(tierTitles[tier] ?? tier, x + 18, 88, { fill: ink.text })
      )
    })
    .join('')

const picture = (title: string, subtitle: string, tiers: readonly string[], ...parts: readonly string[]): string =>
  `${element(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      width: WIDTH,
      height: HEIGHT,
      role: 'img',
      'aria-labelledby': 'title desc',
      'font-family': FONTS,
      'font-size': 13,
      fill: ink.text,
    },
    element('title', { id: 'title' }, escapeMarkup(title)),
    element('desc', { id: 'desc' }, escapeMarkup(subtitle)),
    element('rect', { width: WIDTH, height: HEIGHT, fill: '#ffffff' }),
    label(title, LEFT, 34, { 'font-size': 21, 'font-weight': 600 }),
    label(subtitle, LEFT, 57, { fill: ink.faint }),
    legend(tiers),
    ...parts,
  )}\n`

/** An axis whose places have names instead of numbers. */
const unnumbered = (scale: Scale): Scale => ({ ...scale, ticks: () => [] })

const line = (x1: number, y1: number, x2: number, y2: number, stroke: string, width = 1.5): string =>
  element('line', { x1, y1, x2, y2, stroke, 'stroke-width': width })

const namesOf = (tiers: readonly TierResult[]): string[] => [...new Set(tiers.map(({ tier }) => tier))]

/** Payouts over premiums of each tier and horizon, with its interval. */
const ratioPicture = (results: Results): string => {
  const tiers = mainTiers(results)
  const names = namesOf(tiers)
  const xs = linear([0, HORIZONS.length], ACROSS)
  const most = Math.max(1.2, ...tiers.map(({ both }) => both.interval?.[1] ?? 0))
  const ys = linear([0, most * 1.05], PLOT)
  const marks = tiers.flatMap(({ tier, horizon, both: { ratio, interval } }) => {
    const group = HORIZONS.indexOf(horizon)
    if (ratio === null || interval === null || group < 0) return []
    const x = xs.at(group + 0.04 + (0.84 * (names.indexOf(tier) + 0.5)) / names.length)
    const colour = colourOf(tier)
    return [
      line(x, ys.at(interval[0]), x, ys.at(interval[1]), colour, 2),
      element('circle', { cx: x, cy: ys.at(ratio), r: 5, fill: colour }),
      label(ratio.toFixed(2), x + 9, ys.at(ratio) + 4, { fill: colour, 'font-weight': 600 }),
    ]
  })
  const places = HORIZONS.map((days, index) =>
    label(`${days} days`, xs.at(index + 0.5), PLOT[0] + 18, { 'text-anchor': 'middle', fill: ink.faint }),
  )
  return picture(
    'Paid for each dollar of premium',
    '1 is fair. The bars are 90 % intervals. Pairs with closes of their own, both directions, known rates.',
    names,
    frame({ xs: unnumbered(xs), ys, title: 'payouts over premiums', across: 'time from quote to expiry' }, 117),
    line(ACROSS[0], ys.at(1), ACROSS[1], ys.at(1), ink.text),
    ...places,
    ...marks,
  )
}

/** The share of ranges that paid over the model's probability, a point for each pair and horizon. */
const probabilityPicture = (results: Results): string => {
  const points = results.pairs.flatMap(({ rates, pair, horizon, both: { paid, chance } }) => {
    const tier = mainTiers(results).find(({ pairs }) => pairs.includes(pair))?.tier
    return rates !== 'known' || tier === undefined || paid === null || chance === null
      ? []
      : [{ tier, pair, horizon, paid, chance }]
  })
  const most = Math.max(0.5, ...points.flatMap(({ paid, chance }) => [paid, chance])) * 1.05
  const [xs, ys] = [linear([0, 100 * most], ACROSS), linear([0, 100 * most], PLOT)]
  const dots = points.map(({ tier, pair, horizon, paid, chance }) =>
    element(
      'circle',
      { cx: xs.at(100 * chance), cy: ys.at(100 * paid), r: 4, fill: colourOf(tier), 'fill-opacity': 0.75 },
      element('title', {}, escapeMarkup(`${pair}, ${horizon} days`)),
    ),
  )
  return picture(
    'How often ranges paid',
    'On the line the model is right. Below it ranges paid less often than the model expected.',
    namesOf(mainTiers(results)),
    frame({ xs, ys, title: 'share of ranges that paid (%)', across: 'probability in the model (%)' }, 117),
    line(xs.at(0), ys.at(0), xs.at(100 * most), ys.at(100 * most), ink.text),
    ...dots,
  )
}

/** Payouts over premiums of each year of quotes. */
const yearsPicture = (results: Results): string => {
  const tiers = mainTiers(results).filter(({ horizon }) => horizon === 90)
  const years = tiers.flatMap((tier) => tier.years)
  const [first, last] = [Math.min(...years.map(([year]) => year)), Math.max(...years.map(([year]) => year))]
  const xs = linear([first, Math.max(last, first + 1)], ACROSS)
  const ys = linear([0, 1.05 * Math.max(1.2, ...years.map(([, ratio]) => ratio))], PLOT)
  const names = Array.from({ length: last - first + 1 }, (_, index) => first + index).filter((year) => year % 5 === 0)
  return picture(
    'Good and bad years to have sold protection',
    'Payouts over premiums of ranges of 90 days by the year in which they were bought; 1 is fair.',
    namesOf(tiers),
    frame({ xs: unnumbered(xs), ys, title: 'payouts over premiums', across: 'year of the quote' }, 117),
    line(ACROSS[0], ys.at(1), ACROSS[1], ys.at(1), ink.text),
    ...names.map((year) =>
      label(String(year), xs.at(year), PLOT[0] + 18, { 'text-anchor': 'middle', fill: ink.faint }),
    ),
    ...tiers.map(({ tier, years: own }) =>
      element('path', {
        d: pathThrough(own.map(([year, ratio]) => [xs.at(year), ys.at(ratio)])),
        fill: 'none',
        stroke: colourOf(tier),
        'stroke-width': 2.5,
      }),
    ),
  )
}

/** The pictures of the page by file name. */
export const draw = (results: Results): Readonly<Record<string, string>> => ({
  'ratio.svg': ratioPicture(results),
  'probability.svg': probabilityPicture(results),
  'years.svg': yearsPicture(results),
})
