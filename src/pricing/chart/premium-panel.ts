import { escapeMarkup } from '../../lib/http/markup.ts'
import type { Figures } from './figures.ts'
import { ACROSS, dot, frame, ink } from './frame.ts'
import { amountText, around, linear, rateText } from './scale.ts'
import { element, label, pathThrough } from './svg.ts'

const STEPS = 96

/** The premium over the days left, spot unchanged, between two heights of the picture. */
export const premiumPanel = (
  { spot, premium, premiumAt, T_days, T_years }: Figures,
  from: number,
  to: number,
): string => {
  // Points are denser towards expiry, where a premium can fall like the square root of time.
  const shares = Array.from({ length: STEPS + 1 }, (_, i) => (1 - i / STEPS) ** 2)
  const curve = shares.map((share) => ({ days: T_days * share, premium: premiumAt(spot, T_years * share) }))
  const xs = linear([T_days, 0], ACROSS)
  const ys = linear(around([0, ...curve.map((point) => point.premium)], 0, 0.25), [to - 44, from + 30])
  return element(
    'g',
    { id: 'premium' },
    frame(
      {
        xs,
        ys,
        title: 'The premium as time passes (USD)',
        across: `days left to expiry; spot stays at ${rateText(spot)}`,
      },
      from + 16,
    ),
    element('path', {
      d: pathThrough(curve.map((point) => [xs.at(point.days), ys.at(point.premium)])),
      fill: 'none',
      stroke: ink.line,
      'stroke-width': 2.5,
    }),
    dot(
      xs.at(T_days),
      ys.at(premium),
      ink.line,
      element('title', {}, escapeMarkup(`the premium of the quote: ${amountText(premium)}`)),
    ),
    label(`${amountText(premium)} today`, xs.at(T_days) + 10, ys.at(premium) - 10, { 'font-weight': 600 }),
  )
}
