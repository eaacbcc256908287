import { escapeMarkup } from '../../lib/http/markup.ts'
import type { Quote } from '../messages.ts'
import { type Figures, figuresOf } from './figures.ts'
import { ink, WIDTH } from './frame.ts'
import { payoffPanel } from './payoff-panel.ts'
import { premiumPanel } from './premium-panel.ts'
import { amountText, rateText } from './scale.ts'
import { element, label } from './svg.ts'

const FONTS = "-apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif"
const LEFT = 28

const date = (unixSeconds: number): string => new Date(unixSeconds * 1000).toISOString().slice(0, 10)

/** Warnings are part of the picture, because it may be shared without the page around it. */
const warningsOf = ({ history, spotSource }: Figures): string[] => [
  ...(history.synthetic || spotSource.synthetic ? ['SYNTHETIC RATES: generated, not market data'] : []),
  ...(history.stale ? [`STALE RATES: the history ends on ${history.lastClose}`] : []),
]

const warning = (text: string, y: number): string =>
  element('rect', { x: LEFT, y, width: WIDTH - 2 * LEFT, height: 26, rx: 5, fill: '#fff1e5', stroke: '#bc4c00' }) +
  element('text', { x: LEFT + 12, y: y + 17.5, fill: '#953800', 'font-weight': 600 }, escapeMarkup(text))

/**
 * A quote as a picture: the hedger's result over the rate at expiry and today, and the premium over the days left. The
 * text of an SVG file, the same for the same quote. Throws a ZodError when the breakdown is not the engine's.
 */
export const drawChart = (quote: Quote): string => {
  const figures = figuresOf(quote)
  const { pair, direction, spot, strike, payoutCap, notional, asOf, T_days, T_years, premium, maxPayout } = figures
  const until = date(asOf + Math.round(T_years * 365 * 86_400))
  const title = `${pair}: protection against a ${direction === 'upward' ? 'rise' : 'fall'}`
  const terms = `strike ${rateText(strike)}, cap ${rateText(payoutCap)}, notional ${rateText(notional)}, from ${date(asOf)} to ${until} (${rateText(Math.round(T_days * 10) / 10)} days)`
  const price = `premium ${amountText(premium)} (${rateText(100 * quote.premiumRate)} % of the notional), largest payout ${amountText(maxPayout)}, volatility ${rateText(Math.round(1000 * figures.inputs.sigma) / 10)} %`
  const source = `Rates: ${figures.history.source}, spot ${rateText(spot)} of ${figures.spotSource.date}. Before platform and payout fees.`
  const warnings = warningsOf(figures)

  const below = 92 + warnings.length * 34
  const [payoffEnd, premiumEnd] = [below + 340, below + 600]
  const height = premiumEnd + 40
  return `${element(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      viewBox: `0 0 ${WIDTH} ${height}`,
      width: WIDTH,
      height,
      role: 'img',
      'aria-labelledby': 'title desc',
      'font-family': FONTS,
      'font-size': 13,
      fill: ink.text,
    },
    element('title', { id: 'title' }, escapeMarkup(title)),
    element('desc', { id: 'desc' }, escapeMarkup([...warnings, `Spot ${rateText(spot)}, ${terms}`, price].join('. '))),
    element('rect', { width: WIDTH, height, fill: '#ffffff' }),
    label(title, LEFT, 36, { 'font-size': 21, 'font-weight': 600 }),
    label(terms, LEFT, 60, { fill: ink.faint }),
    label(price, LEFT, 79, { fill: ink.faint }),
    ...warnings.map((text, index) => warning(text, 92 + index * 34)),
    payoffPanel(figures, below + 10, payoffEnd),
    premiumPanel(figures, payoffEnd + 10, premiumEnd),
    label(source, LEFT, height - 14, { fill: ink.faint, 'font-size': 12 }),
  )}\n`
}
